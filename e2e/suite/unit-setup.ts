// Before every unit test file: SQLite is given live pointers only, or the test that ran fails.

import { afterAll, afterEach, expect, vi } from 'vitest';
import type { Sqlite } from '../../worker/vfs/sqlite-module.ts';

const violations: string[] = [];

vi.mock('../../worker/vfs/sqlite-module.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../worker/vfs/sqlite-module.ts')>();
  const { withLivePointers } = await import('../../worker/testing/live-pointers.ts');
  // One checker for one module: what knows a module by its identity must find the same one again.
  const checked = new WeakMap<Sqlite, Sqlite>();
  const loadSqlite: typeof original.loadSqlite = async (wasm) => {
    const sqlite = await original.loadSqlite(wasm);
    const known =
      checked.get(sqlite) ?? withLivePointers(sqlite, (found) => violations.push(found));
    checked.set(sqlite, known);
    return known;
  };
  return { ...original, loadSqlite };
});

const expectNone = () => expect(violations.splice(0)).toEqual([]);
afterEach(expectNone);
afterAll(expectNone);
