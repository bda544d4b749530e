// Tests a lack of memory as SQLite tests itself: each operation runs with an allocator that refuses its first request,
// then its second, and so on, until the operation makes no more requests.
//
// After each run, the contents are those before the operation or after it, as it reported, and later writes are
// durable.

import { expect } from 'vitest';
import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { DurableObjectStorage as PublicStorage } from '../../../src/shared/contract/storage.ts';
import { INTERNAL } from '../../../worker/engine/sql/platform-class.ts';
import { DurableObjectStorage } from '../../../worker/engine/storage/durable-object-storage.ts';
import { CrashDisk } from '../simulate/world/crash-disk.ts';
import { Random } from '../simulate/world/random.ts';
import { type RefusingSqlite, startRefusingSqlite } from '../worker/refusing-allocator.ts';
import { SimulatedObject, type World } from './simulated-object.ts';

const START_MS = Date.UTC(2030, 0, 1);
const ALARM_MS = START_MS + 1e9;

let refusing: RefusingSqlite;
let world: World;
/** The disk that each test copies; all copies have the same object. */
let filled: CrashDisk;

/** Makes the disk that each test copies. */
export async function makeDisk(): Promise<void> {
  refusing = startRefusingSqlite();
  const sqlite = { ...refusing, takeViolations: () => [] };
  const random = new Random(1);
  // A small cache forces transactions to write, and undo, their pages before they end.
  world = { sqlite, random, clock: { nowMs: START_MS }, sizes: { cachePages: 10 } };
  filled = await filledDisk();
}

/** An open object: its files, and the storage that its code uses. */
interface Opened {
  readonly object: SimulatedObject;
  readonly storage: PublicStorage;
}

async function open(disk: CrashDisk): Promise<Opened> {
  const object = await SimulatedObject.open(disk, world);
  const storage = new DurableObjectStorage(INTERNAL, object.storage) as unknown as PublicStorage;
  return { object, storage };
}

/** Makes a disk with an object that has keys, rows with an index, and an alarm. */
async function filledDisk(): Promise<CrashDisk> {
  const disk = new CrashDisk(world.random, { flush: 'now' });
  const { object, storage } = await open(disk);
  const { sql, kv } = storage;
  for (let i = 0; i < 12; i++) kv.put(`k${i}`, i % 5 === 0 ? 'x'.repeat(5000) : i);
  sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE, body); CREATE INDEX t_b ON t(body)');
  for (let i = 0; i < 20; i++)
    sql.exec('INSERT INTO t VALUES (?, ?, ?)', i, `v${i}`, 'b'.repeat(900));
  void storage.setAlarm(ALARM_MS);
  await object.acknowledge();
  await object.close();
  disk.powerOff();
  return disk;
}

/** Returns everything that is stored as text, for comparisons. */
function contentsOf({ object, storage }: Opened): string {
  expect(object.damage()).toBeUndefined();
  const tables = storage.sql
    .exec("SELECT sql FROM sqlite_master WHERE name NOT GLOB '*_cf_*'")
    .toArray();
  const names = storage.sql
    .exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('t', 'u')")
    .toArray();
  const rows = names.map(({ name }) => storage.sql.exec(`SELECT * FROM ${name}`).toArray());
  return JSON.stringify([[...storage.kv.list()], tables, rows, object.storage.storedAlarm]);
}

/** An operation on the storage. Its result, if there is one, must be the same each time. */
type Operation = (storage: PublicStorage) => unknown;

/** An upper bound of the requests of one operation; none of them makes nearly as many. */
const REQUESTS_MAX = 3000;

/** Chooses the requests that are refused: all, or a share of them to save time. */
export interface RefusedRequests {
  readonly first: number;
  readonly step: number;
}

interface Tried {
  readonly result: unknown;
  readonly error: unknown;
  /** Whether the operation's changes are durable. */
  readonly isAcknowledged: boolean;
}

async function attempt({ object, storage }: Opened, operation: Operation): Promise<Tried> {
  let result: unknown;
  let error: unknown;
  try {
    const outcome = (async () => await operation(storage))();
    result = await object.outcome('operation', outcome);
  } catch (thrown) {
    error = thrown;
  }
  try {
    await object.acknowledge();
    return { result, error, isAcknowledged: !object.isBroken };
  } catch (thrown) {
    return { result, error: error ?? thrown, isAcknowledged: false };
  }
}

/** Runs the operation many times. In each run, one request is refused, or that one and all later ones. */
async function refuseEach(
  operation: Operation,
  count: number,
  every: RefusedRequests,
): Promise<number> {
  const before = await open(filled.afterLoss());
  const contentsBefore = contentsOf(before);
  const expected = await attempt(before, operation);
  const contentsAfter = contentsOf(before);
  expect(isStorageError(expected.error) ? expected.error.code : 'OK').toBe('OK');
  for (let n = every.first; n < REQUESTS_MAX; n += every.step) {
    const disk = filled.afterLoss();
    const opened = await open(disk);
    refusing.allocator.refuse(n, count);
    const tried = await attempt(opened, operation);
    const { refused } = refusing.allocator;
    refusing.allocator.refuse();
    const at = `request ${n}`;
    const possible = possibleAfter(tried, contentsBefore, contentsAfter);
    if (tried.error === undefined) expect([at, tried.result]).toEqual([at, expected.result]);
    else if (refused > 0) expect([at, codeOf(tried.error)]).toEqual([at, 'SQL_MEMORY']);
    await checkLater(opened, disk, possible, at);
    if (refused === 0) return n;
  }
  throw new Error('The operation asks for memory without end.');
}

const codeOf = (error: unknown) => (isStorageError(error) ? error.code : String(error));

function possibleAfter({ error, isAcknowledged }: Tried, before: string, after: string): string[] {
  if (error === undefined && isAcknowledged) return [after];
  if (isAcknowledged) return [before];
  return [before, after]; // the object was reset, perhaps while it committed
}

/** Continues with the object, or opens it again, and checks that its contents are whole and later writes durable. */
async function checkLater(
  opened: Opened,
  disk: CrashDisk,
  possible: readonly string[],
  at: string,
): Promise<void> {
  let living = opened;
  if (living.object.isBroken) {
    await living.object.reset();
    living = await open(disk);
  }
  const found = contentsOf(living);
  expect([at, possible.includes(found) || found]).toEqual([at, true]);
  living.storage.kv.put('later', 1);
  await living.object.acknowledge();
  await living.object.reset();
  const again = await open(disk);
  expect([at, again.storage.kv.delete('later')]).toEqual([at, true]);
  expect([at, contentsOf(again)]).toEqual([at, found]);
  await again.object.reset();
}

class Undo extends Error {}

const undone = (error: unknown) => {
  if (!(error instanceof Undo)) throw error;
  return 'undone';
};

const OPERATIONS: Readonly<Record<string, Operation>> = {
  get: (storage) => storage.get('k10'),
  'get of many': async (storage) => [...(await storage.get(['k1', 'k5', 'k3']))],
  list: async (storage) => [...(await storage.list({ prefix: 'k1', reverse: true }))],
  put: (storage) => storage.put('k1', 'new'),
  'put of a large value': (storage) => storage.put('large', 'y'.repeat(100_000)),
  'put of 60 keys': (storage) =>
    storage.put(Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${i}`, `new ${i}`]))),
  'put of large values': (storage) =>
    storage.put(Object.fromEntries([1, 2, 3, 4].map((i) => [`k${i}`, 'z'.repeat(20_000)]))),
  delete: (storage) => storage.delete('k10'),
  'delete of many': (storage) => storage.delete(['k1', 'k5', 'k6', 'none', 'k10']),
  deleteAll: (storage) => storage.deleteAll(),
  getAlarm: (storage) => storage.getAlarm(),
  setAlarm: (storage) => storage.setAlarm(ALARM_MS + 5),
  deleteAlarm: (storage) => storage.deleteAlarm(),
  sync: (storage) => storage.sync(),
  'kv.list': ({ kv }) => [...kv.list({ start: 'k3' })],
  'kv.delete': ({ kv }) => kv.delete('k5'),
  databaseSize: ({ sql }) => sql.databaseSize,
  'a query that sorts': ({ sql }) =>
    sql.exec("SELECT v, length(body) AS n FROM t ORDER BY v || 'x' DESC").toArray(),
  'a query with text that is made': ({ sql }) =>
    sql
      .exec('SELECT group_concat(v) AS all_of, 1.5 || id AS made FROM t GROUP BY id % 7')
      .toArray(),
  'an insert': ({ sql }) => sql.exec("INSERT INTO t VALUES (1000, 'new', 'x')").toArray(),
  'an insert of many rows': ({ sql }) =>
    sql.exec("INSERT INTO t SELECT id + 100, v || 'n', body FROM t").rowsWritten,
  'an update of all rows': ({ sql }) =>
    sql.exec("UPDATE t SET v = v || 'u', body = 'c' || body RETURNING id").toArray(),
  'a delete of all rows': ({ sql }) => sql.exec('DELETE FROM t').rowsWritten,
  'a table that is made': ({ sql }) =>
    sql.exec('CREATE TABLE u AS SELECT id, body FROM t WHERE id < 9').toArray(),
  'an index that is made': ({ sql }) => sql.exec('CREATE INDEX t_v ON t(v, body)').toArray(),
  'a table that is dropped': ({ sql }) => sql.exec('DROP TABLE t').toArray(),
  'a column that is added': ({ sql }) =>
    sql.exec("ALTER TABLE t ADD COLUMN n DEFAULT 'n'").toArray(),
  'a virtual table': ({ sql }) => sql.exec('CREATE VIRTUAL TABLE f USING fts5(a)').toArray(),
  'a statement that fails': ({ sql }) => {
    try {
      sql.exec("UPDATE t SET v = 'same'");
    } catch (error) {
      if (isStorageError(error) && error.code !== 'SQL') throw error;
      return 'refused';
    }
  },
  transactionSync: (storage) =>
    storage.transactionSync(() => {
      storage.kv.put('k1', 'sync');
      storage.sql.exec('UPDATE t SET body = ?', 'sync');
      return storage.transactionSync(() => storage.kv.delete('k2'));
    }),
  'a transactionSync that throws': (storage) => {
    try {
      storage.transactionSync(() => {
        storage.kv.put('k1', 'sync');
        storage.sql.exec('CREATE TABLE u(a); UPDATE t SET body = v');
        throw new Undo();
      });
    } catch (error) {
      return undone(error);
    }
  },
  transaction: (storage) =>
    storage.transaction(async (txn) => {
      await txn.put('k1', 'txn');
      storage.sql.exec("UPDATE t SET body = 'txn'");
      await storage.transaction(() => storage.put('k2', 'inner'));
      return txn.get('k1');
    }),
  'a transaction that throws': (storage) =>
    storage
      .transaction(async (txn) => {
        await txn.put('k1', 'txn');
        storage.sql.exec('DROP TABLE t');
        throw new Undo();
      })
      .catch(undone),
  'a transaction that is rolled back': (storage) =>
    storage.transaction(async (txn) => {
      await txn.setAlarm(ALARM_MS + 7);
      storage.sql.exec("UPDATE t SET body = 'txn'");
      txn.rollback();
    }),
  'an inner transaction that throws': (storage) =>
    storage.transaction(async (txn) => {
      await txn.put('k1', 'outer');
      const inner = storage.transaction(async () => {
        storage.sql.exec("UPDATE t SET body = 'inner'");
        throw new Undo();
      });
      return inner.catch(undone);
    }),
  getCurrentBookmark: async (storage) => typeof (await storage.getCurrentBookmark()),
};

/** Tests for each operation, and for the opening: one request is refused, or one and all that follow. */
export const REFUSALS: readonly (readonly [string, (every: RefusedRequests) => Promise<void>])[] = [
  ...Object.entries(OPERATIONS).flatMap(([title, operation]) =>
    ([1, Number.POSITIVE_INFINITY] as const).map((count) => {
      const refuse = async (every: RefusedRequests) => {
        expect(await refuseEach(operation, count, every)).toBeLessThan(REQUESTS_MAX);
      };
      return [count === 1 ? title : `and all that follow: ${title}`, refuse] as const;
    }),
  ),
  ['the opening of an object', refuseOpenings],
];

async function refuseOpenings(every: RefusedRequests): Promise<void> {
  const disk = filled.afterLoss();
  const sound = await open(disk);
  const contents = contentsOf(sound);
  await sound.object.reset();
  for (let n = every.first, isOver = false; !isOver; n += every.step) {
    refusing.allocator.refuse(n, 1);
    const opened = await open(disk).catch((error: unknown) => {
      expect([n, codeOf(error)]).toEqual([n, 'SQL_MEMORY']);
    });
    isOver = refusing.allocator.refused === 0;
    refusing.allocator.refuse();
    const living = opened ?? (await open(disk));
    expect([n, contentsOf(living)]).toEqual([n, contents]);
    await living.object.reset();
  }
}
