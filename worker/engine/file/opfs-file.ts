// Files in the browser's origin private file system, through synchronous access handles.
//
// Invariants: a file has one holder (the handle is exclusive). Every failure is an error with a code;
// there is no fallback to memory. Every form of a full disk is DISK_FULL: QuotaExceededError, a short
// write, and a huge result of Chrome's write() (a negative error code read as unsigned). A handle is
// closed only after a check that its file still exists; clearance-watch says why.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { HANDLE_WAIT_MS } from '../../../src/shared/contract/limits.ts';
import { closedError, type FileDirectory, type SyncFile } from './file.ts';

/** Milliseconds between two attempts to open a file that another holder has open. */
const HANDLE_RETRY_MS = 50;

/** The parts of a synchronous access handle that are used; only TypeScript's worker library has it. */
interface AccessHandle {
  read(target: Uint8Array, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  truncate(sizeBytes: number): void;
  getSize(): number;
  flush(): void;
  close(): void;
}

interface OpenedHandle {
  readonly name: string;
  readonly handle: AccessHandle;
}

/**
 * Opens the file for its one holder. @throws the browser's error
 *
 * The entry's name is read after the wait for a reason: Chromium (156) never answers if the garbage collector takes
 * the entry meanwhile.
 */
export async function openHandle(entry: FileSystemFileHandle): Promise<OpenedHandle> {
  const { createSyncAccessHandle } = entry as unknown as {
    createSyncAccessHandle(): Promise<AccessHandle>;
  };
  const handle = await createSyncAccessHandle.call(entry);
  return { name: entry.name, handle };
}

/** The timer functions that waiting for a handle needs. */
export interface OpfsEnvironment {
  now(): number;
  sleep(delayMs: number): Promise<void>;
}

/** Closes handles after checking that their files still exist. */
export class HandleCloser {
  readonly #look: () => Promise<void>;
  /** Called when a handle has failed, because the deletion of its file would explain that. */
  readonly onFailure: () => void;
  readonly #closing = new Set<Promise<void>>();

  /** `look` rejects if the files are gone; their handles then stay open. */
  constructor(look: () => Promise<void>, onFailure: () => void = () => {}) {
    this.#look = look;
    this.onFailure = onFailure;
  }

  close(handle: Pick<AccessHandle, 'close'>): void {
    const closing = this.#look().then(
      () => handle.close(),
      () => {}, // The watch reports the error; a deleted file cannot store anything.
    );
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }

  /** Resolves when every handle passed so far is closed. */
  async settled(): Promise<void> {
    await Promise.all(this.#closing);
  }
}

/** Converts an error of the browser to DISK_FULL or IO. */
export function opfsFileError(operation: string, cause: unknown): Error {
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
  readonly #closer: HandleCloser;
  #isOpen = true;

  constructor({ name, handle }: OpenedHandle, closer: HandleCloser) {
    this.#name = name;
    this.#handle = handle;
    this.#closer = closer;
  }

  read(target: Uint8Array, offset: number): number {
    const count = this.#attempt('read', () => this.#handle.read(target, { at: offset }));
    if (count > target.length) throw opfsFileError(`read "${this.#name}"`, `result ${count}`);
    return count;
  }

  write(bytes: Uint8Array, offset: number): void {
    this.#mustBeOpen('write');
    if (bytes.length === 0) return;
    const count = this.#attempt('write', () => this.#handle.write(bytes, { at: offset }));
    if (count !== bytes.length) {
      throw storageError(
        'DISK_FULL',
        `write "${this.#name}": the disk is full; writing ${bytes.length} bytes at ${offset} ` +
          `returned ${count}.`,
      );
    }
  }

  truncate(sizeBytes: number): void {
    this.#attempt('truncate', () => this.#handle.truncate(sizeBytes));
  }

  sizeBytes(): number {
    return this.#attempt('size', () => this.#handle.getSize());
  }

  flush(): void {
    this.#attempt('flush', () => this.#handle.flush());
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#closer.close(this.#handle);
  }

  /**
   * Closes the handle without checking whether the file still exists. Chromium (156) counts the space of a truncated
   * file until its handle is closed, and a write on a full disk cannot wait for the check. The file was truncated just
   * before, so it exists.
   */
  closeNow(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#handle.close();
  }

  #mustBeOpen(operation: string): void {
    if (!this.#isOpen) throw closedError(operation, this.#name);
  }

  #attempt<T>(operation: string, action: () => T): T {
    this.#mustBeOpen(operation);
    try {
      return action();
    } catch (cause) {
      this.#closer.onFailure();
      throw opfsFileError(`${operation} "${this.#name}"`, cause);
    }
  }
}

export class OpfsDirectory implements FileDirectory {
  readonly #directory: FileSystemDirectoryHandle;
  readonly #environment: OpfsEnvironment;
  readonly #closer: HandleCloser;

  constructor(
    directory: FileSystemDirectoryHandle,
    environment: OpfsEnvironment,
    closer: HandleCloser,
  ) {
    this.#directory = directory;
    this.#environment = environment;
    this.#closer = closer;
  }

  async open(name: string): Promise<SyncFile> {
    const { now, sleep } = this.#environment;
    await this.#closer.settled();
    const deadlineMs = now() + HANDLE_WAIT_MS;
    for (;;) {
      try {
        const entry = await this.#directory.getFileHandle(name, { create: true });
        return new OpfsFile(await openHandle(entry), this.#closer);
      } catch (cause) {
        // The holder may be a terminated worker, whose handles outlive it by seconds.
        if ((cause as { name?: string }).name !== 'NoModificationAllowedError') {
          throw opfsFileError(`open "${name}"`, cause);
        }
        if (now() >= deadlineMs) {
          throw storageError(
            'STORAGE_LOCKED',
            `open "${name}": another worker has kept the file open for ${HANDLE_WAIT_MS} ms. ` +
              'Close it there.',
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
      throw opfsFileError('names', cause);
    }
    return names;
  }

  async remove(name: string): Promise<void> {
    await this.#closer.settled();
    try {
      await this.#directory.removeEntry(name);
    } catch (cause) {
      if ((cause as { name?: string }).name === 'NotFoundError') return;
      throw opfsFileError(`remove "${name}"`, cause);
    }
  }
}
