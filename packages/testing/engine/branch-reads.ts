// Reads the keys of an object or branch through a handle: the present ones, those at a moment, and those from the
// differences of a branch.
//
// Invariant: a value whose bytes do not belong to its number is a failure, by whichever way it is read.

import type { ConflictError } from '../../../src/shared/contract/changes.ts';
import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { StorageBranch, StorageHandle } from '../../../src/shared/contract/storage.ts';
import { openForeign } from '../../../worker/engine/import/foreign-database.ts';
import { completeLimits } from '../../../worker/engine/sql/query-limits.ts';
import { openLogDatabase } from '../../../worker/engine/storage/databases.ts';
import { isSame, type Keys } from './branch-model.ts';
import { bytesOf } from './contents.ts';
import { SimulationFailure } from './history.ts';
import type { WatchedSqlite } from './watched-sqlite.ts';

/** A number, and the stored bytes that belong to it. */
type Stored = readonly [number, Uint8Array];

export async function keysIn(handle: Pick<StorageHandle, 'list'>): Promise<Keys> {
  const entries = await handle.list<Stored>();
  return new Map([...entries].map(([key, value]) => [key, numberIn(key, value)]));
}

export async function keysAt(handle: StorageHandle, bookmark: string): Promise<Keys> {
  const moment = await handle.at(bookmark);
  const keys = await keysIn(moment);
  await moment.close();
  return keys;
}

/** Computes the keys of a branch from those with which it was created and its differences since. */
export async function keysByDiff(handle: StorageBranch, beginning: Keys): Promise<Keys> {
  const keys = new Map(beginning);
  for await (const change of handle.diff()) {
    if (change.kind !== 'key') continue;
    const { key, before, after } = change;
    const old = before === undefined ? undefined : numberIn(key, before as Stored);
    if (old !== beginning.get(key)) {
      throw new SimulationFailure(`${key} was ${old} by the diff, not ${beginning.get(key)}`);
    }
    if (after === undefined) keys.delete(key);
    else keys.set(key, numberIn(key, after as Stored));
  }
  return keys;
}

/**
 * Checks that a merge was refused because of exactly these keys. @throws SimulationFailure, or the error if it has
 * another reason
 */
export function checkConflicts(error: unknown, expected: readonly string[]): void {
  if (!isStorageError(error) || error.code !== 'CONFLICT') throw error;
  const { conflicts } = error as unknown as ConflictError;
  const keys = conflicts.map(({ change }) => (change.kind === 'key' ? change.key : change.kind));
  if (keys.sort().join() === [...expected].sort().join()) return;
  throw new SimulationFailure(`a merge conflicts in ${keys}, not in ${expected}: ${error.message}`);
}

/** Opens an exported database, which runs integrity_check. @throws IMPORT_INVALID */
export async function checkImage(image: Uint8Array, sqlite: WatchedSqlite): Promise<void> {
  const host = { limits: completeLimits(), nextTurn: queueMicrotask };
  const events = { beforeWrite() {}, onCritical() {} };
  const opened = await openForeign(image, null, host, (file) =>
    openLogDatabase(sqlite.sqlite, { file }, events),
  );
  opened.close();
}

function numberIn(key: string, [value, bytes]: Stored): number {
  if (isSame(bytes, bytesOf(value))) return value;
  throw new SimulationFailure(`the value of ${key} is torn`);
}
