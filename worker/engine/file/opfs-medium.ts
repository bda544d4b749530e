// Stores objects in a directory of the origin private file system, with one folder per object.
//
// Invariants: without OPFS and its synchronous handles, opening fails; boot/browser-medium then chooses
// another. Every refusal by the browser becomes an error of this package.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { ClearanceWatch } from './clearance-watch.ts';
import type { FileDirectory } from './file.ts';
import { isFromFullDisk } from './full-disk.ts';
import type { ObjectMedium } from './medium.ts';
import {
  HandleCloser,
  OpfsDirectory,
  type OpfsEnvironment,
  openHandle,
  opfsFileError,
} from './opfs-file.ts';

/** The functions for the files and the clearance watch. */
export interface OpfsMediumEnvironment extends OpfsEnvironment {
  after(delayMs: number, task: () => void): () => void;
}

export class OpfsMedium implements ObjectMedium {
  /** Reports that site data was cleared. */
  readonly watch: ClearanceWatch;
  readonly #root: FileSystemDirectoryHandle;
  readonly #environment: OpfsEnvironment;
  readonly #closer: HandleCloser;

  private constructor({ root, marks, mark }: Places, environment: OpfsMediumEnvironment) {
    this.#root = root;
    this.#environment = environment;
    this.watch = new ClearanceWatch(() => exists(marks, mark), environment);
    this.#closer = new HandleCloser(
      () => this.watch.look(),
      () => this.watch.expire(),
    );
  }

  /**
   * Opens the medium. `handles` says whether synchronous handles are known to work, or must be tried: some browsers
   * have the method but always refuse.
   *
   * @throws INSECURE_CONTEXT, OPFS_UNAVAILABLE, DISK_FULL
   */
  static async open(
    name: string,
    environment: OpfsMediumEnvironment,
    handles: 'known' | 'untried' = 'known',
  ): Promise<OpfsMedium> {
    return new OpfsMedium(await openPlaces(name, handles), environment);
  }

  /** Returns true if the directory has objects; false if it has none or that cannot be found out. */
  static async hasObjects(name: string): Promise<boolean> {
    try {
      const root = await (await navigator.storage.getDirectory()).getDirectoryHandle(name);
      for await (const key of root.keys()) if (key !== MARKS) return true;
    } catch {
      // The directory does not exist, or this browser refuses to list it.
    }
    return false;
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
      for await (const name of this.#root.keys()) if (name !== MARKS) names.push(name);
      return names;
    });
  }

  async sizes(key: string): Promise<ReadonlyMap<string, number>> {
    return await this.#attempt('measure', key, async () => {
      const sizes = new Map<string, number>();
      try {
        const directory = await this.#root.getDirectoryHandle(key);
        for await (const handle of directory.values()) {
          if (handle.kind === 'file') sizes.set(handle.name, (await handle.getFile()).size);
        }
      } catch (error) {
        // The folder does not exist before the first write, or it is being removed.
        if (!isMissing(error)) throw error;
      }
      return sizes;
    });
  }

  async #attempt<T>(operation: string, key: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (cause) {
      this.watch.expire();
      const what = `${operation} "${key}"`;
      throw (await isFromFullDisk(cause)) ? fullDisk(what, cause) : opfsFileError(what, cause);
    }
  }
}

interface Places {
  readonly root: FileSystemDirectoryHandle;
  readonly marks: FileSystemDirectoryHandle;
  /** Name of a file in `marks` that this medium created or, on a full disk, an earlier one. */
  readonly mark: string;
}

/** Name of the folder of marks, beside the folders of objects; no object has this key. */
const MARKS = 'open';

// Handles find a directory by name (Chromium 156), even a directory that a later page created after
// site data was cleared. So each opening creates a mark, and `exists` looks for the mark.
async function leaveMark(root: FileSystemDirectoryHandle): Promise<Places> {
  const marks = await root.getDirectoryHandle(MARKS, { create: true });
  const earlier: string[] = [];
  for await (const name of marks.keys()) earlier.push(name);
  const mark = crypto.randomUUID();
  try {
    await marks.getFileHandle(mark, { create: true });
  } catch (error) {
    // On a full disk, use an earlier mark: if site data is cleared, no other opening creates a mark of the same name.
    const [known] = earlier;
    if (known === undefined || !(await isFromFullDisk(error))) throw error;
    return { root, marks, mark: known };
  }
  for (const name of earlier) await marks.removeEntry(name);
  return { root, marks, mark };
}

async function tryHandle({ marks, mark }: Places): Promise<void> {
  const { handle } = await openHandle(await marks.getFileHandle(mark));
  handle.close();
}

// Only NotFoundError proves that the mark is gone; any other failure may be temporary.
async function exists(marks: FileSystemDirectoryHandle, mark: string): Promise<boolean> {
  try {
    await marks.getFileHandle(mark);
    return true;
  } catch (error) {
    return !isMissing(error);
  }
}

function fullDisk(operation: string, cause: unknown): Error {
  return storageError(
    'DISK_FULL',
    `${operation}: the disk, or the part that the browser grants this site, is full; stored data is kept. ` +
      'Make room, and try again.',
    { cause },
  );
}

function isMissing(error: unknown): boolean {
  return (error as DOMException).name === 'NotFoundError';
}

async function openPlaces(name: string, handles: 'known' | 'untried'): Promise<Places> {
  if (!globalThis.isSecureContext) {
    throw storageError(
      'INSECURE_CONTEXT',
      'Browsers provide storage only in secure contexts. Serve the page over https, ' +
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
      'This browser has no origin private file system with synchronous access ' +
        'handles; see the browser table.',
    );
  }
  try {
    const origin = await navigator.storage.getDirectory();
    const places = await leaveMark(await origin.getDirectoryHandle(name, { create: true }));
    if (handles === 'untried') await tryHandle(places);
    return places;
  } catch (cause) {
    if (await isFromFullDisk(cause)) throw fullDisk(`open the directory "${name}"`, cause);
    throw storageError(
      'OPFS_UNAVAILABLE',
      'The browser refused access to its private file system, as it does in private ' +
        `windows and when site data is blocked: ${String(cause)}`,
      { cause },
    );
  }
}
