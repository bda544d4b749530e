import { expect, test } from 'vitest';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { completeLimits } from '../../engine/sql/query-limits.ts';
import { openLogDatabase } from '../../engine/storage/databases.ts';
import type { OpenDatabase } from '../../engine/storage/moment.ts';
import { rehearse } from './browser-worker.ts';

const ROUNDS = 100;

test('[TAB13] a rehearsal opens an object twice; the second time it has the writes of the first', async () => {
  const sqlite = await loadSqliteInNode();
  const limits = completeLimits();
  const schemas: unknown[] = [];
  await rehearse((log, events) => {
    const opened = openLogDatabase(sqlite, log, events, limits);
    schemas.push(
      opened.database
        .exec('SELECT name FROM sqlite_schema ORDER BY name', [])
        .raw()
        .toArray()
        .flat(),
    );
    return opened;
  });
  expect(schemas).toEqual([[], ['_cf_KV', 'rehearsal']]);
});

test('[TAB13] a rehearsal leaves no memory behind', {
  tags: 'long',
}, async () => {
  const sqlite = await loadSqliteInNode();
  const limits = completeLimits();
  const openDatabase: OpenDatabase = (log, events) => openLogDatabase(sqlite, log, events, limits);
  await rehearse(openDatabase);
  const heapBytes = sqlite.memory.u8.length;
  for (let round = 0; round < ROUNDS; round++) await rehearse(openDatabase);
  expect(sqlite.memory.u8.length).toBe(heapBytes);
});
