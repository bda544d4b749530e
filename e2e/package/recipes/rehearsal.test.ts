// The rehearsal of docs/migrations.md, compiled as a reader would copy it, on objects of this process.

import { join } from 'node:path';
import { build } from 'esbuild';
import { afterEach, expect, test } from 'vitest';
import type { Migration } from '../../../packages/adapters/migrate/migrate.ts';
import type { StorageChange } from '../../../src/shared/contract/changes.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../../worker/realm/library/library.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { REPOSITORY } from '../../browsers/server.ts';
import { recipeOf } from './recipes.ts';

class Notes extends DurableObject {}

type Rehearse = (
  storage: StorageHandle,
  migrations: readonly Migration<StorageHandle>[],
  isWanted: (changes: readonly StorageChange[]) => boolean,
) => Promise<string | null>;

const FIRST = {
  name: 'notes',
  up: "CREATE TABLE note(id INTEGER PRIMARY KEY, body); INSERT INTO note VALUES (1, ' a '), (2, 'b')",
};
const TRIM = { name: 'trim', up: 'UPDATE note SET body = trim(body)' };

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const objects of opened.splice(0)) await objects.close();
});

async function prepared() {
  const { outputFiles } = await build({
    stdin: {
      contents: recipeOf('migrations.md', 'function rehearse'),
      loader: 'ts',
      resolveDir: REPOSITORY,
    },
    alias: { 'ctx-storage/migrate': join(REPOSITORY, 'packages/adapters/migrate/migrate.ts') },
    bundle: true,
    format: 'esm',
    write: false,
  });
  const code = Buffer.from(outputFiles[0]!.contents).toString('base64');
  const { rehearse } = (await import(`data:text/javascript;base64,${code}`)) as {
    readonly rehearse: Rehearse;
  };
  const objects = await createObjects({ Notes });
  opened.push(objects);
  const storage = await objects.storage(objects.env.Notes.getByName('notes'));
  await rehearse(storage, [FIRST], () => true);
  const bodies = async () =>
    (await storage.sql.exec('SELECT body FROM note ORDER BY id').raw().toArray()).flat();
  return { rehearse, storage, bodies };
}

test('[APP6] a migration is rehearsed on a branch, whose changes become the object, and are undone', async () => {
  const { rehearse, storage, bodies } = await prepared();
  const seen: StorageChange[] = [];
  const undo = await rehearse(storage, [FIRST, TRIM], (changes) => seen.push(...changes) > 0);
  expect(seen.filter((change) => change.kind === 'row' && change.table === 'note')).toEqual([
    {
      kind: 'row',
      table: 'note',
      key: { id: 1 },
      before: { id: 1, body: ' a ' },
      after: { id: 1, body: 'a' },
    },
  ]);
  expect(await bodies()).toEqual(['a', 'b']);
  await storage.restore(undo!);
  expect(await bodies()).toEqual([' a ', 'b']);
});

test('[APP6] changes that are refused, a migration that fails, and a write meanwhile leave the object as it is', async () => {
  const { rehearse, storage, bodies } = await prepared();
  expect(await rehearse(storage, [FIRST, TRIM], () => false)).toBeNull();
  const failing = { name: 'failing', up: 'DELETE FROM note; SELECT nothing' };
  await expect(rehearse(storage, [FIRST, failing], () => true)).rejects.toMatchObject({
    code: 'MIGRATION_FAILED',
    cause: { code: 'SQL' },
  });
  const writing = {
    name: 'trim',
    up: async (branch: StorageHandle) => {
      await storage.put('meanwhile', true);
      await branch.sql.exec(TRIM.up).ready;
    },
  };
  await expect(rehearse(storage, [FIRST, writing], () => true)).rejects.toMatchObject({
    code: 'CONFLICT',
  });
  expect(await bodies()).toEqual([' a ', 'b']);
});
