// Files of the browser's origin private file system, by synchronous access handles.
//
// Keeps true: one holder a file (the handle is exclusive); a failure is an error with a code and
// never a fall back to memory. The forms a full disk takes are all DISK_FULL: QuotaExceededError, a
// short write, and Chrome's write() returning a huge number (a negative error read as unsigned).

import { storageError } from '../../src/contract/errors.ts';
import { HANDLE_WAIT_MS } from '../../src/contract/limits.ts';
import type { FileDirectory, SyncFile } from './file.ts';

/** How long to wait between two attempts at a handle somebody else still holds, in milliseconds. */
const HANDLE_RETRY_MS = 50;

/** A synchronous access handle, as far as it is used; only the worker's library declares it. */
interface AccessHandle {
  read(target: Uint8Array, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  truncate(sizeBytes: number): void;
  getSize(): number;
  flush(): void;
  close(): void;
}

/** What waiting for a handle needs. */
export interface OpfsEnvironment {
  now(): number;
  sleep(delayMs: number): Promise<void>;
}

function fileError(operation: string, cause: unknown): Error {
  const name = (cause as { name?: string } | null)?.name;
  if (name === 'QuotaExceededError') {
    return storageError('DISK_FULL', `${operation}: the quota of the origin is used up.`, {
      cause,
    });
  }
  return storageError('IO', `${operation}: ${String(cause)}`, { cause });
}

class OpfsFile implements SyncFile {
  readonly #name: string;
  readonly #handle: AccessHandle;

  constructor(name: string, handle: AccessHandle) {
    this.#name = name;
    this.#handle = handle;
  }

  read(target: Uint8Array, offset: number): number {
    let count: number;
    try {
      count = this.#handle.read(target, { at: offset });
    } catch (cause) {
      throw fileError(`read "${this.#name}"`, cause);
    }
    if (count > target.length) throw fileError(`read "${this.#name}"`, `result ${count}`);
    return count;
  }

  write(bytes: Uint8Array, offset: number): void {
    let count: number;
    try {
      count = this.#handle.write(bytes, { at: offset });
    } catch (cause) {
      throw fileError(`write "${this.#name}"`, cause);
    }
    if (count !== bytes.length) {
      throw storageError(
        'DISK_FULL',
        `write "${this.#name}": ${bytes.length} bytes at ${offset} were not taken (${count}).`,
      );
    }
  }

  truncate(sizeBytes: number): void {
    try {
      this.#handle.truncate(sizeBytes);
    } catch (cause) {
      throw fileError(`truncate "${this.#name}"`, cause);
    }
  }

  sizeBytes(): number {
    try {
      return this.#handle.getSize();
    } catch (cause) {
      throw fileError(`size "${this.#name}"`, cause);
    }
  }

  flush(): void {
    try {
      this.#handle.flush();
    } catch (cause) {
      throw fileError(`flush "${this.#name}"`, cause);
    }
  }

  close(): void {
    this.#handle.close();
  }
}

export class OpfsDirectory implements FileDirectory {
  readonly #directory: FileSystemDirectoryHandle;
  readonly #environment: OpfsEnvironment;

  constructor(directory: FileSystemDirectoryHandle, environment: OpfsEnvironment) {
    this.#directory = directory;
    this.#environment = environment;
  }

  async open(name: string): Promise<SyncFile> {
    const { now, sleep } = this.#environment;
    const giveUpAtMs = now() + HANDLE_WAIT_MS;
    for (;;) {
      try {
        const entry = await this.#directory.getFileHandle(name, { create: true });
        const { createSyncAccessHandle } = entry as unknown as {
          createSyncAccessHandle(): Promise<AccessHandle>;
        };
        return new OpfsFile(name, await createSyncAccessHandle.call(entry));
      } catch (cause) {
        // The holder may be a worker that is already dying: its handles outlive it by seconds.
        if ((cause as { name?: string }).name !== 'NoModificationAllowedError') {
          throw fileError(`open "${name}"`, cause);
        }
        if (now() >= giveUpAtMs) {
          throw storageError(
            'STORAGE_LOCKED',
            `open "${name}": another worker kept the file for ${HANDLE_WAIT_MS} ms. Close it there.`,
            { cause },
          );
        }
        await sleep(HANDLE_RETRY_MS);
      }
    }
  }

  async names(): Promise<string[]> {
    const names: string[] = [];
    try {
      for await (const name of this.#directory.keys()) names.push(name);
    } catch (cause) {
      throw fileError('names', cause);
    }
    return names;
  }

  async remove(name: string): Promise<void> {
    try {
      await this.#directory.removeEntry(name);
    } catch (cause) {
      if ((cause as { name?: string }).name === 'NotFoundError') return;
      throw fileError(`remove "${name}"`, cause);
    }
  }
}
