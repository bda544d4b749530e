// A disk that behaves as badly as the contract of files allows: it loses power, fails and fills up.
//
// When power fails, each byte that was written and not flushed is old or new, in any order of the writes. Truncations
// may be lost. A file that was never flushed may be missing, and a removed file may exist again. Any call can fail
// after part of its effect; a flush that fails may have dropped its writes, and later successful flushes do not store
// them. A truncated file keeps its space until it is closed. A file has one holder. Using a file after its close, and a
// full disk whose space an emptied file keeps, are recorded as violations, which fail the simulation even if the error
// is caught.

import { storageError } from '@ctx-storage/core/errors';
import {
  closedError,
  type FileDirectory,
  removeOpenError,
  type SyncFile,
} from '@ctx-storage/worker/engine';
import { DiskFile, type Fate } from './disk-file.ts';
import type { Random } from './random.ts';
import { turnOfEventLoop } from './settle.ts';

export interface DiskOptions {
  /** When all flushes end: inside the call, or in a later turn. */
  readonly flush: 'now' | 'late';
  /** The power supply that it shares with other disks. @default its own */
  readonly power?: Power;
  /** Waits for a turn of the event loop, for late calls. @default the platform's */
  readonly turn?: () => Promise<void>;
}

/** The power supply: it fails during a call, after this many others; below zero, it is off. */
export interface Power {
  callsLeft: number;
}

/** The members that a simulation needs of every disk. */
export type SimulatedDisk = FileDirectory &
  Pick<
    CrashDisk,
    | 'isOff'
    | 'failedCalls'
    | 'violations'
    | 'capacityBytes'
    | 'mayBeFull'
    | 'powerOff'
    | 'powerOffAfter'
    | 'failAfter'
    | 'heal'
    | 'usedBytes'
  > & { afterLoss(): SimulatedDisk };

/** A fault that will be injected. */
interface Fault {
  readonly code: 'IO' | 'DISK_FULL';
  /** The number of calls before the first that fails. */
  callsLeft: number;
  /** The number of calls that then fail. */
  times: number;
}

/** The space of an open file: its largest size since it was opened. */
interface Space {
  bytes: number;
  /** True if the file was emptied on purpose, and nothing was written since. */
  isEmptied: boolean;
}

type Call = 'open' | 'names' | 'remove' | 'read' | 'write' | 'truncate' | 'size' | 'flush';

const NEEDS_ROOM: ReadonlySet<Call> = new Set(['open', 'write', 'truncate', 'flush']);

/** The largest number of turns of the event loop that a late call takes. */
const LATE_TURNS_MAX = 3;

export class CrashDisk implements FileDirectory {
  readonly #random: Random;
  readonly #options: DiskOptions;
  /** The directory as programs see it. `#stored` is the directory that a power failure leaves. */
  readonly #visible = new Map<string, DiskFile>();
  readonly #stored = new Map<string, DiskFile>();
  readonly #held = new Map<string, Space>();
  readonly #power: Power;
  #fault: Fault | null = null;
  #order = 0;
  /** The limit for the size of all files together. */
  capacityBytes = Number.POSITIVE_INFINITY;
  /** Forbidden uses that have happened. */
  readonly violations: string[] = [];
  /** The number of calls that failed by an injected fault or a full disk. */
  failedCalls = 0;

  constructor(random: Random, options: DiskOptions = { flush: 'now' }) {
    this.#random = random;
    this.#options = options;
    this.#power = options.power ?? { callsLeft: Number.POSITIVE_INFINITY };
  }

  get isOff(): boolean {
    return this.#power.callsLeft < 0;
  }

  /** Whether a write may fail with a full disk: the capacity is limited, or such a fault will be injected. */
  get mayBeFull(): boolean {
    return this.capacityBytes !== Number.POSITIVE_INFINITY || this.#fault?.code === 'DISK_FULL';
  }

  /** Loses power during the call that follows `calls` others. If power is already off, it stays off. */
  powerOffAfter(calls: number): void {
    if (!this.isOff) this.#power.callsLeft = calls;
  }

  powerOff(): void {
    this.#power.callsLeft = -1;
  }

  /** Makes `times` calls fail, after `calls` others. */
  failAfter(calls: number, code: Fault['code'], times = 1): void {
    this.#fault = { code, callsLeft: calls, times };
  }

  /** Ends all faults: from now on nothing fails, power stays on, and there is space. */
  heal(): void {
    this.#fault = null;
    this.#power.callsLeft = Number.POSITIVE_INFINITY;
    this.capacityBytes = Number.POSITIVE_INFINITY;
  }

  usedBytes(): number {
    let used = 0;
    for (const [name, file] of this.#visible) {
      used += Math.max(file.sizeBytes, this.#held.get(name)?.bytes ?? 0);
    }
    return used;
  }

  /** Returns the files that are not empty, so that one can be damaged. */
  contents(): Map<string, DiskFile> {
    return new Map([...this.#visible].filter(([, file]) => file.sizeBytes > 0));
  }

  /** Damages the disk by losing a file. */
  lose(name: string): void {
    this.#visible.delete(name);
    this.#stored.delete(name);
  }

  /** Returns the disk as it may be when power is back. Each call returns another one of the many possibilities. */
  afterLoss(options = this.#optionsWithOwnPower()): CrashDisk {
    const next = new CrashDisk(this.#random, options);
    const names = this.#survivingNames();
    const fateOf = this.#fates(names);
    for (const [name, file] of names) {
      const survivor = file.survivor(fateOf(name), this.#random);
      next.#visible.set(name, survivor);
      next.#stored.set(name, survivor);
    }
    return next;
  }

  async open(name: string): Promise<SyncFile> {
    await this.#sometimesLater();
    this.#call('open');
    if (this.#held.has(name)) throw storageError('STORAGE_LOCKED', `open("${name}"): held.`);
    let file = this.#visible.get(name);
    if (file === undefined) {
      file = new DiskFile();
      this.#visible.set(name, file);
    }
    const space = { bytes: file.sizeBytes, isEmptied: false };
    this.#held.set(name, space);
    return this.#handle(name, file, space);
  }

  async names(): Promise<string[]> {
    await this.#sometimesLater();
    this.#call('names');
    return [...this.#visible.keys()];
  }

  async remove(name: string): Promise<void> {
    await this.#sometimesLater();
    if (this.#held.has(name)) {
      this.violations.push(`remove("${name}") while it is open`);
      throw removeOpenError(name);
    }
    this.#call('remove', () => void (this.#random.onceIn(2) && this.#visible.delete(name)));
    this.#visible.delete(name);
  }

  #handle(name: string, file: DiskFile, space: Space): SyncFile {
    let isClosed = false;
    const use = (call: Call, partly?: () => void) => {
      if (isClosed && !this.isOff) {
        this.violations.push(`${call} of "${name}" after it was closed`);
      }
      if (isClosed) throw closedError(call, name);
      this.#call(call, partly);
    };
    const grow = (sizeBytes: number) => {
      space.isEmptied = false;
      const shortBytes = this.usedBytes() + sizeBytes - space.bytes - this.capacityBytes;
      if (sizeBytes > space.bytes && shortBytes > 0) throw this.#full(shortBytes);
      space.bytes = Math.max(space.bytes, sizeBytes);
    };
    return {
      read: (target, offset) => {
        use('read');
        return file.read(target, offset);
      },
      write: (bytes, offset) => {
        const arrive = (count: number) =>
          file.write(bytes.subarray(0, count), offset, this.#order++);
        if (!isClosed) grow(offset + bytes.length);
        use('write', () => arrive(this.#random.below(bytes.length + 1)));
        arrive(bytes.length);
      },
      truncate: (sizeBytes) => {
        const arrive = () => file.truncate(sizeBytes, this.#order++);
        if (!isClosed) grow(sizeBytes);
        use('truncate', () => void (this.#random.onceIn(2) && arrive()));
        arrive();
        space.isEmptied = sizeBytes === 0;
      },
      sizeBytes: () => {
        use('size');
        return file.sizeBytes;
      },
      flush: () => this.#flush(name, file, use),
      close: () => {
        if (isClosed) return;
        isClosed = true;
        this.#held.delete(name);
      },
    };
  }

  #full(shortBytes: number): Error {
    let keptBytes = 0;
    for (const [name, { bytes, isEmptied }] of this.#held) {
      if (isEmptied && name !== 'main') keptBytes += bytes; // the main file is never closed
    }
    if (keptBytes >= shortBytes) {
      this.violations.push(`the disk is full, and emptied files keep ${keptBytes} bytes of it`);
    }
    this.failedCalls++;
    return storageError('DISK_FULL', 'The disk is full.');
  }

  #flush(
    name: string,
    file: DiskFile,
    use: (call: Call, partly: () => void) => void,
  ): void | Promise<void> {
    const covered = file.covered();
    const end = () => {
      file.flushed(covered);
      if (this.#visible.get(name) === file) this.#stored.set(name, file);
    };
    // A flush that fails, or that a power failure interrupts, may have stored or dropped the writes it covers.
    use('flush', () => {
      const outcome = this.#random.below(3);
      if (outcome === 0) end();
      if (outcome === 1) file.dropped(covered);
    });
    if (this.#options.flush === 'now') {
      end();
      return;
    }
    return this.#later().then(() => {
      if (this.isOff) throw powerIsOff();
      end();
    });
  }

  /** Counts a call, which may fail or lose power; `partly` then does part of its effect. */
  #call(call: Call, partly: () => void = () => {}): void {
    if (this.isOff) throw powerIsOff();
    const isReading = call === 'read' || call === 'size' || call === 'names';
    if (!isReading && --this.#power.callsLeft < 0) {
      partly();
      throw powerIsOff();
    }
    const fault = this.#fault;
    if (fault === null) return;
    if (fault.code === 'DISK_FULL' && !NEEDS_ROOM.has(call)) return;
    if (--fault.callsLeft >= 0) return;
    if (--fault.times <= 0) this.#fault = null;
    this.failedCalls++;
    partly();
    throw storageError(fault.code, `${call}: an injected fault.`);
  }

  /** Returns the options of a new disk with a power supply of its own. */
  #optionsWithOwnPower(): DiskOptions {
    const { flush, turn } = this.#options;
    return { flush, ...(turn && { turn }) };
  }

  #survivingNames(): Map<string, DiskFile> {
    const fate = this.#random.pick(['made', 'undone', 'each', 'each'] as const);
    const names = new Map<string, DiskFile>();
    for (const name of new Set([...this.#stored.keys(), ...this.#visible.keys()])) {
      const isMade = fate === 'made' || (fate === 'each' && this.#random.onceIn(2));
      const file = (isMade ? this.#visible : this.#stored).get(name);
      if (file !== undefined) names.set(name, file);
    }
    return names;
  }

  #fates(files: ReadonlyMap<string, DiskFile>): (name: string) => Fate {
    const random = this.#random;
    const one = random.pick([...files.keys(), '']);
    switch (random.below(8)) {
      case 0:
        return () => ({ kind: 'all' });
      case 1:
        return () => ({ kind: 'none' });
      case 2:
        return (name) => ({ kind: name === one ? 'none' : 'all' });
      case 3:
        return (name) => ({ kind: name === one ? 'all' : 'none' });
      case 4: {
        const orders = [...files.values()].flatMap((file) => file.unflushed);
        const order = random.pick([...orders, 0]);
        return () => ({ kind: 'until', order });
      }
      default:
        return () => ({ kind: random.pick(['all', 'none', 'pieces', 'pieces', 'shuffled']) });
    }
  }

  async #sometimesLater(): Promise<void> {
    if (this.#options.flush !== 'now' && this.#random.onceIn(4)) await this.#later();
  }

  async #later(): Promise<void> {
    for (let ticks = this.#random.below(20); ticks > 0; ticks--) await undefined;
    if (!this.#random.onceIn(3)) return;
    for (let turns = this.#random.below(LATE_TURNS_MAX); turns >= 0; turns--)
      await (this.#options.turn ?? turnOfEventLoop)();
  }
}

function powerIsOff() {
  return storageError('IO', 'The power is off.');
}
