// What a test stores before the app runs, or while it does: entries, SQL, a SQLite file, an alarm.
//
// Invariant: all of a seed is checked before any of it is stored.

import { readFile } from 'node:fs/promises';
import { storageError } from '../contract/errors.ts';
import { serialize } from '../serializer/encode.ts';
import { objectName, wordsOfObject } from './object-names.ts';
import type { OriginObjects } from './origin-objects.ts';
import type { ObjectName } from './page/helper-protocol.ts';

/** What one object is to hold. Applied in this order. */
export interface SeedContent {
  /** The path of a SQLite file, or its bytes, as `exportDatabase` gave it: replaces everything. */
  readonly file?: string | Uint8Array;
  /** Statements, separated by semicolons. */
  readonly sql?: string;
  /** Values by key, as `put` takes them. */
  readonly entries?: Readonly<Record<string, unknown>>;
  readonly alarm?: number | Date;
}

/** Contents by class and name of the object, as a JSON file can hold them. */
export type SeedTable = Readonly<Record<string, Readonly<Record<string, SeedContent>>>>;

interface Seed {
  readonly object: ObjectName;
  readonly content: SeedContent;
}

const PARTS: ReadonlySet<string> = new Set(['file', 'sql', 'entries', 'alarm']);

/** Most keys of one `put`. */
const KEYS_MAX = 128;

/** Stores one object's content. @throws INVALID_ARGUMENT, DataCloneError, and what storing throws */
export async function storeSeeds(objects: OriginObjects, seeds: readonly Seed[]): Promise<void> {
  for (const seed of seeds) check(seed);
  for (const { object, content } of seeds) await store(objects, object, content);
}

/** The seeds of a table. */
export function seedsOf(table: SeedTable): Seed[] {
  return Object.entries(table).flatMap(([className, contents]) => {
    if (typeof contents !== 'object' || contents === null) {
      throw invalid(
        `"${className}" holds contents by name of the object, not ${String(contents)}.`,
      );
    }
    return Object.entries(contents).map(([name, content]) => ({
      object: objectName('seed', className, name),
      content,
    }));
  });
}

/** The table in a JSON file. @throws INVALID_ARGUMENT if it is not JSON; what reading it throws */
export async function tableIn(path: string): Promise<SeedTable> {
  const text = await readFile(path, 'utf8');
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
  object: ObjectName,
  { file, sql, entries, alarm }: SeedContent,
): Promise<void> {
  const ask = (method: string, ...parameters: unknown[]) =>
    objects.ask({ op: 'storage', object, method, parameters, need: 'storage' });
  if (file !== undefined) {
    const bytes = typeof file === 'string' ? await readFile(file) : file;
    await ask('importDatabase', new Uint8Array(bytes));
  }
  if (sql !== undefined) {
    await objects.ask({ op: 'sql', object, query: sql, bindings: [], need: 'storage' });
  }
  const pairs = Object.entries(entries ?? {});
  for (let at = 0; at < pairs.length; at += KEYS_MAX) {
    await ask('put', Object.fromEntries(pairs.slice(at, at + KEYS_MAX)));
  }
  if (alarm !== undefined) await ask('setAlarm', alarm);
}

function check({ object, content }: Seed): void {
  const words = wordsOfObject(object);
  if (typeof content !== 'object' || content === null) {
    throw invalid(`${words} takes { entries, sql, file, alarm }, not ${String(content)}.`);
  }
  const wrong = Object.keys(content).find((part) => !PARTS.has(part));
  if (wrong !== undefined) {
    throw invalid(
      `${words} has no part "${wrong}"; the parts are ${[...PARTS].join(', ')}. Keys of the object go into ` +
        `entries: { ${wrong}: … }.`,
    );
  }
  const { entries = {}, sql, alarm } = content;
  for (const [key, value] of Object.entries(entries)) checkValue(words, key, value);
  if (sql !== undefined && typeof sql !== 'string') {
    throw invalid(`the sql of ${words} is text, not ${typeof sql}.`);
  }
  if (alarm !== undefined && Number.isNaN(Number(alarm))) {
    throw invalid(
      `the alarm of ${words} is a time in milliseconds or a Date, not ${String(alarm)}.`,
    );
  }
}

function checkValue(words: string, key: string, value: unknown): void {
  if (value === undefined) {
    throw invalid(`the value of "${key}" of ${words} is undefined, which put() would leave out.`);
  }
  try {
    serialize(value);
  } catch (cause) {
    const message =
      `seed: the value of "${key}" of ${words} cannot be stored: ${(cause as Error).message} Values are what ` +
      'structured clone takes.';
    throw storageError('INVALID_ARGUMENT', message, { cause });
  }
}

function invalid(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `seed: ${fact}`);
}
