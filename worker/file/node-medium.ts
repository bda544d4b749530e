// A folder of Node's file system as a medium, held by one process at a time.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileDirectory } from './file.ts';
import type { ObjectMedium } from './medium.ts';
import { NodeDirectory } from './node-file.ts';
import { lockFolder } from './node-lock.ts';

export class NodeMedium implements ObjectMedium {
  readonly #path: string;
  readonly #release: () => void;

  /** Makes the folder when it does not exist. @throws STORAGE_LOCKED */
  constructor(path: string) {
    this.#path = path;
    this.files = new NodeDirectory(path);
    this.#release = lockFolder(path);
  }

  /** The folder's own files, beside those of the objects. */
  readonly files: FileDirectory;

  async directory(key: string): Promise<FileDirectory> {
    return new NodeDirectory(join(this.#path, key));
  }

  async remove(key: string): Promise<void> {
    await rm(join(this.#path, key), { recursive: true, force: true });
  }

  /** Lets go of the folder. */
  close(): void {
    this.#release();
  }
}
