// Wraps the methods of the class's storage, so that writes which fire no SQL triggers are noted (keys, changes of the
// schema, `deleteAll`), and reports that something may have been written.
//
// Invariant: to the class, a wrapped method has the same effects, results and errors as the original. No assertion
// keeps this: the original would have to run a second time; tests compare both.
//
// This file does not know what a note is; `StorageWrites` makes them.

import type { DurableObjectStorage } from '@ctx-storage/core/storage';

/** The reports of the wrapped storage. */
export interface StorageWrites {
  /** Called after keys were put or deleted. */
  keysWritten(keys: readonly string[]): void;
  /** Called before an SQL text runs that may change the schema. */
  beforeSchemaText(text: string): void;
  /**
   * Called after an SQL text that may change the schema has run, or has failed after some of its statements. An error
   * thrown here undoes these statements.
   */
  afterSchemaText(text: string): void;
  /** Called when writes may have been rolled back. */
  writesUndone(): void;
  /** Called before `deleteAll`; the returned function is called after it. */
  beforeDeleteAll(): () => void;
  /** Called when something may have been written. */
  maybeWritten(): void;
}

/** Matches SQL texts that may change the schema, or the table sqlite_sequence, which cannot have triggers. */
const MAY_CHANGE_SCHEMA = /\b(create|alter|drop)\b|sqlite_sequence/i;
/** Matches statements by which a class that removes every table in sqlite_master would remove this package's. */
const REMOVES_OWN_TABLE =
  /^\s*(drop\s+(table|view|trigger)(\s+if\s+exists)?|delete\s+from)\s+(main\s*\.\s*)?["'`[]?_follow_\w*["'`\]]?[\s;]*$/i;
const EMPTY_QUERY = 'SELECT 1 WHERE 0';
/** The kinds of this many texts are cached: testing each text again would take a tenth of a short statement's time. */
const CACHED_TEXTS_MAX = 500;
const CACHED_UNITS_MAX = 1000;

type AnyFunction = (...args: never[]) => unknown;

export function noteWrites(storage: DurableObjectStorage, writes: StorageWrites): void {
  noteKeys(storage, writes);
  noteKeys(storage.kv, writes);
  const transactionSync = storage.transactionSync.bind(storage);
  /**
   * Runs a text in a transaction with its note, so that neither is stored without the other. If the text fails, the
   * statements before the failure stay, as they would without the wrapper.
   */
  const runWithNote = (text: string, run: () => unknown) => {
    let result: unknown;
    let failed: { readonly error: unknown } | undefined;
    transactionSync(() => {
      writes.beforeSchemaText(text);
      try {
        result = run();
      } catch (error) {
        failed = { error };
        writes.writesUndone();
      }
      writes.afterSchemaText(text);
    });
    if (failed !== undefined) throw failed.error;
    return result;
  };
  const kindOf = textKindCache();
  wrap(storage.sql, 'exec', (exec) => (...args: unknown[]) => {
    const text = String(args[0]);
    const kind = kindOf(text);
    if (kind === 'removesOwn') return exec(EMPTY_QUERY);
    try {
      return kind === 'schema' ? runWithNote(text, () => exec(...args)) : exec(...args);
    } catch (error) {
      writes.writesUndone();
      throw error;
    } finally {
      writes.maybeWritten();
    }
  });
  wrap(storage, 'transactionSync', (transactionSync) => (callback: unknown) => {
    try {
      return transactionSync(callback);
    } catch (error) {
      writes.writesUndone();
      throw error;
    }
  });
  wrap(storage, 'transaction', (transaction) => async (...args: unknown[]) => {
    const [closure, ...rest] = args as [(txn: object) => unknown, ...unknown[]];
    const closureWithNotes = (txn: object) => {
      noteKeys(txn, writes);
      wrap(txn, 'rollback', (rollback) => () => {
        rollback();
        writes.writesUndone();
      });
      return closure(txn);
    };
    try {
      return await transaction(closureWithNotes, ...rest);
    } catch (error) {
      writes.writesUndone();
      throw error;
    }
  });
  wrap(storage, 'deleteAll', (deleteAll) => (...args: unknown[]) => {
    const afterDeleteAll = writes.beforeDeleteAll();
    const result = deleteAll(...args);
    afterDeleteAll();
    writes.maybeWritten();
    return result;
  });
}

type TextKind = 'plain' | 'schema' | 'removesOwn';

function textKindCache(): (text: string) => TextKind {
  const cache = new Map<string, TextKind>();
  return (text) => {
    const known = cache.get(text);
    if (known !== undefined) return known;
    const schema = MAY_CHANGE_SCHEMA.test(text) ? 'schema' : 'plain';
    const kind = REMOVES_OWN_TABLE.test(text) ? 'removesOwn' : schema;
    if (text.length > CACHED_UNITS_MAX) return kind;
    if (cache.size === CACHED_TEXTS_MAX) cache.clear();
    cache.set(text, kind);
    return kind;
  };
}

function noteKeys(target: object, writes: StorageWrites): void {
  for (const name of ['put', 'delete']) {
    wrap(target, name, (write) => (...args: unknown[]) => {
      const result = write(...args);
      writes.keysWritten(keysOf(args[0]));
      writes.maybeWritten();
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
