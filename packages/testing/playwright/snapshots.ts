// Snapshots of the state of all objects, including those of `openStorage`. A snapshot is a bookmark of each object, so
// no data is copied.

import { storageError } from '@ctx-storage/core/errors';
import type { OriginObjects } from './origin-objects.ts';
import type { ListedByHelper, ObjectName } from './page/helper-protocol.ts';

/** The result of `snapshot()`, and the argument of `restore()`. */
export interface ObjectsSnapshot {
  /** The time of the snapshot, in milliseconds since the epoch. */
  readonly takenAt: number;
  /** The bookmarks of the objects, by class and id. */
  readonly bookmarks: ReadonlyMap<string, string>;
}

export async function takeSnapshot(objects: OriginObjects): Promise<ObjectsSnapshot> {
  const bookmarks = new Map<string, string>();
  const found = await existingObjects(objects);
  await Promise.all(
    found.map(async (object) => {
      bookmarks.set(keyOf(object), await bookmarkOf(objects, object));
    }),
  );
  return { takenAt: Date.now(), bookmarks };
}

/**
 * Restores all objects. Newer objects are deleted, or emptied if they belong to `openStorage`. @throws
 * BOOKMARK_UNAVAILABLE for an object that was deleted since
 */
export async function restoreSnapshot(
  objects: OriginObjects,
  snapshot: ObjectsSnapshot,
): Promise<void> {
  const bookmarks = snapshot?.bookmarks;
  if (!((bookmarks as unknown) instanceof Map)) {
    throw storageError(
      'INVALID_ARGUMENT',
      'restore: takes the result of snapshot(), which another test cannot use. For the bookmark of one object, ' +
        "write objects.storage('Room', 'lobby').restore(bookmark).",
    );
  }
  const found = await existingObjects(objects);
  const keys = new Set(found.map(keyOf));
  const gone = [...bookmarks.keys()].filter((key) => !keys.has(key));
  if (gone.length > 0) {
    throw storageError(
      'BOOKMARK_UNAVAILABLE',
      `restore: deleted since the snapshot, with their history: ${gone.join(', ')}. An object that was deleted ` +
        'cannot be restored by bookmark; empty it with deleteAll() instead, or seed it again.',
    );
  }
  await Promise.all(
    found.map(async (object) => {
      const bookmark = bookmarks.get(keyOf(object));
      if (bookmark === undefined) {
        await remove(objects, object);
      } else if ((await bookmarkOf(objects, object)) !== bookmark) {
        await askObject(objects, object, 'restore', bookmark);
      }
    }),
  );
}

/** Deletes every object. */
export async function deleteAllObjects(objects: OriginObjects): Promise<void> {
  const found = await existingObjects(objects);
  await Promise.all(found.map((object) => remove(objects, object)));
}

/** Returns the existing objects of all classes and of `openStorage`. */
async function existingObjects(objects: OriginObjects): Promise<ObjectName[]> {
  const names = (await objects.ask({ op: 'classNames' })) as string[];
  const lists = names.map((className) => objects.ask({ op: 'list', className }));
  const listed = ((await Promise.all(lists)) as ListedByHelper[][]).flat();
  const storageIds = (await objects.ask({ op: 'storageIds' })) as string[];
  return [
    ...listed.map(({ className, id }) => ({ className, id })),
    ...storageIds.map((id) => ({ className: null, id })),
  ];
}

/** Removes an object. One of `openStorage` that is open cannot be deleted, so it is emptied. */
async function remove(objects: OriginObjects, object: ObjectName): Promise<void> {
  if (object.className !== null) {
    await objects.ask({ op: 'delete', object }, { touches: false });
    return;
  }
  await askObject(objects, object, 'deleteAll');
  await askObject(objects, object, 'deleteAlarm');
}

function keyOf({ className, id }: ObjectName): string {
  return className === null ? `storage ${id}` : `${className}.${id}`;
}

async function bookmarkOf(objects: OriginObjects, object: ObjectName): Promise<string> {
  return (await askObject(objects, object, 'getCurrentBookmark')) as string;
}

function askObject(
  objects: OriginObjects,
  object: ObjectName,
  method: string,
  ...parameters: unknown[]
): Promise<unknown> {
  return objects.ask(
    { op: 'storage', object, method, parameters, need: 'storage' },
    { touches: false },
  );
}
