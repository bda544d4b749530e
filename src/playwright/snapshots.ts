// The state of all objects at a moment, and the way back to it: a bookmark for each, nothing is copied.

import { storageError } from '../contract/errors.ts';
import type { OriginObjects } from './origin-objects.ts';
import type { ListedByHelper, ObjectName } from './page/helper-protocol.ts';

/** What `snapshot()` gives and `restore()` takes. */
export interface ObjectsSnapshot {
  /** When it was made, in milliseconds since the epoch. */
  readonly takenAt: number;
  /** The bookmarks, by class and id. */
  readonly bookmarks: ReadonlyMap<string, string>;
}

export async function takeSnapshot(objects: OriginObjects): Promise<ObjectsSnapshot> {
  const bookmarks = new Map<string, string>();
  const found = await existing(objects);
  await Promise.all(
    found.map(async (listed) => {
      bookmarks.set(keyOf(listed), await bookmarkOf(objects, nameOf(listed)));
    }),
  );
  return { takenAt: Date.now(), bookmarks };
}

/** Objects that have come since are deleted. @throws BOOKMARK_UNAVAILABLE for one that was deleted since */
export async function restoreSnapshot(
  objects: OriginObjects,
  { bookmarks }: ObjectsSnapshot,
): Promise<void> {
  const found = await existing(objects);
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
    found.map(async (listed) => {
      const object = nameOf(listed);
      const bookmark = bookmarks.get(keyOf(listed));
      if (bookmark === undefined) {
        await objects.ask({ op: 'delete', object }, { touches: false });
      } else if ((await bookmarkOf(objects, object)) !== bookmark) {
        await asked(objects, object, 'restore', bookmark);
      }
    }),
  );
}

/** Deletes every object. */
export async function deleteAllObjects(objects: OriginObjects): Promise<void> {
  const found = await existing(objects);
  await Promise.all(
    found.map((listed) =>
      objects.ask({ op: 'delete', object: nameOf(listed) }, { touches: false }),
    ),
  );
}

/** The objects of all classes. */
export async function existing(objects: OriginObjects): Promise<ListedByHelper[]> {
  const names = (await objects.ask({ op: 'classNames' })) as string[];
  const lists = names.map((className) => objects.ask({ op: 'list', className }));
  return ((await Promise.all(lists)) as ListedByHelper[][]).flat();
}

function keyOf(listed: ListedByHelper): string {
  return `${listed.className}.${listed.id}`;
}

function nameOf({ className, id }: ListedByHelper): ObjectName {
  return { className, id };
}

async function bookmarkOf(objects: OriginObjects, object: ObjectName): Promise<string> {
  return (await asked(objects, object, 'getCurrentBookmark')) as string;
}

function asked(
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
