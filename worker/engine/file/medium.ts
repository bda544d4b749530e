// The interface of the place where a host stores its objects' files: one folder per object, named by its key.
//
// Implementations: opfs-medium, node-medium, and MemoryMedium below.

import type { FileDirectory } from './file.ts';
import { MemoryDirectory } from './memory-file.ts';

export interface ObjectMedium {
  /** Returns the folder of an object; creates it if it does not exist. */
  directory(key: string): Promise<FileDirectory>;
  /** Removes an object's files, none of which may be open. Does nothing if there are none. */
  remove(key: string): Promise<void>;
  /** Lists the keys of all objects with files. */
  keys(): Promise<string[]>;
  /** Returns the sizes of an object's files in bytes, by their names; empty if there are none. */
  sizes(key: string): Promise<ReadonlyMap<string, number>>;
}

/** Stores objects in memory, so that they end with their host. */
export class MemoryMedium implements ObjectMedium {
  readonly #directories = new Map<string, MemoryDirectory>();

  async directory(key: string): Promise<FileDirectory> {
    const directory = this.#directories.get(key) ?? new MemoryDirectory();
    this.#directories.set(key, directory);
    return directory;
  }

  async remove(key: string): Promise<void> {
    this.#directories.delete(key);
  }

  async keys(): Promise<string[]> {
    return [...this.#directories.keys()];
  }

  async sizes(key: string): Promise<ReadonlyMap<string, number>> {
    return this.#directories.get(key)?.sizes() ?? new Map();
  }
}
