// A folder in Node's file system as a medium, locked by one process at a time.

import { mkdirSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileDirectory } from './file.ts';
import type { ObjectMedium } from './medium.ts';
import { NodeDirectory } from './node-file.ts';
import { lockFolder } from './node-lock.ts';

export class NodeMedium implements ObjectMedium {
  readonly #path: string;
  readonly #release: () => void;

  /** Creates the folder if it does not exist, and locks it. @throws STORAGE_LOCKED */
  constructor(path: string) {
    this.#path = path;
    mkdirSync(path, { recursive: true });
    this.#release = lockFolder(path);
  }

  async directory(key: string): Promise<FileDirectory> {
    return new NodeDirectory(join(this.#path, key));
  }

  async remove(key: string): Promise<void> {
    await rm(join(this.#path, key), { recursive: true, force: true });
  }

  async keys(): Promise<string[]> {
    const entries = await readdir(this.#path, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  }

  async sizeBytes(key: string): Promise<number> {
    const path = join(this.#path, key);
    const names = await readdir(path).catch(() => []); // nothing has been written yet
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(path, name))).size));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Releases the folder. */
  close(): void {
    this.#release();
  }
}
