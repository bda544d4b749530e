// The origin private file system as a medium: a directory of it, one folder an object.
//
// Keeps true: without OPFS and its synchronous handles there is an error, never a memory database;
// whatever the browser refuses is an error of this package.

import { storageError } from '../../src/contract/errors.ts';
import { ClearanceWatch } from './clearance-watch.ts';
import type { FileDirectory } from './file.ts';
import type { ObjectMedium } from './medium.ts';
import { fileError, HandleCloser, OpfsDirectory, type OpfsEnvironment } from './opfs-file.ts';

/** What the files need, and what tells that they were cleared. */
export interface OpfsMediumEnvironment extends OpfsEnvironment {
  after(delayMs: number, task: () => void): () => void;
}

export class OpfsMedium implements ObjectMedium {
  /** Tells when site data was cleared. */
  readonly watch: ClearanceWatch;
  readonly #root: FileSystemDirectoryHandle;
  readonly #environment: OpfsEnvironment;
  readonly #closer: HandleCloser;

  private constructor({ origin, root }: Places, environment: OpfsMediumEnvironment) {
    this.#root = root;
    this.#environment = environment;
    this.watch = new ClearanceWatch(() => exists(origin, root.name), environment);
    this.#closer = new HandleCloser(
      () => this.watch.look(),
      () => this.watch.expire(),
    );
  }

  /** @throws INSECURE_CONTEXT, OPFS_UNAVAILABLE, DISK_FULL */
  static async open(name: string, environment: OpfsMediumEnvironment): Promise<OpfsMedium> {
    return new OpfsMedium(await openPlaces(name), environment);
  }

  async directory(key: string): Promise<FileDirectory> {
    const handle = await this.#attempt('open the folder of', key, () =>
      this.#root.getDirectoryHandle(key, { create: true }),
    );
    return new OpfsDirectory(handle, this.#environment, this.#closer);
  }

  async remove(key: string): Promise<void> {
    await this.#closer.settled();
    await this.#attempt('remove', key, async () => {
      try {
        await this.#root.removeEntry(key, { recursive: true });
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    });
  }

  async keys(): Promise<string[]> {
    return await this.#attempt('list', this.#root.name, async () => {
      const names: string[] = [];
      for await (const name of this.#root.keys()) names.push(name);
      return names;
    });
  }

  async sizeBytes(key: string): Promise<number> {
    return await this.#attempt('measure', key, async () => {
      let sum = 0;
      try {
        const directory = await this.#root.getDirectoryHandle(key);
        for await (const handle of directory.values()) {
          if (handle.kind === 'file') sum += (await handle.getFile()).size;
        }
      } catch (error) {
        // Nothing was written yet, or it is being removed.
        if (!isMissing(error)) throw error;
      }
      return sum;
    });
  }

  async #attempt<T>(operation: string, key: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (cause) {
      this.watch.expire();
      throw fileError(`${operation} "${key}"`, cause);
    }
  }
}

interface Places {
  readonly origin: FileSystemDirectoryHandle;
  readonly root: FileSystemDirectoryHandle;
}

// Only one answer proves that it is gone: any other failure may pass.
async function exists(origin: FileSystemDirectoryHandle, name: string): Promise<boolean> {
  try {
    await origin.getDirectoryHandle(name);
    return true;
  } catch (error) {
    return !isMissing(error);
  }
}

function isMissing(error: unknown): boolean {
  return (error as DOMException).name === 'NotFoundError';
}

async function openPlaces(name: string): Promise<Places> {
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
    return { origin, root: await origin.getDirectoryHandle(name, { create: true }) };
  } catch (cause) {
    if ((cause as DOMException).name === 'QuotaExceededError') {
      throw fileError('openStorage', cause);
    }
    throw storageError(
      'OPFS_UNAVAILABLE',
      'openStorage: the browser refused its private file system (private windows and blocked site ' +
        `data do that): ${String(cause)}`,
      { cause },
    );
  }
}
