import { expect, test } from 'vitest';
import type { Pointer, Sqlite } from '../../../worker/engine/vfs/sqlite-module.ts';
import { withLivePointers } from './live-pointers.ts';
import { loadSqliteInNode } from './sqlite.ts';

async function opened(): Promise<{
  readonly sqlite: Sqlite;
  readonly db: Pointer;
  readonly found: string[];
  prepare(sql: string): Pointer;
}> {
  const found: string[] = [];
  const sqlite = withLivePointers(await loadSqliteInNode(), (violation) => found.push(violation));
  const { exports, memory } = sqlite;
  const result = memory.allocate(8);
  memory.writeScratch(':memory:');
  exports.sqlite3_open_v2(memory.scratch(0), result, 0x6, 0);
  const db = memory.i32[result >> 2]!;
  return {
    sqlite,
    db,
    found,
    prepare(sql) {
      memory.writeScratch(sql);
      exports.sqlite3_prepare_v3(db, memory.scratch(0), -1, 0, result, result + 4);
      return memory.i32[result >> 2]!;
    },
  };
}

test('[SQL21] the checker of unit tests finds freed pointers, and lets everything else pass', async () => {
  const { sqlite, db, found, prepare } = await opened();
  const { exports } = sqlite;
  const statement = prepare('SELECT 1');
  expect(exports.sqlite3_step(statement)).toBe(100);
  expect(() => exports.sqlite3_close_v2(db)).toThrow('not finalized');
  exports.sqlite3_finalize(statement);
  expect(() => exports.sqlite3_reset(statement)).toThrow('not live');
  expect(() => exports.sqlite3_column_count(statement)).toThrow('not live');
  exports.sqlite3_finalize(0);
  exports.sqlite3_close_v2(db);
  expect(() => exports.sqlite3_get_autocommit(db)).toThrow('closed connection');
  expect(() => exports.sqlite3_close_v2(db)).toThrow('closed connection');
  expect(found).toHaveLength(5);
});

test('[SQL21] the checker finds a pointer freed in the middle of its own call', async () => {
  const { sqlite, db, found, prepare } = await opened();
  const { exports } = sqlite;
  const statement = prepare('CREATE TABLE t(a)');
  const authorizer = sqlite.install({
    parameters: 'iiiiii',
    call: () => {
      for (const call of [
        () => exports.sqlite3_close_v2(db),
        () => exports.sqlite3_finalize(statement),
      ]) {
        expect(call).toThrow('up the stack');
      }
      return 0;
    },
  });
  exports.sqlite3_set_authorizer(db, authorizer, 0);
  // Its step recompiles it, and so asks about it.
  expect(exports.sqlite3_step(statement)).toBe(101);
  expect(found).not.toEqual([]);
  exports.sqlite3_set_authorizer(db, 0, 0);
  exports.sqlite3_finalize(statement);
  exports.sqlite3_close_v2(db);
});
