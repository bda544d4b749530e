// The origin private file system as a medium: a directory of it, one folder an object.
//
// Keeps true: without OPFS and its synchronous handles there is an error, never a memory database.

import { storageError } from '../../src/contract/errors.ts';
import type { FileDirectory } from './file.ts';
import type { ObjectMedium } from './medium.ts';
import { OpfsDirectory, type OpfsEnvironment } from './opfs-file.ts';

export class OpfsMedium implements ObjectMedium {
  readonly #root: FileSystemDirectoryHandle;
  readonly #environment: OpfsEnvironment;

  private constructor(root: FileSystemDirectoryHandle, environment: OpfsEnvironment) {
    this.#root = root;
    this.#environment = environment;
  }

  /** @throws INSECURE_CONTEXT, OPFS_UNAVAILABLE */
  static async open(name: string, environment: OpfsEnvironment): Promise<OpfsMedium> {
    return new OpfsMedium(await openRoot(name), environment);
  }

  async directory(key: string): Promise<FileDirectory> {
    const handle = await this.#root.getDirectoryHandle(key, { create: true });
    return new OpfsDirectory(handle, this.#environment);
  }

  async remove(key: string): Promise<void> {
    try {
      await this.#root.removeEntry(key, { recursive: true });
    } catch (error) {
      if ((error as DOMException).name !== 'NotFoundError') throw error;
    }
  }

  async keys(): Promise<string[]> {
    const names: string[] = [];
    for await (const name of this.#root.keys()) names.push(name);
    return names;
  }

  async sizeBytes(key: string): Promise<number> {
    let sum = 0;
    try {
      const directory = await this.#root.getDirectoryHandle(key);
      for await (const handle of directory.values()) {
        if (handle.kind === 'file') sum += (await handle.getFile()).size;
      }
    } catch (error) {
      // Nothing was written yet, or it is being removed.
      if ((error as DOMException).name !== 'NotFoundError') throw error;
    }
    return sum;
  }
}

async function openRoot(name: string): Promise<FileSystemDirectoryHandle> {
  if (!globalThis.isSecureContext) {
    throw storageError(
      'INSECURE_CONTEXT',
      'openStorage: browsers give storage only to secure contexts; serve the page over https, ' +
        'or from localhost.',
    );
  }
  const hasHandles =
    typeof navigator.storage?.getDirectory === 'function' &&
    typeof FileSystemFileHandle !== 'undefined' &&
    'createSyncAccessHandle' in FileSystemFileHandle.prototype;
  if (!hasHandles) {
    throw storageError(
      'OPFS_UNAVAILABLE',
      'openStorage: this browser has no origin private file system with synchronous access ' +
        'handles; see the browser table.',
    );
  }
  try {
    const origin = await navigator.storage.getDirectory();
    return await origin.getDirectoryHandle(name, { create: true });
  } catch (cause) {
    throw storageError(
      'OPFS_UNAVAILABLE',
      'openStorage: the browser refused its private file system (private windows and blocked site ' +
        `data do that): ${String(cause)}`,
      { cause },
    );
  }
}
