// For tests: files in memory, some of whose flushes end later, or fail.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { FileDirectory, SyncFile } from '../../../worker/engine/file/file.ts';
import { MemoryMedium, type ObjectMedium } from '../../../worker/engine/file/medium.ts';

export class SlowMedium implements ObjectMedium {
  readonly #inner = new MemoryMedium();
  /** The flushes of a file are held, until `release`. */
  holds: (key: string, name: string) => boolean = () => false;
  /** The flush of a file fails, once its bytes are written. */
  fails: (key: string, name: string) => boolean = () => false;
  readonly #held: (() => void)[] = [];

  keys = () => this.#inner.keys();
  sizes = (key: string) => this.#inner.sizes(key);
  remove = (key: string) => this.#inner.remove(key);

  async directory(key: string): Promise<FileDirectory> {
    const inner = await this.#inner.directory(key);
    const open = async (name: string): Promise<SyncFile> => {
      const file = await inner.open(name);
      return {
        read: file.read.bind(file),
        write: file.write.bind(file),
        truncate: file.truncate.bind(file),
        sizeBytes: file.sizeBytes.bind(file),
        close: file.close.bind(file),
        flush: async () => {
          if (this.fails(key, name)) throw storageError('IO', `flush "${name}": fails.`);
          if (this.holds(key, name)) await new Promise<void>((resolve) => this.#held.push(resolve));
          return file.flush();
        },
      };
    };
    return { open, names: () => inner.names(), remove: (name) => inner.remove(name) };
  }

  /** How many flushes are held. */
  get heldCount(): number {
    return this.#held.length;
  }

  release(): void {
    this.holds = () => false;
    for (const resolve of this.#held.splice(0)) resolve();
  }
}
