// Simulates files that are rows of a database with asynchronous transactions, and that lose power and fail.
//
// A transaction is stored as a whole or not at all. If power fails while it is running, or it fails with IO, either may
// be the case; on a full disk it is not stored. Calls take several turns each, and end in the order in which they were
// made.

import { storageError } from '../../../src/shared/contract/errors.ts';
import {
  CHUNK_BYTES,
  type FileChange,
  type FilePath,
  type FileRows,
} from '../../../worker/engine/file/file-rows.ts';
import type { Random } from '../simulate/world/random.ts';

interface StoredFile {
  sizeBytes: number;
  readonly chunks: Map<number, Uint8Array>;
}

/** The stored files, by key and name. */
type Stored = Map<string, Map<string, StoredFile>>;

interface Fault {
  readonly code: 'IO' | 'DISK_FULL';
  callsLeft: number;
  times: number;
}

export class CrashRows implements FileRows {
  readonly #random: Random;
  #stored: Stored;
  /** The transactions that are running, in order. */
  readonly #runningTransactions = new Set<() => void>();
  #last: Promise<unknown> = Promise.resolve();
  #callsLeft = Number.POSITIVE_INFINITY;
  #fault: Fault | null = null;
  capacityBytes = Number.POSITIVE_INFINITY;
  /** The number of calls that failed by an injected fault or a full disk. */
  failedCalls = 0;

  constructor(random: Random, stored: Stored = new Map()) {
    this.#random = random;
    this.#stored = stored;
  }

  get isOff(): boolean {
    return this.#callsLeft < 0;
  }

  /** Whether a write may fail with a full disk: the capacity is limited, or such a fault will be injected. */
  get mayBeFull(): boolean {
    return this.capacityBytes !== Number.POSITIVE_INFINITY || this.#fault?.code === 'DISK_FULL';
  }

  /** Loses power during the call that follows `calls` others. If power is already off, it stays off. */
  powerOffAfter(calls: number): void {
    if (!this.isOff) this.#callsLeft = calls;
  }

  powerOff(): void {
    this.#callsLeft = -1;
  }

  /** Makes `times` calls fail, after `calls` others. */
  failAfter(calls: number, code: Fault['code'], times = 1): void {
    this.#fault = { code, callsLeft: calls, times };
  }

  heal(): void {
    this.#fault = null;
    this.#callsLeft = Number.POSITIVE_INFINITY;
    this.capacityBytes = Number.POSITIVE_INFINITY;
  }

  usedBytes(): number {
    return sizeOf(this.#stored);
  }

  /** Returns the rows as they may be when power is back. Each call returns one of the possibilities. */
  afterLoss(): CrashRows {
    const next = new CrashRows(this.#random, copyOf(this.#stored));
    // A transaction can only have been stored if all earlier ones were.
    const survivors = this.#random.below(this.#runningTransactions.size + 1);
    const kept = this.#stored;
    this.#stored = next.#stored;
    for (const apply of [...this.#runningTransactions].slice(0, survivors)) apply();
    this.#stored = kept;
    return next;
  }

  async keys(): Promise<string[]> {
    await this.#call();
    return [...this.#stored.keys()];
  }

  async files(key: string): Promise<ReadonlyMap<string, number>> {
    await this.#call();
    const files = this.#stored.get(key) ?? new Map<string, StoredFile>();
    return new Map([...files].map(([name, { sizeBytes }]) => [name, sizeBytes]));
  }

  async chunkCount(path: FilePath): Promise<number> {
    await this.#call();
    return this.#find(path)?.chunks.size ?? 0;
  }

  async load(path: FilePath, take: (index: number, bytes: Uint8Array) => void): Promise<void> {
    await this.#call();
    for (const [index, bytes] of this.#find(path)?.chunks ?? []) take(index, bytes.slice());
  }

  save(changes: readonly FileChange[]): Promise<void> {
    const copies = changes.map((change) => ({
      ...change,
      chunks: change.chunks.map(([index, bytes]) => [index, bytes?.slice() ?? null] as const),
    }));
    return this.#transaction(() => {
      for (const change of copies) this.#apply(change);
    });
  }

  remove(key: string, name?: string): Promise<void> {
    return this.#transaction(() => {
      if (name === undefined) this.#stored.delete(key);
      else this.#stored.get(key)?.delete(name);
    });
  }

  #apply({
    path,
    cutAt,
    chunks,
    sizeBytes,
  }: Omit<FileChange, 'chunks'> & {
    chunks: readonly (readonly [number, Uint8Array | null])[];
  }): void {
    const files = this.#stored.get(path.key) ?? new Map<string, StoredFile>();
    this.#stored.set(path.key, files);
    const file = files.get(path.name) ?? { sizeBytes: 0, chunks: new Map() };
    files.set(path.name, file);
    if (cutAt !== null) {
      for (const index of file.chunks.keys()) if (index >= cutAt) file.chunks.delete(index);
    }
    for (const [index, bytes] of chunks) {
      if (bytes === null) file.chunks.delete(index);
      else file.chunks.set(index, bytes);
    }
    if (sizeBytes !== null) file.sizeBytes = sizeBytes;
  }

  #find({ key, name }: FilePath): StoredFile | undefined {
    return this.#stored.get(key)?.get(name);
  }

  async #transaction(apply: () => void): Promise<void> {
    if (this.isOff) throw powerIsOff();
    this.#runningTransactions.add(apply);
    await this.#call(
      () => void (this.#random.onceIn(2) && apply()),
      () => this.#requireSpace(apply),
    ).finally(() => {
      // Transactions that were running when power failed stay undecided.
      if (!this.isOff) this.#runningTransactions.delete(apply);
    });
    apply();
  }

  /** Requires that the change fits into the capacity. @throws DISK_FULL if it does not */
  #requireSpace(apply: () => void): void {
    if (this.capacityBytes === Number.POSITIVE_INFINITY) return;
    const before = this.#stored;
    this.#stored = copyOf(before);
    apply();
    const needed = sizeOf(this.#stored);
    this.#stored = before;
    if (needed <= this.capacityBytes || needed <= sizeOf(before)) return;
    this.failedCalls++;
    throw storageError('DISK_FULL', 'The disk is full.');
  }

  /** Waits until all earlier calls have ended; then the call fails, loses power, or succeeds. */
  async #call(partly = () => {}, check = () => {}): Promise<void> {
    const before = this.#last;
    let end = () => {};
    this.#last = new Promise<void>((resolve) => {
      end = resolve;
    });
    try {
      await before;
      await this.#later();
      if (this.isOff || --this.#callsLeft < 0) throw powerIsOff();
      this.#failSometimes(partly);
      check();
    } finally {
      end();
    }
  }

  #failSometimes(partly: () => void): void {
    const fault = this.#fault;
    if (fault === null || --fault.callsLeft >= 0) return;
    if (--fault.times <= 0) this.#fault = null;
    this.failedCalls++;
    if (fault.code === 'IO') partly();
    throw storageError(fault.code, 'An injected fault.');
  }

  async #later(): Promise<void> {
    for (let ticks = this.#random.below(10); ticks > 0; ticks--) await undefined;
    if (this.#random.onceIn(3)) await new Promise((resolve) => setImmediate(resolve));
  }
}

// This timer is the platform's, because a host replaces the timers of its realm later.
const { setImmediate } = globalThis;

function powerIsOff() {
  return storageError('IO', 'The power is off.');
}

function copyOf(stored: Stored): Stored {
  const copy: Stored = new Map();
  for (const [key, files] of stored) {
    const copied = new Map<string, StoredFile>();
    for (const [name, { sizeBytes, chunks }] of files)
      copied.set(name, { sizeBytes, chunks: new Map(chunks) });
    copy.set(key, copied);
  }
  return copy;
}

function sizeOf(stored: Stored): number {
  let sum = 0;
  for (const files of stored.values())
    for (const { chunks } of files.values()) sum += chunks.size * CHUNK_BYTES;
  return sum;
}
