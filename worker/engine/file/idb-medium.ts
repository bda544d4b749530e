// Stores objects in IndexedDB, for browsers without synchronous access handles. The files of an open object are held in
// memory.

import { ClearanceWatch, type WatchEnvironment } from './clearance-watch.ts';
import type { FileDirectory } from './file.ts';
import { IdbRows } from './idb-rows.ts';
import type { ObjectMedium } from './medium.ts';
import { MemoryBudget } from './memory-budget.ts';
import { RowFiles } from './row-files.ts';

export class IdbMedium implements ObjectMedium {
  /** Reports that site data was cleared. */
  readonly watch: ClearanceWatch;
  readonly #rows: IdbRows;
  readonly #files: RowFiles;

  private constructor(rows: IdbRows, environment: WatchEnvironment, memoryBytes?: number) {
    this.#rows = rows;
    this.#files = new RowFiles(rows, new MemoryBudget(memoryBytes));
    this.watch = new ClearanceWatch(() => rows.exists(), environment);
    void rows.lost.then(() => this.watch.expire());
  }

  /**
   * Opens the medium; the files of all open objects may take `memoryBytes` of memory.
   *
   * @throws OPFS_UNAVAILABLE, DISK_FULL, STORAGE_LOCKED
   */
  static async open(
    name: string,
    environment: WatchEnvironment,
    memoryBytes?: number,
  ): Promise<IdbMedium> {
    return new IdbMedium(await IdbRows.open(name), environment, memoryBytes);
  }

  /** Resolves to the reason once files can no longer be read or written, although their data may still exist. */
  get lost(): Promise<Error> {
    return this.#rows.lost;
  }

  get isLost(): boolean {
    return this.#rows.isLost;
  }

  async directory(key: string): Promise<FileDirectory> {
    return this.#files.directory(key);
  }

  remove(key: string): Promise<void> {
    return this.#files.removeAll(key);
  }

  keys(): Promise<string[]> {
    return this.#files.keys();
  }

  sizes(key: string): Promise<ReadonlyMap<string, number>> {
    return this.#files.sizes(key);
  }
}
