// A medium that opens no more files at once than it may, and tells how much is written.
//
// Invariant: an object's opening reserves the files that it usually needs before it opens the first, so
// that no two openings wait for each other's files. Each file is given back when it is closed.

import type { FileDirectory, SyncFile } from './file.ts';
import type { ObjectMedium } from './medium.ts';
import type { OpenFiles } from './open-files.ts';

export class CountedMedium implements ObjectMedium {
  readonly #medium: ObjectMedium;
  readonly #files: OpenFiles;
  readonly #wrote: (byteCount: number) => void;
  /** How many files are open, by key of the object; no entry: none. */
  readonly #open = new Map<string, number>();

  /** `wrote` is told how many bytes are about to be written. */
  constructor(medium: ObjectMedium, files: OpenFiles, wrote: (byteCount: number) => void) {
    this.#medium = medium;
    this.#files = files;
    this.#wrote = wrote;
  }

  /** How many files of the object are open. */
  openOf(key: string): number {
    return this.#open.get(key) ?? 0;
  }

  async directory(key: string): Promise<FileDirectory> {
    const opened = (change: 1 | -1) => {
      const count = this.openOf(key) + change;
      if (count === 0) this.#open.delete(key);
      else this.#open.set(key, count);
    };
    const directory = await this.#medium.directory(key);
    return new CountedDirectory(directory, this.#files, opened, this.#wrote);
  }

  remove(key: string): Promise<void> {
    return this.#medium.remove(key);
  }

  keys(): Promise<string[]> {
    return this.#medium.keys();
  }

  sizeBytes(key: string): Promise<number> {
    return this.#medium.sizeBytes(key);
  }
}

class CountedDirectory implements FileDirectory {
  readonly #directory: FileDirectory;
  readonly #files: OpenFiles;
  readonly #opened: (change: 1 | -1) => void;
  readonly #wrote: (byteCount: number) => void;
  #reserved = 0;

  constructor(
    directory: FileDirectory,
    files: OpenFiles,
    opened: (change: 1 | -1) => void,
    wrote: (byteCount: number) => void,
  ) {
    this.#directory = directory;
    this.#files = files;
    this.#opened = opened;
    this.#wrote = wrote;
  }

  async reserveFiles(count: number): Promise<() => void> {
    await this.#files.take(count, false);
    this.#reserved += count;
    return () => {
      const unused = this.#reserved;
      this.#reserved = 0;
      this.#files.give(unused);
    };
  }

  async open(name: string): Promise<SyncFile> {
    if (this.#reserved > 0) this.#reserved -= 1;
    else await this.#files.take(1, true);
    return this.#openTaken(name);
  }

  async openAhead(name: string): Promise<SyncFile | null> {
    if (this.#files.tryTake(1)) return this.#openTaken(name);
    this.#files.wish();
    return null;
  }

  names(): Promise<string[]> {
    return this.#directory.names();
  }

  remove(name: string): Promise<void> {
    return this.#directory.remove(name);
  }

  async #openTaken(name: string): Promise<SyncFile> {
    this.#opened(1);
    const closed = () => {
      this.#opened(-1);
      this.#files.give(1);
    };
    try {
      return new CountedFile(await this.#directory.open(name), closed, this.#wrote);
    } catch (error) {
      closed();
      throw error;
    }
  }
}

class CountedFile implements SyncFile {
  readonly #file: SyncFile;
  readonly #wrote: (byteCount: number) => void;
  #closed: (() => void) | undefined;

  constructor(file: SyncFile, closed: () => void, wrote: (byteCount: number) => void) {
    this.#file = file;
    this.#closed = closed;
    this.#wrote = wrote;
  }

  read(target: Uint8Array, offset: number): number {
    return this.#file.read(target, offset);
  }

  write(bytes: Uint8Array, offset: number): void {
    this.#wrote(bytes.length);
    this.#file.write(bytes, offset);
  }

  truncate(sizeBytes: number): void {
    this.#file.truncate(sizeBytes);
  }

  sizeBytes(): number {
    return this.#file.sizeBytes();
  }

  flush(): void | Promise<void> {
    return this.#file.flush();
  }

  close(): void {
    const closed = this.#closed;
    this.#closed = undefined;
    try {
      this.#file.close();
    } finally {
      closed?.();
    }
  }
}
