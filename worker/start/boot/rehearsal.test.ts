import { expect, test } from 'vitest';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { completeLimits } from '../../engine/sql/query-limits.ts';
import { openLogDatabase } from '../../engine/storage/databases.ts';
import type { OpenDatabase } from '../../engine/storage/moment.ts';
import { rehearse } from './browser-worker.ts';

const ROUNDS = 100;

test('[TAB13] a rehearsal writes, opens and reads an object, and leaves no memory behind', {
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
