// Data that a test stores before the app runs, or while it runs: entries, SQL, a SQLite file, an alarm.
//
// Invariant: a whole seed is checked before any of it is stored.

import { readFile } from 'node:fs/promises';
import { convertKey, utf8Bytes } from '@ctx-storage/core/contract';
import { isStorageError, storageError } from '@ctx-storage/core/errors';
import { KEYS_PER_CALL_MAX, SQL_BYTES_MAX } from '@ctx-storage/core/storage';
import { encodeValue } from '@ctx-storage/core/values';
import { objectName, wordsOfObject } from './object-names.ts';
import type { OriginObjects } from './origin-objects.ts';
import type { ObjectName } from './page/helper-protocol.ts';

/** The content of one object. Its parts are stored in this order. */
export interface SeedContent {
  /** The path of a SQLite file, or its bytes, as `exportDatabase` returns them. It replaces everything. */
  readonly file?: string | Uint8Array;
  /** SQL statements, separated by semicolons. */
  readonly sql?: string;
  /** Values by key, as `put` takes them. */
  readonly entries?: Readonly<Record<string, unknown>>;
  readonly alarm?: number | Date;
}

/** Contents by class and name of the object. A JSON file can contain such a table. */
export type SeedTable = Readonly<Record<string, Readonly<Record<string, SeedContent>>>>;

interface Seed {
  readonly object: ObjectName;
  readonly content: SeedContent;
}

/** A checked seed, with the bytes of its file. */
interface CheckedSeed {
  readonly object: ObjectName;
  readonly file: Uint8Array | undefined;
  readonly content: SeedContent;
}

const SEED_MEMBERS: ReadonlySet<string> = new Set(['file', 'sql', 'entries', 'alarm']);

/** Stores the contents of the objects. @throws INVALID_ARGUMENT, DataCloneError, and errors of storing */
export async function storeSeeds(objects: OriginObjects, seeds: readonly Seed[]): Promise<void> {
  const checked: CheckedSeed[] = [];
  for (const seed of seeds) checked.push(await check(seed));
  for (const seed of checked) await store(objects, seed);
}

/** Returns the seeds of a table, one for each object. */
export function seedsOf(table: SeedTable): Seed[] {
  if (typeof table !== 'object' || table === null || Array.isArray(table)) {
    throw invalidSeed(
      'takes a table of contents, { Room: { lobby: { entries: { … } } } }, by class and name of the object.',
    );
  }
  return Object.entries(table).flatMap(([className, contents]) => {
    if (typeof contents !== 'object' || contents === null) {
      throw invalidSeed(
        `"${className}" holds contents by name of the object, not ${String(contents)}.`,
      );
    }
    return Object.entries(contents).map(([name, content]) => ({
      object: objectName('seed', className, name),
      content,
    }));
  });
}

/** Reads the table in a JSON file. @throws INVALID_ARGUMENT if it is not JSON; errors of reading */
export async function tableIn(path: string): Promise<SeedTable> {
  const text = await readFile(path, 'utf8').catch((cause: Error) => {
    throw storageError(
      'INVALID_ARGUMENT',
      `seed: the JSON file "${path}" could not be read: ${cause.message}. Paths are from the folder that the ` +
        `test runs in, ${process.cwd()}. For an object of openStorage, write seed('${path}', { … }).`,
      { cause },
    );
  });
  try {
    return JSON.parse(text) as SeedTable;
  } catch (cause) {
    throw storageError(
      'INVALID_ARGUMENT',
      `seed: ${path} is not JSON: ${(cause as Error).message}. For a SQLite file, write ` +
        "seed('Room', 'lobby', { file }).",
      { cause },
    );
  }
}

async function store(
  objects: OriginObjects,
  { object, file, content: { sql, entries, alarm } }: CheckedSeed,
): Promise<void> {
  const ask = (method: string, ...parameters: unknown[]) =>
    objects.ask({ op: 'storage', object, method, parameters, need: 'storage' });
  if (file !== undefined) await ask('importDatabase', file);
  if (sql !== undefined) {
    await objects.ask({ op: 'sql', object, query: sql, bindings: [], need: 'storage' });
  }
  const pairs = Object.entries(entries ?? {});
  for (let at = 0; at < pairs.length; at += KEYS_PER_CALL_MAX) {
    await ask('put', Object.fromEntries(pairs.slice(at, at + KEYS_PER_CALL_MAX)));
  }
  if (alarm !== undefined) await ask('setAlarm', alarm);
}

async function check({ object, content }: Seed): Promise<CheckedSeed> {
  const words = wordsOfObject(object);
  if (typeof content !== 'object' || content === null) {
    throw invalidSeed(`${words} takes { entries, sql, file, alarm }, not ${String(content)}.`);
  }
  const wrong = Object.keys(content).find((part) => !SEED_MEMBERS.has(part));
  if (wrong !== undefined) {
    throw invalidSeed(
      `${words} has no part "${wrong}"; the parts are ${[...SEED_MEMBERS].join(', ')}. Keys of the object go into ` +
        `entries: { ${wrong}: … }.`,
    );
  }
  const { entries = {}, sql, alarm } = content;
  if (typeof entries !== 'object' || entries === null || Array.isArray(entries)) {
    throw invalidSeed(
      `the entries of ${words} are an object, { key: value }, not ${String(entries)}.`,
    );
  }
  for (const [key, value] of Object.entries(entries)) checkValue(words, key, value);
  if (sql !== undefined && typeof sql !== 'string') {
    throw invalidSeed(`the sql of ${words} is text, not ${typeof sql}.`);
  }
  const sqlBytes = utf8Bytes(sql ?? '');
  if (sqlBytes > SQL_BYTES_MAX) {
    throw invalidSeed(
      `the sql of ${words} is ${sqlBytes} bytes, at most ${SQL_BYTES_MAX}. For more, make a SQLite file of it ` +
        'and seed { file }, or seed part by part.',
    );
  }
  if (alarm !== undefined && Number.isNaN(Number(alarm))) {
    throw invalidSeed(
      `the alarm of ${words} is a time in milliseconds or a Date, not ${String(alarm)}.`,
    );
  }
  return { object, file: await bytesOf(words, content.file), content };
}

/** Returns the bytes of a seed's file. @throws INVALID_ARGUMENT */
async function bytesOf(words: string, file: SeedContent['file']): Promise<Uint8Array | undefined> {
  if (file === undefined) return undefined;
  if (file instanceof Uint8Array) return new Uint8Array(file);
  if (typeof file !== 'string') {
    throw invalidSeed(`the file of ${words} is a path or bytes, not ${String(file)}.`);
  }
  try {
    return new Uint8Array(await readFile(file));
  } catch (cause) {
    throw storageError(
      'INVALID_ARGUMENT',
      `seed: the file of ${words}, "${file}", could not be read: ${(cause as Error).message}. Paths are from ` +
        `the folder that the test runs in, ${process.cwd()}.`,
      { cause },
    );
  }
}

function checkValue(words: string, key: string, value: unknown): void {
  if (value === undefined) {
    throw invalidSeed(
      `the value of "${key}" of ${words} is undefined, which put() would leave out.`,
    );
  }
  const what = `seed: ${words}`;
  convertKey(what, key);
  try {
    encodeValue(what, key, value);
  } catch (cause) {
    if (isStorageError(cause)) throw cause;
    const message =
      `seed: the value of "${key}" of ${words} cannot be stored: ${(cause as Error).message} Values are of types ` +
      'that structured clone takes.';
    throw storageError('INVALID_ARGUMENT', message, { cause });
  }
}

function invalidSeed(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `seed: ${fact}`);
}
