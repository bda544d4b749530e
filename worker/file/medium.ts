// Where the objects of a host keep their files: a folder an object, by the key of its address.
//
// Implementations: opfs-medium in browsers, node-medium, and the memory here.

import type { FileDirectory } from './file.ts';
import { MemoryDirectory } from './memory-file.ts';

export interface ObjectMedium {
  /** The files of an object, made when there are none yet. */
  directory(key: string): Promise<FileDirectory>;
  /** Removes an object's files; none is open. Without files nothing happens. */
  remove(key: string): Promise<void>;
  /** The keys that have files. */
  keys(): Promise<string[]>;
  /** Size of an object's files, in bytes. */
  sizeBytes(key: string): Promise<number>;
}

/** Objects that vanish with their host. */
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

  async sizeBytes(key: string): Promise<number> {
    return this.#directories.get(key)?.usedBytes() ?? 0;
  }
}
