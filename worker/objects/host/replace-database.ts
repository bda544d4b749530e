// Replaces an object's database while the object lives: by a SQLite file, or by an earlier state of its own.
//
// Invariant: nothing of the object runs between the replacement and its reset. The state of its instance is
// about the old data and must not be written into the new. The input gate asserts that sections nest, and the storage
// refuses what comes after a replacement.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { ForeignDatabase } from '../../engine/import/foreign-database.ts';
import type { Annotation } from '../../engine/log/annotation.ts';
import type { PastState } from '../../engine/log/past-state.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import type { Cancellation } from '../io/cancellation.ts';

/**
 * True for an error of an object's own files that only an import, which creates new files, can repair. Always false for
 * a branch, which needs its origin's files too.
 */
export function isUnreadable({ branch }: ObjectAddress, error: unknown): boolean {
  return branch === undefined && isStorageError(error) && error.code === 'CORRUPT';
}

/**
 * Copies the database into the object's and resets the object once that is durable. Waits for open critical sections.
 *
 * @throws DISK_FULL, IO, CORRUPT of the object's own files: nothing has changed
 */
export function replaceDatabase(
  instance: ObjectInstance,
  source: ForeignDatabase,
  by?: Annotation,
): Promise<Replaced> {
  const reason = storageError(
    'OBJECT_RESET',
    'importDatabase() replaced the database of the object, which restarts.',
  );
  const replace: Change = (storage) => storage.replaceDatabase(source, reason);
  return changeAndReset(instance, reason, by, replace);
}

/**
 * The bookmark that undoes the replacement, or the reason why the instance ended before the replacement began, which
 * then changed nothing.
 */
export type Replaced = { readonly undo: string } | { readonly notBegun: unknown };

/**
 * Requests that the next instance restores a bookmark, or a time in milliseconds, and resets this instance once the
 * request is durable. Waits for open critical sections.
 *
 * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE; DISK_FULL, IO
 */
export function restoreDatabase(
  instance: ObjectInstance,
  moment: string | number,
  cancellation?: Cancellation,
  by?: Annotation,
): Promise<Replaced> {
  const reason = storageError(
    'OBJECT_RESET',
    'restore: the object goes back to an earlier moment.',
  );
  return changeAndReset(instance, reason, by, async (storage) => {
    cancellation?.check();
    const bookmark =
      typeof moment === 'string' ? moment : await storage.past.bookmarkForTime(moment);
    return storage.restoreAtNextStart(bookmark);
  });
}

/**
 * Makes the state of a branch the state of the object, and resets the object once that is durable. The object must be
 * in the state in which the branch began (the bookmark). Waits for open critical sections.
 *
 * @throws CONFLICT, DISK_FULL, IO: nothing has changed
 */
export async function promoteBranch(
  instance: ObjectInstance,
  branch: { readonly began: string; readonly state: PastState; readonly alarm: number | null },
  cancellation?: Cancellation,
  by?: Annotation,
): Promise<string> {
  const reason = storageError(
    'OBJECT_RESET',
    'promote: a branch became the object, which restarts.',
  );
  const result = await changeAndReset(instance, reason, by, (storage) => {
    cancellation?.check();
    storage.branchPoint.mustBeAt(branch.began);
    return storage.promote(branch.state, branch.alarm, reason);
  });
  if ('notBegun' in result) throw result.notBegun;
  return result.undo;
}

type Change = (storage: ObjectInstance['storage']) => string | Promise<string>;

/** Makes the change and resets the object in one event, so that no other event runs between the two. */
async function changeAndReset(
  instance: ObjectInstance,
  reason: Error,
  by: Annotation | undefined,
  change: Change,
): Promise<Replaced> {
  const { storage } = instance;
  let hasBegun = false;
  let undo = '';
  try {
    const changed = async () => {
      hasBegun = true;
      undo = await change(storage);
      await storage.durability();
      await instance.confirmed;
      instance.reset(reason, 'outside');
    };
    await instance.deliver(() => storage.environment.section(changed), null, by);
  } catch (error) {
    if (!hasBegun) return { notBegun: error };
    // The reset rejects every event, also the event that asked for it.
    if (error !== reason) throw error;
  }
  return { undo };
}
