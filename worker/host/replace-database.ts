// Another database in the place of an object's, while the object lives.
//
// Keeps true: nothing of the object runs between the replacement and its reset. What its instance
// remembers is about the old data and must not be written into the new.

import { storageError } from '../../src/contract/errors.ts';
import type { ForeignDatabase } from '../import/foreign-database.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';

/**
 * Copies the database into the object's and resets the object once that is on disk; the bookmark
 * that undoes it. Waits for what holds the object.
 *
 * @throws DISK_FULL, IO: nothing has changed
 */
export async function replaceDatabase(
  instance: ObjectInstance,
  source: ForeignDatabase,
): Promise<string> {
  const replaced = storageError(
    'OBJECT_RESET',
    'importDatabase() replaced the database under the object, which starts anew.',
  );
  const { storage } = instance;
  let undo = '';
  try {
    await instance.deliver(() =>
      storage.environment.section(async () => {
        undo = storage.replaceDatabase(source, replaced);
        await storage.durability();
        instance.reset(replaced, 'outside');
      }),
    );
  } catch (error) {
    // The reset rejects the event that asked for it, as every other.
    if (error !== replaced) throw error;
  }
  return undo;
}
