// The files of all objects of a simulated host, with one disk for each object. Power fails for all at once.

import type { ObjectMedium } from '@ctx-storage/worker/engine';
import { CrashDisk, type DiskOptions, type Power } from './crash-disk.ts';
import type { DiskFile } from './disk-file.ts';
import type { Random } from './random.ts';

export class CrashMedium implements ObjectMedium {
  readonly #random: Random;
  readonly #power: Power = { callsLeft: Number.POSITIVE_INFINITY };
  readonly #options: DiskOptions;
  readonly #disks = new Map<string, CrashDisk>();
  /** The failed calls on disks that were removed since. */
  #failedCalls = 0;

  constructor(random: Random, options: DiskOptions) {
    this.#random = random;
    this.#options = { ...options, power: this.#power };
  }

  /** The disks of all objects. */
  get disks(): CrashDisk[] {
    return [...this.#disks.values()];
  }

  /** The number of calls that failed by an injected fault or a full disk. */
  get failedCalls(): number {
    return this.disks.reduce((sum, disk) => sum + disk.failedCalls, this.#failedCalls);
  }

  get isOff(): boolean {
    return this.#power.callsLeft < 0;
  }

  async directory(key: string): Promise<CrashDisk> {
    const disk = this.#disks.get(key) ?? new CrashDisk(this.#random, this.#options);
    this.#disks.set(key, disk);
    return disk;
  }

  async remove(key: string): Promise<void> {
    if (this.isOff) return;
    this.#failedCalls += this.#disks.get(key)?.failedCalls ?? 0;
    this.#disks.delete(key);
  }

  async keys(): Promise<string[]> {
    return [...this.#disks.keys()];
  }

  async sizes(key: string): Promise<ReadonlyMap<string, number>> {
    const contents = this.#disks.get(key)?.contents() ?? new Map();
    return new Map([...contents].map(([name, { sizeBytes }]) => [name, sizeBytes]));
  }

  /** Returns the bytes of all files, by the keys of their objects. */
  contents(): Map<string, Map<string, Uint8Array>> {
    const bytesOf = (file: DiskFile) => {
      const bytes = new Uint8Array(file.sizeBytes);
      file.read(bytes, 0);
      return bytes;
    };
    return new Map(
      [...this.#disks].map(([key, disk]) => [
        key,
        new Map([...disk.contents()].map(([name, file]) => [name, bytesOf(file)])),
      ]),
    );
  }

  powerOff(): void {
    this.#power.callsLeft = -1;
  }

  /**
   * Loses power during the call that follows `calls` others, on any object's disk. If power is already off, it stays
   * off.
   */
  powerOffAfter(calls: number): void {
    if (!this.isOff) this.#power.callsLeft = calls;
  }

  /** Ends all faults: from now on nothing fails, power stays on, and there is space. */
  heal(): void {
    this.#power.callsLeft = Number.POSITIVE_INFINITY;
    for (const disk of this.#disks.values()) disk.heal();
  }

  /** Returns the files as they may be when power is back. */
  afterLoss(): CrashMedium {
    const next = new CrashMedium(this.#random, this.#options);
    for (const [key, disk] of this.#disks) next.#disks.set(key, disk.afterLoss(next.#options));
    return next;
  }
}
