// A disk that loses power: writes that were not flushed are kept, lost or torn, each sector for
// itself, in every file. The worst a disk does that keeps its promise about flushed bytes.
//
// Sectors are 512 bytes; a torn one holds the beginning of the new bytes. Creating and removing
// files is durable at once. It can also be full, and damage stored bytes.

import { storageError } from '../../src/contract/errors.ts';
import { closedError, type FileDirectory, removeOpenError, type SyncFile } from '../file/file.ts';
import { FileContent } from '../file/memory-file.ts';
import type { Random } from './random.ts';

const SECTOR_BYTES = 512;

type Change =
  | { readonly kind: 'write'; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly sizeBytes: number };

interface StoredFile {
  readonly current: FileContent;
  readonly durable: FileContent;
  changes: Change[];
}

export interface DiskFaults {
  /** Flushes do nothing: the simulator must notice. */
  readonly flushIsBroken?: boolean;
  /** Flushes end in a later turn, as those of IndexedDB would. */
  readonly flushIsLate?: boolean;
}

export class CrashDisk implements FileDirectory {
  readonly #files = new Map<string, StoredFile>();
  readonly #random: Random;
  readonly #faults: DiskFaults;
  readonly #open = new Set<string>();
  #callsLeft = Number.POSITIVE_INFINITY;
  capacityBytes = Number.POSITIVE_INFINITY;
  /** Flushes made since the disk was new, those of files that were clean included. */
  flushCount = 0;

  constructor(random: Random, faults: DiskFaults = {}) {
    this.#random = random;
    this.#faults = faults;
  }

  get isOff(): boolean {
    return this.#callsLeft < 0;
  }

  /** Loses power during the call that is so many changes away. */
  crashAfter(calls: number): void {
    this.#callsLeft = calls;
  }

  usedBytes(): number {
    let used = 0;
    for (const file of this.#files.values()) used += file.current.size;
    return used;
  }

  /** The disk when power comes back. */
  afterCrash(): CrashDisk {
    const next = new CrashDisk(this.#random, this.#faults);
    for (const [name, file] of this.#files) {
      const survived = this.#survivors(file);
      next.#files.set(name, {
        current: survived,
        durable: copyOf(survived),
        changes: [],
      });
    }
    return next;
  }

  /** Changes one stored byte of a file. */
  damage(name: string, offset: number): void {
    const { current } = this.#files.get(name)!;
    const byte = new Uint8Array(1);
    current.read(byte, offset);
    byte[0] = byte[0]! ^ (1 + this.#random.below(255));
    current.write(byte, offset);
  }

  sizeOf(name: string): number {
    return this.#files.get(name)?.current.size ?? 0;
  }

  async open(name: string): Promise<SyncFile> {
    this.#step();
    if (this.#open.has(name)) throw storageError('STORAGE_LOCKED', `open("${name}"): held.`);
    this.#open.add(name);
    let stored = this.#files.get(name);
    if (stored === undefined) {
      stored = { current: new FileContent(), durable: new FileContent(), changes: [] };
      this.#files.set(name, stored);
    }
    return this.#handle(name, stored);
  }

  async names(): Promise<string[]> {
    return [...this.#files.keys()];
  }

  async remove(name: string): Promise<void> {
    if (this.#open.has(name)) throw removeOpenError(name);
    this.#step();
    this.#files.delete(name);
  }

  #handle(name: string, stored: StoredFile): SyncFile {
    let isOpen = true;
    const mustBeOpen = (operation: string) => {
      if (!isOpen) throw closedError(operation, name);
    };
    const change = (made: Change) => {
      mustBeOpen(made.kind);
      if (made.kind === 'write' && made.bytes.length === 0) return;
      const end = made.kind === 'write' ? made.offset + made.bytes.length : made.sizeBytes;
      this.#reserve(end - stored.current.size);
      stored.changes.push(made);
      apply(stored.current, made);
      // Power may go while the change is under way: it then is one more that was not flushed.
      this.#step();
    };
    return {
      read(target, offset) {
        mustBeOpen('read');
        return stored.current.read(target, offset);
      },
      write: (bytes, offset) => change({ kind: 'write', offset, bytes: bytes.slice() }),
      truncate: (sizeBytes) => change({ kind: 'truncate', sizeBytes }),
      sizeBytes() {
        mustBeOpen('size');
        return stored.current.size;
      },
      flush: () => {
        mustBeOpen('flush');
        return this.#flush(stored);
      },
      close: () => {
        if (isOpen) this.#open.delete(name);
        isOpen = false;
      },
    };
  }

  #flush(stored: StoredFile): void | Promise<void> {
    this.#step();
    this.flushCount++;
    if (this.#faults.flushIsBroken === true) return;
    const covered = stored.changes.length;
    const settle = () => {
      for (const made of stored.changes.splice(0, covered)) apply(stored.durable, made);
    };
    if (this.#faults.flushIsLate !== true) {
      settle();
      return;
    }
    return new Promise((resolve) => setImmediate(resolve)).then(() => {
      this.#step();
      settle();
    });
  }

  #step(): void {
    this.#callsLeft--;
    if (this.isOff) throw storageError('IO', 'The power is off.');
  }

  #reserve(growthBytes: number): void {
    if (this.isOff) throw storageError('IO', 'The power is off.');
    if (growthBytes > 0 && this.usedBytes() + growthBytes > this.capacityBytes) {
      throw storageError('DISK_FULL', 'The disk is full.');
    }
  }

  #survivors(file: StoredFile): FileContent {
    const content = copyOf(file.durable);
    const fate = this.#random.pick(['mixed', 'mixed', 'mixed', 'all', 'none', 'first'] as const);
    if (fate === 'none') return content;
    const count = fate === 'first' ? this.#random.below(file.changes.length + 1) : Infinity;
    for (const made of file.changes.slice(0, count)) {
      if (fate !== 'mixed') apply(content, made);
      else if (made.kind === 'write') this.#writeSome(content, made.bytes, made.offset);
      else if (this.#random.onceIn(2)) apply(content, made);
    }
    return content;
  }

  #writeSome(content: FileContent, bytes: Uint8Array, offset: number): void {
    for (let start = 0; start < bytes.length; ) {
      const boundary = Math.floor((offset + start) / SECTOR_BYTES + 1) * SECTOR_BYTES - offset;
      const end = Math.min(bytes.length, boundary);
      const fate = this.#random.below(8);
      if (fate < 4) content.write(bytes.subarray(start, end), offset + start);
      else if (fate === 4) {
        const torn = start + this.#random.below(end - start);
        if (torn > start) content.write(bytes.subarray(start, torn), offset + start);
      }
      start = end;
    }
  }
}

function apply(content: FileContent, made: Change): void {
  if (made.kind === 'write') content.write(made.bytes, made.offset);
  else content.resize(made.sizeBytes);
}

function copyOf(content: FileContent): FileContent {
  const bytes = new Uint8Array(content.size);
  content.read(bytes, 0);
  const copy = new FileContent();
  if (bytes.length > 0) copy.write(bytes, 0);
  return copy;
}
