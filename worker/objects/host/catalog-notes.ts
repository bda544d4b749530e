// Notes in a host's catalog that objects open, rest and leave.
//
// Invariant: a full disk never keeps an object that the catalog knows from being opened, closed or deleted. If the
// catalog could not note that the object is live, the object's alarm may not change, so that the entry is never later
// than the alarm. No assertion keeps this: a full disk is no defect; DISK_FULL refuses the alarm.
//
// Does not know instances and files.

import { addressKey, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import { isDiskFull } from '../../engine/file/file.ts';
import type { ObjectCatalog } from '../catalog/catalog.ts';

export class CatalogNotes {
  readonly #catalog: ObjectCatalog;
  /** Objects for which the catalog could not note that they are live, with the reason. */
  readonly #unnoted = new Map<string, Error>();

  constructor(catalog: ObjectCatalog) {
    this.#catalog = catalog;
  }

  /**
   * Adds an object of a class, before its alarm can change. The object is added even if it has no alarm handler,
   * because only its instance knows. Returns true if the object was stored before.
   *
   * @throws DISK_FULL if the catalog does not know the object yet
   */
  async add(address: ObjectAddress): Promise<boolean> {
    const { className, id, facet, branch, copy } = address;
    // The catalog lists no facets, branches and copies: a facet is found through its parent, a branch through its origin,
    // and the copy of an identity through its follower.
    if (className === null || (facet ?? branch ?? copy) !== undefined) return false;
    const key = addressKey(address);
    const name = id.name !== undefined && { name: id.name };
    try {
      const entry = { key, className, id: id.toString(), ...name, wakeMs: 0 };
      const wasStored = await this.#catalog.add(entry);
      this.#unnoted.delete(key);
      return wasStored;
    } catch (error) {
      const known = isDiskFull(error) ? await this.#catalog.find(key) : undefined;
      if (known === undefined) throw error;
      this.#unnoted.set(key, error as Error);
      return known.isStored === true;
    }
  }

  /**
   * Checks that the object's alarm may change. If not, the catalog is asked again to note the object.
   *
   * @throws DISK_FULL while the alarm may not change
   */
  checkAlarm(address: ObjectAddress): void {
    const error = this.#unnoted.get(addressKey(address));
    if (error === undefined) return;
    this.add(address).catch(() => {}); // If this write fails, the next alarm tries again.
    throw error;
  }

  /**
   * Called when the object was closed with this alarm. If the note fails, the next host looks at the object once more.
   */
  async rest(key: string, wakeMs: number | null): Promise<void> {
    await this.#catalog.rest(key, wakeMs).catch(unlessDiskFull);
  }

  /**
   * Called when the object's files are about to be removed. If the note fails, the object counts as missing after a
   * crash.
   */
  async leaving(key: string): Promise<void> {
    await this.#catalog.leaving(key).catch(unlessDiskFull);
  }
}

function unlessDiskFull(error: unknown): void {
  if (!isDiskFull(error)) throw error;
}
