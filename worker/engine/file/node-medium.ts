// Stores objects in a folder of Node's file system, which one process at a time has locked.

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileDirectory, isDiskFull } from './file.ts';
import type { ObjectMedium } from './medium.ts';
import { deletedFileError, NodeDirectory, nodeFileError, PRIVATE } from './node-file.ts';
import { lockFolder } from './node-lock.ts';

/** A file that reserves a little space, so that the folder can be locked, and then read, on a full disk. */
const RESERVE = 'host.reserve';
const RESERVE_BYTES = 16_384;

export class NodeMedium implements ObjectMedium {
  readonly #path: string;
  readonly #release: () => void;

  private constructor(path: string, release: () => void) {
    this.#path = path;
    this.#release = release;
  }

  /**
   * Creates the folder, for its owner alone, if it does not exist, and locks it.
   *
   * @throws STORAGE_LOCKED, NOT_WRITABLE, PATH_CONFLICT, DISK_FULL, IO
   */
  static async open(path: string): Promise<NodeMedium> {
    try {
      await mkdir(path, { recursive: true, mode: PRIVATE.folder });
      return new NodeMedium(path, await lockedFolder(path));
    } catch (cause) {
      throw nodeFileError(`open the folder "${path}"`, cause);
    }
  }

  /**
   * Returns the folder of an object.
   *
   * @throws OBJECT_MISSING if the medium's folder was deleted: a new one would have no lock, so another process could
   *   use it
   */
  async directory(key: string): Promise<FileDirectory> {
    if (!existsSync(this.#path)) throw deletedFileError(`open "${key}" in "${this.#path}"`);
    return new NodeDirectory(join(this.#path, key));
  }

  async remove(key: string): Promise<void> {
    await rm(join(this.#path, key), { recursive: true, force: true });
  }

  async keys(): Promise<string[]> {
    const entries = await readdir(this.#path, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  }

  async sizes(key: string): Promise<ReadonlyMap<string, number>> {
    const path = join(this.#path, key);
    const names = await readdir(path).catch(() => []); // the folder does not exist before the first write
    const sizeOf = async (name: string) => [name, (await stat(join(path, name))).size] as const;
    return new Map(await Promise.all(names.map(sizeOf)));
  }

  /** Unlocks the folder. */
  close(): void {
    reserve(this.#path);
    this.#release();
  }
}

async function lockedFolder(path: string): Promise<() => void> {
  try {
    const release = await lockFolder(path);
    reserve(path);
    return release;
  } catch (cause) {
    const reserved = join(path, RESERVE);
    if (!isDiskFull(nodeFileError('lock', cause)) || !existsSync(reserved)) throw cause;
    rmSync(reserved);
    return await lockFolder(path);
  }
}

function reserve(path: string): void {
  const reserved = join(path, RESERVE);
  if (!existsSync(path) || existsSync(reserved)) return;
  try {
    writeFileSync(reserved, new Uint8Array(RESERVE_BYTES), { mode: PRIVATE.file });
  } catch {
    rmSync(reserved, { force: true }); // there is no room; the next holder of the folder tries again
  }
}
