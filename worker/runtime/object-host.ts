// All objects of one worker: finds or makes the instance of an address, and delivers events to it.
//
// Invariant: an object has at most one live instance, and a new one opens its files only after the
// old one has let go of them. Idle instances are evicted: memory is lost, storage is kept.

import { addressKey, type ObjectAddress } from '../../src/contract/object-id.ts';
import { openForeign } from '../move/foreign-database.ts';
import { AlarmInvocationInfo } from './alarm-info.ts';
import { type AlarmRun, AlarmScheduler } from './alarm-scheduler.ts';
import type { HostEnvironment } from './environment.ts';
import { ClassRegistry } from './object-class.ts';
import { type Hosted, ObjectInstance, type Surroundings } from './object-instance.ts';
import { replaceDatabase } from './replace-database.ts';

/** How long an instance without events stays in memory (workerd: 10 s). */
const IDLE_MS = 10_000;

/** What is known of an object that was used: its instance, or what must end before the next. */
type Slot =
  | { readonly kind: 'opening'; readonly instance: Promise<ObjectInstance> }
  | { readonly kind: 'live'; readonly instance: ObjectInstance; cancelEviction: () => void }
  | { readonly kind: 'closing'; readonly released: Promise<void> };

/** Makes what an instance of a class is given beside its storage. */
export type Surround = (host: ObjectHost, instance: ObjectInstance) => Surroundings;

export class ObjectHost {
  readonly classes: ClassRegistry;
  readonly #environment: HostEnvironment;
  readonly #surround: Surround;
  readonly #slots = new Map<string, Slot>();
  /** Addresses of the alarms that are scheduled. */
  readonly #addresses = new Map<string, ObjectAddress>();
  readonly #alarms: AlarmScheduler;
  #current: ObjectInstance | undefined;

  constructor(
    environment: HostEnvironment,
    classes = new ClassRegistry(),
    surround: Surround = () => ({ env: {}, exports: {} }),
  ) {
    this.#environment = environment;
    this.classes = classes;
    this.#surround = surround;
    const { now, after, randomUint32 } = environment;
    this.#alarms = new AlarmScheduler(
      { now, after, random: () => randomUint32() / 2 ** 32 },
      {
        run: (key, run) => this.#runAlarm(key, run),
        giveUp: (key) => this.#giveUpAlarm(key),
      },
    );
  }

  /** The instance whose task is running; none outside of the tasks that come through a gate. */
  get current(): ObjectInstance | undefined {
    return this.#current;
  }

  /**
   * Delivers one event to the object, making or restarting it. The promise settles behind the
   * output gate; when the object was reset it rejects with the reason.
   *
   * @throws UNKNOWN_CLASS, and what opening the files and the constructor throw
   */
  async deliver<T>(
    address: ObjectAddress,
    event: (instance: ObjectInstance) => T | PromiseLike<T>,
  ): Promise<T> {
    const instance = await this.instance(address);
    return await instance.deliver(() => event(instance));
  }

  /** The live instance of an address. @throws what opening its files throws */
  async instance(address: ObjectAddress): Promise<ObjectInstance> {
    const key = addressKey(address);
    for (;;) {
      const slot = this.#slots.get(key);
      if (slot === undefined) return this.#open(key, address);
      if (slot.kind === 'live') {
        slot.cancelEviction();
        slot.cancelEviction = NOTHING;
        return slot.instance;
      }
      if (slot.kind === 'opening') return slot.instance;
      await slot.released;
    }
  }

  /** Resets the object, if it is live: unconfirmed writes are gone, unanswered events reject. */
  async reset(address: ObjectAddress, reason: unknown): Promise<void> {
    const key = addressKey(address);
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    if (slot.kind !== 'closing') (await slot.instance).reset(reason);
    const closing = this.#slots.get(key);
    if (closing?.kind === 'closing') await closing.released;
  }

  /** Removes the object and its files. */
  async erase(address: ObjectAddress): Promise<void> {
    const key = addressKey(address);
    await this.#close(key);
    this.#alarms.forget(key);
    this.#addresses.delete(key);
    await this.#environment.removeDirectory(key);
  }

  /** The object's database as it is committed, as a plain SQLite file. */
  exportDatabase(address: ObjectAddress): Promise<Uint8Array<ArrayBuffer>> {
    return this.deliver(address, ({ storage }) => storage.databaseBytes());
  }

  /**
   * Puts a SQLite file, with its WAL if it has one, in the place of the object's database, as one
   * commit; then the object starts anew. Resolves, when that is on disk, to the bookmark that undoes
   * it.
   *
   * @throws IMPORT_INVALID: nothing was touched; DISK_FULL, IO: nothing has changed
   */
  async importDatabase(
    address: ObjectAddress,
    file: Uint8Array,
    wal: Uint8Array | null = null,
  ): Promise<string> {
    const opened = openForeign(file, wal, (apart) =>
      this.#environment.openDatabase({ file: apart }, UNHEARD),
    );
    try {
      return await replaceDatabase(await this.instance(address), opened.database);
    } finally {
      opened.close();
    }
  }

  /** Closes every instance after its last write is on disk. */
  async close(): Promise<void> {
    await Promise.all([...this.#slots.keys()].map((key) => this.#close(key)));
  }

  /** The instance has nothing to do; it is evicted unless an event comes. */
  rest(address: ObjectAddress): void {
    const key = addressKey(address);
    const slot = this.#slots.get(key);
    if (slot?.kind !== 'live') return;
    slot.cancelEviction();
    slot.cancelEviction = this.#environment.after(IDLE_MS, () => {
      if (slot.instance.isIdle) void this.#close(key);
    });
  }

  #open(key: string, address: ObjectAddress): Promise<ObjectInstance> {
    const instance = this.#make(key, address);
    const slot: Slot = { kind: 'opening', instance };
    this.#slots.set(key, slot);
    instance.then(
      (live) => {
        if (this.#slots.get(key) !== slot) return; // its constructor has failed
        this.#slots.set(key, { kind: 'live', instance: live, cancelEviction: NOTHING });
        const { storedAlarm } = live.storage;
        if (storedAlarm !== null && this.#hasAlarm(address)) {
          this.#addresses.set(key, address);
          this.#alarms.found(key, storedAlarm);
        }
        this.rest(address);
      },
      () => this.#slots.delete(key),
    );
    return instance;
  }

  async #make(key: string, address: ObjectAddress): Promise<ObjectInstance> {
    const { className } = address;
    const hosted = className === null ? null : this.#hosted(className);
    return ObjectInstance.open(address, hosted, this.#environment, {
      onTask: (instance) => this.#enter(instance),
      onReset: (_instance, released) => this.#release(key, released),
      onIdle: () => this.rest(address),
      onAlarm: (timeMs) => {
        if (!this.#hasAlarm(address)) return;
        this.#addresses.set(key, address);
        this.#alarms.set(key, timeMs);
      },
    });
  }

  #hosted(className: string): Hosted {
    return {
      class: this.classes.get(className),
      surround: (instance) => this.#surround(this, instance),
    };
  }

  #hasAlarm({ className }: ObjectAddress): boolean {
    return className !== null && this.classes.get(className).hasAlarm;
  }

  // A task ends with its microtasks, so by the next turn of the event loop.
  #enter(instance: ObjectInstance): void {
    if (this.#current === undefined) {
      this.#environment.nextTurn(() => {
        this.#current = undefined;
      });
    }
    this.#current = instance;
  }

  async #runAlarm(key: string, run: AlarmRun): Promise<void> {
    const address = this.#addresses.get(key);
    if (address === undefined) return;
    const instance = await this.instance(address);
    await instance.alarm(() => instance.object?.alarm?.(new AlarmInvocationInfo(run)));
  }

  async #giveUpAlarm(key: string): Promise<void> {
    const address = this.#addresses.get(key);
    if (address === undefined) return;
    await this.deliver(address, ({ state }) => state.storage.deleteAlarm());
  }

  async #close(key: string): Promise<void> {
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    if (slot.kind === 'closing') return slot.released;
    const instance = await slot.instance;
    const live = this.#slots.get(key);
    if (live?.kind === 'live' && live.instance === instance) {
      live.cancelEviction();
      this.#release(key, instance.close());
    }
    const closing = this.#slots.get(key);
    if (closing?.kind === 'closing') await closing.released;
  }

  #release(key: string, released: Promise<void>): void {
    const done = () => {
      if (this.#slots.get(key) === slot) this.#slots.delete(key);
    };
    const slot: Slot = { kind: 'closing', released: released.then(done, done) };
    this.#slots.set(key, slot);
  }
}

const NOTHING = () => {};

/** Events of a database that nobody listens to. */
const UNHEARD = { beforeWrite() {}, onCritical() {} };
