// Shared by tests of the log: SQLite on an object's log in a directory in memory, which can delay flushes,
// records flushed bytes, and records every use of a closed file.

import type { Database } from '@sqlite.org/sqlite-wasm';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { DatabaseFile, FileDirectory, SyncFile } from '../../../worker/engine/file/file.ts';

import { MemoryDirectory } from '../../../worker/engine/file/memory-file.ts';
import { ObjectFiles } from '../../../worker/engine/log/object-files.ts';
import { PAGE_BYTES } from '../../../worker/engine/log/pages.ts';
import { LOG_PRAGMAS } from '../../../worker/engine/vfs/log-vfs.ts';
import { logVfsOf, startOfficial } from './official-sqlite.ts';

export const START_MS = Date.UTC(2030, 0, 1);

const official = await startOfficial();
export const { sqlite3 } = official;
export const vfs = logVfsOf(official);

/** Time that stands still unless it is moved, and the same random numbers in every run. */
export class TestEnvironment {
  nowMs = START_MS;
  #random = 1;
  now = () => this.nowMs;
  randomUint32 = () => {
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#random;
  };
}

export type FilesOptions = Parameters<typeof ObjectFiles.open>[2];

export interface OpenedLog {
  readonly files: ObjectFiles;
  readonly db: Database;
  readonly name: string;
  close(): Promise<void>;
}

/** Opens an object and SQLite on it, with a table `t(k, v)`. */
export async function openLog(
  directory: FileDirectory,
  environment = new TestEnvironment(),
  options: FilesOptions = {},
): Promise<OpenedLog> {
  const files = await ObjectFiles.open(directory, environment, { isChecked: true, ...options });
  const name = vfs.attach(files.file);
  const db = new sqlite3.oo1.DB({ filename: name, vfs: vfs.name, flags: 'c' });
  for (const pragma of LOG_PRAGMAS) db.exec(pragma);
  db.exec('CREATE TABLE IF NOT EXISTS t(k INTEGER PRIMARY KEY, v)');
  const close = async () => {
    db.close();
    vfs.detach(name);
    await files.close();
  };
  return { files, db, name, close };
}

export function put(db: Database, k: number, v: string | Uint8Array): void {
  db.exec({ sql: 'INSERT OR REPLACE INTO t VALUES(?, ?)', bind: [k, v] });
}

/** The rows; bytes as hexadecimal text, which compares a hundred times faster. */
export function allRows(db: Database): unknown {
  return db.selectArrays(
    "SELECT k, CASE typeof(v) WHEN 'blob' THEN hex(v) ELSE v END FROM t ORDER BY k",
  );
}

/** Bytes that differ everywhere from those of another seed, so that the log records whole pages. */
export function noise(seed: number, sizeBytes: number): Uint8Array {
  const bytes = new Uint8Array(sizeBytes);
  let state = seed;
  for (let i = 0; i < sizeBytes; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** The bytes of a database, page by page. */
export function imageOf(file: Pick<DatabaseFile, 'sizeBytes' | 'read'>): Buffer {
  const image = Buffer.alloc(file.sizeBytes());
  for (let at = 0; at < image.length; at += PAGE_BYTES) {
    file.read(image.subarray(at, at + PAGE_BYTES), at);
  }
  return image;
}

export async function bytesOf(directory: FileDirectory, name: string): Promise<Uint8Array> {
  const file = await directory.open(name);
  const bytes = new Uint8Array(file.sizeBytes());
  file.read(bytes, 0);
  file.close();
  return bytes;
}

/** A directory in memory with the same files. */
export async function copyOf(directory: FileDirectory): Promise<MemoryDirectory> {
  const copy = new MemoryDirectory();
  for (const name of await directory.names()) {
    await overwrite(copy, name, await bytesOf(directory, name));
  }
  return copy;
}

/** Replaces the content of a file. */
export async function overwrite(
  directory: FileDirectory,
  name: string,
  bytes: Uint8Array,
): Promise<void> {
  const file = await directory.open(name);
  file.truncate(0);
  file.write(bytes, 0);
  file.close();
}

/** A call of an open file. */
export type WatchedCall = 'read' | 'write' | 'truncate' | 'size' | 'flush';

/** A directory in memory that records the calls to it. */
export class WatchedDirectory implements FileDirectory {
  readonly inner: MemoryDirectory;
  /** The content of each file when the last completed flush was called. */
  readonly flushed = new Map<string, Uint8Array>();
  /** Files that were written to. */
  readonly written = new Set<string>();
  /** Files for which the disk has no room. */
  readonly full = new Set<string>();
  /** The largest write that the disk has room for. */
  mostBytes = Number.POSITIVE_INFINITY;
  /** Calls of files that fail without an effect. */
  fails: (call: WatchedCall, name: string) => boolean = () => false;
  /** Calls of files that were closed, and of the directory after `isOver`. */
  readonly afterClose: string[] = [];
  /** Flushes end when `release` is called. */
  isLate = false;
  /** From now on, every use of the directory is recorded as wrong. */
  isOver = false;
  #late: (() => void)[] = [];

  constructor(inner = new MemoryDirectory()) {
    this.inner = inner;
  }

  async open(name: string): Promise<SyncFile> {
    if (this.isOver) this.afterClose.push(`open ${name}`);
    const file = await this.inner.open(name);
    let isClosed = false;
    const use = <T>(call: WatchedCall, action: () => T): T => {
      if (!isClosed && this.fails(call, name))
        throw storageError('IO', `${call} "${name}": fails.`);
      if (!isClosed) return action();
      this.afterClose.push(`${call} ${name}`);
      throw storageError('IO', `${call} "${name}": closed.`);
    };
    const contents = () => {
      const bytes = new Uint8Array(file.sizeBytes());
      file.read(bytes, 0);
      return bytes;
    };
    return {
      read: (target, offset) => use('read', () => file.read(target, offset)),
      write: (bytes, offset) =>
        use('write', () => {
          if (this.full.has(name) || bytes.length > this.mostBytes)
            throw storageError('DISK_FULL', `write "${name}": no room.`);
          this.written.add(name);
          file.write(bytes, offset);
        }),
      truncate: (sizeBytes) => use('truncate', () => file.truncate(sizeBytes)),
      sizeBytes: () => use('size', () => file.sizeBytes()),
      flush: () =>
        use('flush', () => {
          const bytes = contents();
          if (!this.isLate) return void this.flushed.set(name, bytes);
          return new Promise<void>((resolve) => this.#late.push(resolve)).then(() => {
            if (isClosed) this.afterClose.push(`end of flush ${name}`);
            else this.flushed.set(name, bytes);
          });
        }),
      close: () => {
        isClosed = true;
        file.close();
      },
    };
  }

  names = () => this.inner.names();
  remove = (name: string) => this.inner.remove(name);

  /** How many flushes are under way. */
  get lateCount(): number {
    return this.#late.length;
  }

  /** Ends the flushes that are under way. */
  release(): void {
    for (const resolve of this.#late.splice(0)) resolve();
  }
}
