// The files of all objects of a simulated host: one disk per object. Power fails for all at once.

import type { ObjectMedium } from '../file/medium.ts';
import { CrashDisk, type DiskOptions } from './crash-disk.ts';
import type { Random } from './random.ts';

export class CrashMedium implements ObjectMedium {
  readonly #random: Random;
  readonly #options: DiskOptions;
  readonly #disks = new Map<string, CrashDisk>();
  #isOff = false;

  constructor(random: Random, options: DiskOptions) {
    this.#random = random;
    this.#options = options;
  }

  /** The disks of all objects. */
  get disks(): CrashDisk[] {
    return [...this.#disks.values()];
  }

  async directory(key: string): Promise<CrashDisk> {
    const disk = this.#disks.get(key) ?? new CrashDisk(this.#random, this.#options);
    if (this.#isOff) disk.powerOff();
    this.#disks.set(key, disk);
    return disk;
  }

  async remove(key: string): Promise<void> {
    if (!this.#isOff) this.#disks.delete(key);
  }

  async keys(): Promise<string[]> {
    return [...this.#disks.keys()];
  }

  async sizeBytes(key: string): Promise<number> {
    return this.#disks.get(key)?.usedBytes() ?? 0;
  }

  powerOff(): void {
    this.#isOff = true;
    for (const disk of this.#disks.values()) disk.powerOff();
  }

  /** The files when power is back. */
  afterLoss(): CrashMedium {
    const next = new CrashMedium(this.#random, this.#options);
    for (const [key, disk] of this.#disks) next.#disks.set(key, disk.afterLoss());
    return next;
  }
}
