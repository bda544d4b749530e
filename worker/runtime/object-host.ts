// All objects of one worker: finds or makes the instance of an address, and delivers events to it.
//
// Invariant: an object has at most one live instance, and a new one opens its files only after the
// old one has let go of them. Idle instances are evicted: memory is lost, storage is kept.

import { addressKey, type ObjectAddress } from '../../src/contract/object-id.ts';
import { openForeign } from '../move/foreign-database.ts';
import type { HostEnvironment } from './environment.ts';
import { ObjectAlarms } from './object-alarms.ts';
import { ClassRegistry } from './object-class.ts';
import {
  type Hosted,
  type InstanceEvents,
  ObjectInstance,
  type Surroundings,
} from './object-instance.ts';
import { ObjectSockets } from './object-sockets.ts';
import { replaceDatabase } from './replace-database.ts';
import { type TaskContext, TurnContext } from './task-context.ts';

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
  /** Sockets that outlive their object's instance. */
  readonly #sockets = new Map<string, ObjectSockets>();
  readonly alarms: ObjectAlarms;
  readonly #context: TaskContext;

  constructor(
    environment: HostEnvironment,
    classes = new ClassRegistry(),
    surround: Surround = () => ({ env: {}, exports: {} }),
  ) {
    const { nextTurn, beforeNextTurn = nextTurn } = environment;
    const { context = new TurnContext(beforeNextTurn) } = environment;
    this.#context = context;
    this.#environment = {
      ...environment,
      beforeNextTurn,
      nextTurn: (task) =>
        nextTurn(() => {
          context.leave();
          task();
        }),
    };
    this.classes = classes;
    this.#surround = surround;
    this.alarms = new ObjectAlarms(this.#environment, (address) => this.instance(address));
  }

  /**
   * Finds the alarms that objects have, from the catalog. A catalog that was lost is made anew: then
   * every object is looked at once.
   */
  async start(): Promise<void> {
    const { catalog } = this.#environment;
    if (await catalog.isEmpty()) await this.#rebuild();
    for (const entry of await catalog.wakes()) {
      if (this.#hasAlarm(entry)) this.alarms.listed(entry);
    }
  }

  /** The instance whose task is running; none outside of the tasks that come through a gate. */
  get current(): ObjectInstance | undefined {
    return this.#context.current;
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
    this.alarms.forget(key);
    this.#sockets.get(key)?.reset();
    this.#sockets.delete(key);
    await this.#environment.medium.remove(key);
    await this.#environment.catalog.remove(key);
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
    const { after, idleMs = IDLE_MS } = this.#environment;
    slot.cancelEviction = after(idleMs, () => {
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
        if (this.#hasAlarm(address)) this.alarms.opened(live);
        this.rest(address);
      },
      () => this.#slots.delete(key),
    );
    return instance;
  }

  async #make(key: string, address: ObjectAddress): Promise<ObjectInstance> {
    const { className } = address;
    const hosted = className === null ? null : this.#hosted(key, className, address);
    const events: InstanceEvents = {
      runTask: (instance, task) => this.#context.run(instance, task),
      onReset: (_instance, released) => {
        this.#release(key, released);
        this.alarms.reset(key);
      },
      onIdle: () => this.rest(address),
      onAlarm: (instance, timeMs) => {
        if (this.#hasAlarm(address)) this.alarms.committed(instance, timeMs);
      },
    };
    return ObjectInstance.open(address, hosted, this.#environment, events, this.#admit(address));
  }

  /** Notes an object of a class in the catalog, before its alarm can change. */
  async #admit(address: ObjectAddress): Promise<void> {
    const { className, id } = address;
    if (className === null) return;
    await this.#environment.catalog.add({
      key: addressKey(address),
      className,
      id: id.toString(),
      ...(id.name !== undefined && { name: id.name }),
      wakeMs: this.#hasAlarm(address) ? 0 : null,
    });
  }

  #hosted(key: string, className: string, address: ObjectAddress): Hosted {
    const known = this.#sockets.get(key);
    const sockets = known ?? new ObjectSockets((event) => this.deliver(address, event));
    this.#sockets.set(key, sockets);
    return {
      class: this.classes.get(className),
      sockets,
      surround: (instance) => this.#surround(this, instance),
    };
  }

  #hasAlarm({ className }: { readonly className: string | null }): boolean {
    return className !== null && this.classes.find(className)?.hasAlarm === true;
  }

  async #rebuild(): Promise<void> {
    for (const key of await this.#environment.medium.keys()) {
      const [className, id] = key.split('.');
      if (className === undefined || id === undefined || !this.#hasAlarm({ className })) continue;
      await this.#environment.catalog.add({ key, className, id, wakeMs: 0 });
    }
  }

  async #close(key: string): Promise<void> {
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    if (slot.kind === 'closing') return slot.released;
    const instance = await slot.instance;
    const live = this.#slots.get(key);
    if (live?.kind === 'live' && live.instance === instance) {
      live.cancelEviction();
      this.#release(key, this.#end(key, instance));
    }
    const closing = this.#slots.get(key);
    if (closing?.kind === 'closing') await closing.released;
  }

  async #end(key: string, instance: ObjectInstance): Promise<void> {
    const { storage, address } = instance;
    const wakeMs = this.#hasAlarm(address) ? storage.storedAlarm : null;
    await instance.close();
    if (address.className === null) return;
    if (this.#sockets.get(key)?.isEmpty) this.#sockets.delete(key);
    const { catalog, medium } = this.#environment;
    if (storage.isUnwritten) {
      // It was only asked: an object exists from its first write on.
      await medium.remove(key);
      await catalog.remove(key);
    } else await catalog.rest(key, wakeMs);
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
