// Finds, runs and abandons the alarms of a host's objects.
//
// The time of an alarm is stored in each object's own database. Invariant: a time known here is never later than the
// stored time. It comes from the catalog when the host starts, and from the object whenever that is opened, and while
// it is live. An object that ends with a pending restore is opened again, to read the alarm of the restored state.
// No assertion keeps this: the stored times are in files that are closed; the simulation of alarms compares both.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import {
  addressKey,
  DurableObjectId,
  type ObjectAddress,
} from '../../../src/shared/contract/object-id.ts';
import { type AlarmOutcome, AlarmScheduler } from '../alarms/alarm-scheduler.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { HostEnvironment } from '../instance/environment.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';

/** Codes of errors with which a run fails through no fault of its handler. */
const DISK_FAULTS: ReadonlySet<string> = new Set(['IO', 'DISK_FULL', 'MEMORY_FULL', 'CORRUPT']);

/** An alarm whose handler ran, to its end or to a failure. */
export interface FinishedAlarm {
  readonly address: ObjectAddress;
  /** The time at which the alarm was due, in milliseconds; a retry has the time of the first run. */
  readonly dueMs: number;
}

/** How a run ended: after its handler ran, or (`unreached`) before the handler ran. */
export type AlarmEnd =
  | { readonly kind: 'ran'; readonly alarm: FinishedAlarm }
  | { readonly kind: 'unreached'; readonly error: unknown };

export class ObjectAlarms {
  readonly #scheduler: AlarmScheduler;
  readonly #now: () => number;
  readonly #instanceOf: (address: ObjectAddress) => Promise<ObjectInstance>;
  readonly #addresses = new Map<string, ObjectAddress>();
  /** For each object whose last change of the alarm is not durable yet, a promise that settles when it is. */
  readonly #unconfirmed = new Map<string, Promise<void>>();
  readonly #listeners = new Set<(end: AlarmEnd) => void>();

  constructor(
    { now, at, after, randomUint32 }: HostEnvironment,
    instanceOf: (address: ObjectAddress) => Promise<ObjectInstance>,
  ) {
    this.#instanceOf = instanceOf;
    this.#now = now;
    this.#scheduler = new AlarmScheduler(
      { now, at, after, random: () => randomUint32() / 2 ** 32 },
      {
        run: (key, retryCount) => this.#run(key, retryCount),
        giveUp: (key) => this.#giveUp(key),
      },
    );
  }

  /** Called with the entry of an object that the catalog lists. */
  listed({ key, className, id, name, wakeMs }: CatalogEntry): void {
    if (wakeMs === null) return;
    this.#addresses.set(key, { className, id: new DurableObjectId(id, name) });
    this.#scheduler.found(key, wakeMs);
  }

  /** Called when the object was opened: its stored alarm replaces the known one. */
  opened(instance: ObjectInstance): void {
    const { address, alarmMs } = instance;
    // The constructor may have set the alarm, and that write may still be undone.
    if (!this.#scheduler.stored(addressKey(address), alarmMs)) return;
    this.#untilDurable(this.#know(address), instance);
  }

  /** Called when the object has committed another time of its alarm, or (null) its deletion. */
  committed(instance: ObjectInstance, timeMs: number | null): void {
    const key = this.#know(instance.address);
    this.#scheduler.set(key, timeMs);
    this.#untilDurable(key, instance);
  }

  /** Called when the instance was reset: unconfirmed writes are lost, and with them perhaps a change of the alarm. */
  reset(instance: ObjectInstance): void {
    const isUndone = this.#unconfirmed.delete(addressKey(instance.address));
    if (isUndone || instance.restoresAlarm) this.#scheduler.doubt(this.#know(instance.address));
  }

  /** Called when the instance was closed in order. */
  closed(instance: ObjectInstance): void {
    if (instance.restoresAlarm) this.#scheduler.doubt(this.#know(instance.address));
  }

  /** Called when the object was deleted. */
  forget(key: string): void {
    this.#scheduler.forget(key);
    this.#addresses.delete(key);
    this.#unconfirmed.delete(key);
  }

  /** Called when the host was closed: no alarm runs any more. Stored alarms stay for the next host. */
  close(): void {
    this.#scheduler.close();
  }

  /** True when an alarm waits for its time, or an object waits to be opened, so that its alarm becomes known. */
  get hasNext(): boolean {
    return this.#scheduler.isWaiting;
  }

  /** Calls the listener for every run that ends, until the result is called. */
  subscribe(listener: (end: AlarmEnd) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Returns one promise per running handler; it resolves when the run ends. */
  running(): Promise<void>[] {
    return this.#scheduler.running();
  }

  #know(address: ObjectAddress): string {
    const key = addressKey(address);
    this.#addresses.set(key, address);
    return key;
  }

  /** Remembers the object until its writes so far are durable, because a reset until then may undo the known alarm. */
  #untilDurable(key: string, { storage }: ObjectInstance): void {
    const confirmed = storage.durability() ?? Promise.resolve();
    this.#unconfirmed.set(key, confirmed);
    confirmed.then(
      () => {
        // A later change may still wait for its flush, which may fail.
        if (this.#unconfirmed.get(key) === confirmed) this.#unconfirmed.delete(key);
      },
      () => {}, // The entry stays, because the reset that follows needs it.
    );
  }

  async #run(key: string, retryCount: () => number): Promise<AlarmOutcome> {
    let instance: ObjectInstance;
    try {
      do instance = await this.#instanceOf(this.#addresses.get(key)!);
      while (instance.context.wasClosed);
    } catch (error) {
      this.#tell({ kind: 'unreached', error }); // The files of the object could not be opened.
      return 'unreached';
    }
    // If the object has no alarm, or its time has not come, no handler runs.
    const dueMs = instance.alarmMs ?? Number.POSITIVE_INFINITY;
    const ran = () => {
      if (dueMs > this.#now()) return;
      this.#tell({ kind: 'ran', alarm: { address: instance.address, dueMs } });
    };
    try {
      const laterMs = await instance.alarm(retryCount());
      if (laterMs !== null) this.#scheduler.set(key, laterMs);
      ran();
      return 'succeeded';
    } catch (error) {
      ran();
      if (instance.dropsAlarm) return 'dropped';
      return isStorageError(error) && DISK_FAULTS.has(error.code) ? 'unreached' : 'failed';
    }
  }

  #tell(end: AlarmEnd): void {
    for (const listener of this.#listeners) listener(end);
  }

  async #giveUp(key: string): Promise<void> {
    const instance = await this.#instanceOf(this.#addresses.get(key)!).catch(() => undefined);
    // If the deletion fails, the alarm is found again when the object is opened.
    await instance?.deliver(({ storage }) => storage.deleteAlarm()).catch(() => {});
  }
}
