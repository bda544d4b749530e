// The storage of the class, wrapped in place: writes without triggers are noted, and whoever listens is told that
// something may have been written.
//
// Invariant: a wrapped function has the same effects, results and errors.
//
// Does not know the form of a note.

import type { DurableObjectStorage } from '@ctx-storage/core/storage';

/** What the storage reports. */
export interface StorageWrites {
  /** Keys were put or deleted. */
  keys(keys: readonly string[]): void;
  /** A text is about to run that may change the schema. */
  beforeSchema(text: string): void;
  /** It has run, or has failed after some of its statements; an error undoes them. */
  afterSchema(text: string): void;
  /** Something was undone. */
  undone(): void;
  /** Everything is about to be deleted; the result is called when it is. */
  deletesAll(): () => void;
  /** Something may have been written. */
  wrote(): void;
}

/** Texts that may change the schema, or the table of sequences, which has no triggers. */
const SCHEMA = /\b(create|alter|drop)\b|sqlite_sequence/i;
/** A class that removes everything goes through the names in sqlite_master; those of this package stay. */
const REMOVES_OWN =
  /^\s*(drop\s+(table|view|trigger)(\s+if\s+exists)?|delete\s+from)\s+(main\s*\.\s*)?["'`[]?_follow_\w*["'`\]]?[\s;]*$/i;
const NOTHING = 'SELECT 1 WHERE 0';
/** Texts whose kind is kept: expressions over each text would be a tenth of a short statement's time. */
const KEPT_TEXTS_MAX = 500;
const KEPT_UNITS_MAX = 1000;

type AnyFunction = (...args: never[]) => unknown;

export function noteWrites(storage: DurableObjectStorage, writes: StorageWrites): void {
  noteKeys(storage, writes);
  noteKeys(storage.kv, writes);
  const transactionSync = storage.transactionSync.bind(storage);
  /** Without a note nothing is changed. A text that fails keeps its first statements, as it would without this. */
  const changing = (text: string, run: () => unknown) => {
    let result: unknown;
    let failed: { readonly error: unknown } | undefined;
    transactionSync(() => {
      writes.beforeSchema(text);
      try {
        result = run();
      } catch (error) {
        failed = { error };
        writes.undone();
      }
      writes.afterSchema(text);
    });
    if (failed !== undefined) throw failed.error;
    return result;
  };
  const kindOf = keptKinds();
  wrap(storage.sql, 'exec', (exec) => (...args: unknown[]) => {
    const text = String(args[0]);
    const kind = kindOf(text);
    if (kind === 'removesOwn') return exec(NOTHING);
    try {
      return kind === 'schema' ? changing(text, () => exec(...args)) : exec(...args);
    } catch (error) {
      writes.undone();
      throw error;
    } finally {
      writes.wrote();
    }
  });
  wrap(storage, 'transactionSync', (transactionSync) => (callback: unknown) => {
    try {
      return transactionSync(callback);
    } catch (error) {
      writes.undone();
      throw error;
    }
  });
  wrap(storage, 'transaction', (transaction) => async (...args: unknown[]) => {
    const [closure, ...rest] = args as [(txn: object) => unknown, ...unknown[]];
    const noted = (txn: object) => {
      noteKeys(txn, writes);
      wrap(txn, 'rollback', (rollback) => () => {
        rollback();
        writes.undone();
      });
      return closure(txn);
    };
    try {
      return await transaction(noted, ...rest);
    } catch (error) {
      writes.undone();
      throw error;
    }
  });
  wrap(storage, 'deleteAll', (deleteAll) => (...args: unknown[]) => {
    const deleted = writes.deletesAll();
    const result = deleteAll(...args);
    deleted();
    writes.wrote();
    return result;
  });
}

type TextKind = 'plain' | 'schema' | 'removesOwn';

function keptKinds(): (text: string) => TextKind {
  const kept = new Map<string, TextKind>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const schema = SCHEMA.test(text) ? 'schema' : 'plain';
    const kind = REMOVES_OWN.test(text) ? 'removesOwn' : schema;
    if (text.length > KEPT_UNITS_MAX) return kind;
    if (kept.size === KEPT_TEXTS_MAX) kept.clear();
    kept.set(text, kind);
    return kind;
  };
}

function noteKeys(target: object, writes: StorageWrites): void {
  for (const name of ['put', 'delete']) {
    wrap(target, name, (write) => (...args: unknown[]) => {
      const result = write(...args);
      writes.keys(keysOf(args[0]));
      writes.wrote();
      return result;
    });
  }
}

function keysOf(argument: unknown): string[] {
  if (Array.isArray(argument)) return argument.map(String);
  if (typeof argument === 'object' && argument !== null) return Object.keys(argument);
  return [String(argument)];
}

function wrap(
  target: object,
  name: string,
  make: (original: (...args: unknown[]) => unknown) => AnyFunction,
): void {
  const original = Reflect.get(target, name) as (...args: unknown[]) => unknown;
  const value = make((...args) => Reflect.apply(original, target, args));
  Object.defineProperty(target, name, { value, configurable: true, writable: true });
}
