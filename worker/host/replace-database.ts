// Replaces an object's database while the object lives.
//
// Invariant: nothing of the object runs between the replacement and its reset. What its instance
// remembers is about the old data and must not be written into the new.

import { storageError } from '../../src/contract/errors.ts';
import type { ForeignDatabase } from '../import/foreign-database.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';

/**
 * Copies the database into the object's and resets the object once that is durable; returns the
 * bookmark that undoes it. Waits for open critical sections.
 *
 * @throws DISK_FULL, IO: nothing has changed
 */
export async function replaceDatabase(
  instance: ObjectInstance,
  source: ForeignDatabase,
): Promise<string> {
  const replaced = storageError(
    'OBJECT_RESET',
    'importDatabase() replaced the database of the object, which restarts.',
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
    // The reset rejects every event, the one that asked for it too.
    if (error !== replaced) throw error;
  }
  return undo;
}
