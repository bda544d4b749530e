// The files of one object on rows that lose power and fail: the simulated disk of a browser without synchronous files.
//
// Unflushed writes are lost when power fails, and a flush is stored as a whole or not at all.

import type { FileDirectory, SyncFile } from '../../../worker/engine/file/file.ts';
import { RowFiles } from '../../../worker/engine/file/row-files.ts';
import type { Random } from '../simulate/world/random.ts';
import { CrashRows } from './crash-rows.ts';

export class RowDisk implements FileDirectory {
  readonly isExact = true;
  readonly #rows: CrashRows;
  readonly #directory: FileDirectory;
  readonly #random: Random;
  /** Always empty: only the disk of files records forbidden uses, because these files throw instead. */
  readonly violations: string[] = [];

  constructor(random: Random, rows = new CrashRows(random)) {
    this.#rows = rows;
    this.#directory = new RowFiles(rows).directory('object');
    this.#random = random;
  }

  get isOff(): boolean {
    return this.#rows.isOff;
  }

  get failedCalls(): number {
    return this.#rows.failedCalls;
  }

  get capacityBytes(): number {
    return this.#rows.capacityBytes;
  }

  set capacityBytes(bytes: number) {
    this.#rows.capacityBytes = bytes;
  }

  get mayBeFull(): boolean {
    return this.#rows.mayBeFull;
  }

  powerOffAfter(calls: number): void {
    this.#rows.powerOffAfter(calls);
  }

  powerOff(): void {
    this.#rows.powerOff();
  }

  failAfter(calls: number, code: 'IO' | 'DISK_FULL', times = 1): void {
    this.#rows.failAfter(calls, code, times);
  }

  heal(): void {
    this.#rows.heal();
  }

  usedBytes(): number {
    return this.#rows.usedBytes();
  }

  /** Returns the disk as it may be when power is back. Each call returns one of the possibilities. */
  afterLoss(): RowDisk {
    return new RowDisk(this.#random, this.#rows.afterLoss());
  }

  open(name: string): Promise<SyncFile> {
    return this.#directory.open(name);
  }

  names(): Promise<string[]> {
    return this.#directory.names();
  }

  remove(name: string): Promise<void> {
    return this.#directory.remove(name);
  }
}
