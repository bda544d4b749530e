// The expected contents of a simulated object as plain maps, and their comparison with the object.

import { compileRange } from '../../../src/shared/contract/key-range.ts';
import type { Moment } from '../../../worker/engine/storage/moment.ts';
import { Random } from '../simulate/world/random.ts';

/** The contents of an object. Values are numbers here; `bytesOf` converts them to bytes. */
export interface Contents {
  readonly keys: Map<string, number>;
  /** The rows of table `t`; null if the table does not exist. */
  readonly rows: Map<number, number> | null;
  /** The rows of table `u`, whose triggers copy their ids to another table; null if the tables do not exist. */
  readonly second: Map<number, number> | null;
  readonly alarm: number | null;
}

export const EMPTY: Contents = { keys: new Map(), rows: null, second: null, alarm: null };

/** Every transaction changes this key, so that every state is unique. */
export const MARK = '~mark';

export const CREATE_ROWS =
  'CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER, body BLOB); CREATE INDEX t_v ON t(v)';
/** Creates the second table as a constructor would: it writes nothing if the table exists. */
export const CREATE_SECOND = `
  CREATE TABLE IF NOT EXISTS u(id INTEGER PRIMARY KEY, v INTEGER);
  CREATE TABLE IF NOT EXISTS u_ids(id INTEGER PRIMARY KEY);
  CREATE TRIGGER IF NOT EXISTS u_added AFTER INSERT ON u BEGIN INSERT INTO u_ids VALUES(new.id); END;
  CREATE TRIGGER IF NOT EXISTS u_removed AFTER DELETE ON u BEGIN DELETE FROM u_ids WHERE id = old.id; END`;
export const UPSERT_ROW =
  'INSERT INTO t VALUES(?,?,?) ON CONFLICT DO UPDATE SET v = excluded.v, body = excluded.body';

const EVERYTHING = compileRange({
  start: undefined,
  startAfter: undefined,
  end: undefined,
  prefix: undefined,
  reverse: false,
  limit: undefined,
});

/** A value from this number on is so large that it fills many pages. */
export const LARGE = 0x4000_0000;

/**
 * A value from this number on is a text into which words were typed: the lower 10 bits count the words, the others choose
 * the text. So the bytes of adjacent values are mostly the same, but shifted.
 */
export const TYPED = 0x8000_0000;
export const WORDS_MAX = 0x3ff;

const made = new Map<number, Uint8Array>();

/** Returns the bytes of a value, which are always the same for the same number. */
export function bytesOf(value: number): Uint8Array {
  let bytes = made.get(value);
  if (bytes !== undefined) return bytes;
  if (value >= TYPED) {
    bytes = typedText(value);
    made.set(value, bytes);
    return bytes;
  }
  const random = new Random(value);
  const bound = value >= LARGE ? 90_000 : random.pick([20, 20, 200, 200, 200, 3000, 12_000]);
  bytes = new Uint8Array((value >= LARGE ? 30_000 : 0) + random.below(bound));
  if (value % 3 === 0) bytes.fill(value);
  else for (let i = 0; i < bytes.length; i++) bytes[i] = random.uint32();
  if (made.size > 2000) made.clear();
  made.set(value, bytes);
  return bytes;
}

function typedText(value: number): Uint8Array {
  const random = new Random(value - (value & WORDS_MAX));
  const base = new Uint8Array(random.pick([3000, 9000, 20_000, 40_000]) + random.below(4096));
  for (let i = 0; i < base.length; i++) base[i] = random.uint32();
  let text = base;
  for (let word = 0; word < (value & WORDS_MAX); word++) {
    const at = random.below(text.length);
    const typed = new Uint8Array(random.below(12));
    for (let i = 0; i < typed.length; i++) typed[i] = random.uint32();
    const removed = random.onceIn(4) ? random.below(30) : 0;
    text = Uint8Array.of(...text.subarray(0, at), ...typed, ...text.subarray(at + removed));
  }
  return text;
}

/** The part of an object, or of a moment of it, that the comparison reads. */
interface Readable {
  readonly storage: Pick<Moment, 'get' | 'list' | 'exec' | 'alarm'>;
}

/** Returns the first difference between the object and its expected contents; null if there is none. */
export function difference(object: Readable, expected: Contents): string | null {
  return (
    keysDiffer(object, expected) ??
    tablesDiffer(object, expected) ??
    rowsDiffer(object, expected) ??
    secondDiffers(object, expected) ??
    alarmDiffers(object, expected)
  );
}

function keysDiffer({ storage }: Readable, { keys }: Contents): string | null {
  const isMarked = storage.get(MARK, (bytes) => areEqual(bytes, bytesOf(keys.get(MARK) ?? 0)));
  if (isMarked !== (keys.has(MARK) || undefined)) return 'the mark is that of another state';
  const walk = storage.list(EVERYTHING);
  let count = 0;
  for (let entry = walk.next(); entry !== undefined; entry = walk.next()) {
    count++;
    const value = keys.get(entry.key);
    if (value === undefined) return `key ${entry.key} should not exist`;
    if (!areEqual(entry.value, bytesOf(value))) return `the value of ${entry.key} is wrong`;
  }
  return count === keys.size ? null : `${count} keys, not ${keys.size}`;
}

function tablesDiffer({ storage }: Readable, { rows, second }: Contents): string | null {
  const query = "SELECT name FROM sqlite_master WHERE name IN ('t', 'u')";
  const names = new Set(
    storage
      .exec(query, [])
      .toArray()
      .map(({ name }) => name),
  );
  for (const [name, expected] of [
    ['t', rows],
    ['u', second],
  ] as const) {
    if (names.has(name) === (expected !== null)) continue;
    return `table ${name} ${names.has(name) ? 'exists' : 'is missing'}`;
  }
  return null;
}

function rowsDiffer({ storage }: Readable, { rows }: Contents): string | null {
  if (rows === null) return null;
  const found = storage.exec('SELECT id, v, body FROM t', []).toArray();
  if (found.length !== rows.size) return `${found.length} rows, not ${rows.size}`;
  for (const { id, v, body } of found) {
    const value = rows.get(id as number);
    if (value === undefined) return `row ${String(id)} should not exist`;
    const isSame = v === value && areEqual(new Uint8Array(body as ArrayBuffer), bytesOf(value));
    if (!isSame) return `row ${String(id)} is wrong`;
  }
  const indexed = storage.exec('SELECT count(v) AS count FROM t INDEXED BY t_v WHERE v >= 0', []);
  const { count } = indexed.one() as { count: number };
  return count === rows.size ? null : `the index has ${count} rows, not ${rows.size}`;
}

function secondDiffers({ storage }: Readable, { second }: Contents): string | null {
  if (second === null) return null;
  const query = 'SELECT u.id, v, u_ids.id AS told FROM u FULL JOIN u_ids ON u.id = u_ids.id';
  const found = storage.exec(query, []).toArray();
  if (found.length !== second.size) return `${found.length} rows in u, not ${second.size}`;
  const wrong = found.find(({ id, v, told }) => second.get(id as number) !== v || told !== id);
  return wrong === undefined ? null : `row ${String(wrong.id ?? wrong.told)} of u is wrong`;
}

function alarmDiffers({ storage }: Readable, { alarm }: Contents): string | null {
  return storage.alarm === alarm ? null : `the alarm is ${storage.alarm}, not ${alarm}`;
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
