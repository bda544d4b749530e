// All objects of one worker: finds or makes the instance of an address, and delivers events to it.
//
// Invariant: an object has at most one live instance, and a new one opens its files only after the
// old one has let go of them. What ends an instance (eviction, reset, deletion, the host's end) names
// that instance, never the object: the next one may be live already. A closed host opens nothing.

import { type StorageError, storageError } from '../../src/contract/errors.ts';
import { addressKey, type ObjectAddress } from '../../src/contract/object-id.ts';
import { currentContext, runOutside } from '../../src/io/current-context.ts';
import type { IoHost } from '../../src/io/io-context.ts';
import type { PartyIo } from '../../src/stubs/party.ts';
import { openForeign } from '../import/foreign-database.ts';
import type { HostEnvironment } from '../instance/environment.ts';
import { ClassRegistry } from '../instance/object-class.ts';
import {
  type Hosted,
  type InstanceBindings,
  type InstanceEvents,
  ObjectInstance,
} from '../instance/object-instance.ts';
import { HibernatingSockets } from '../sockets/hibernating-sockets.ts';
import { completeLimits } from '../sql/query-limits.ts';
import { ObjectAlarms } from './object-alarms.ts';
import { outsideIo } from './outside.ts';
import { replaceDatabase } from './replace-database.ts';
import { Resets } from './resets.ts';

/** What is known of an object that was used: its instance, or what must end before the next. */
type Slot =
  | { readonly kind: 'opening'; readonly instance: Promise<ObjectInstance> }
  | { readonly kind: 'live'; readonly instance: ObjectInstance }
  | { readonly kind: 'closing'; readonly released: Promise<void> };

/** Makes what an instance of a class is given beside its storage. */
export type MakeBindings = (host: ObjectHost, instance: ObjectInstance) => InstanceBindings;

export class ObjectHost {
  readonly classes: ClassRegistry;
  readonly #environment: HostEnvironment;
  readonly #makeBindings: MakeBindings;
  readonly #slots = new Map<string, Slot>();
  /** Sockets that outlive their object's instance. */
  readonly #sockets = new Map<string, HibernatingSockets>();
  readonly alarms: ObjectAlarms;
  readonly resets = new Resets();
  /** What its objects share. */
  readonly io: IoHost;
  /** How code that belongs to none of them calls them. */
  readonly outside: PartyIo;
  #closed: StorageError | undefined;

  constructor(
    environment: HostEnvironment,
    classes = new ClassRegistry(),
    makeBindings: MakeBindings = () => ({ env: {}, exports: {} }),
  ) {
    const { nextTurn, beforeNextTurn = nextTurn } = environment;
    this.#environment = {
      ...environment,
      beforeNextTurn,
      nextTurn: (task) => nextTurn(() => runOutside(task)),
    };
    this.outside = outsideIo(this.#environment);
    this.io = {
      now: environment.now,
      get isTimeControlled() {
        return environment.isTimeControlled?.() ?? false;
      },
      after: environment.after,
      beforeNextTurn,
      sendsStreams: environment.sendsStreams ?? false,
    };
    this.classes = classes;
    this.#makeBindings = makeBindings;
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
      if (this.classes.find(entry.className) !== undefined) this.alarms.listed(entry);
    }
  }

  /** The instance whose task is running; none outside of the tasks that come through a gate. */
  get current(): ObjectInstance | undefined {
    const context = currentContext();
    return context instanceof ObjectInstance && context.host === this.io ? context : undefined;
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

  /**
   * The live instance of an address. It may be evicted from the next turn on, unless it is used.
   *
   * @throws what opening its files throws; CONNECTION_CLOSED after `close`
   */
  async instance(address: ObjectAddress): Promise<ObjectInstance> {
    const key = addressKey(address);
    for (;;) {
      if (this.#closed !== undefined) throw this.#closed;
      const slot = this.#slots.get(key);
      if (slot === undefined) return this.#open(key, address);
      if (slot.kind !== 'closing') return slot.instance;
      await slot.released;
    }
  }

  /** Resets the object, if it is live: unconfirmed writes are gone, unanswered events reject. */
  async reset(address: ObjectAddress, reason: unknown): Promise<void> {
    const key = addressKey(address);
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    if (slot.kind !== 'closing') (await opened(slot))?.reset(reason, 'outside');
    const closing = this.#slots.get(key);
    if (closing?.kind === 'closing') await closing.released;
  }

  /** Removes the object and its files; its unanswered events reject. */
  async erase(address: ObjectAddress): Promise<void> {
    const key = addressKey(address);
    const reason = storageError('OBJECT_RESET', 'The object was deleted.');
    while (this.#slots.has(key)) await this.reset(address, reason);
    this.alarms.forget(key);
    this.#sockets.get(key)?.reset();
    this.#sockets.delete(key);
    const removed = this.#remove(key);
    this.#release(key, removed); // the next instance begins after it, with nothing
    await removed;
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
    const { limits = completeLimits() } = this.#environment;
    const opened = openForeign(file, wal, limits, (apart) =>
      this.#environment.openDatabase({ file: apart }, NO_EVENTS),
    );
    try {
      return await replaceDatabase(await this.instance(address), opened);
    } finally {
      opened.close();
    }
  }

  /**
   * Closes every instance after its last write is on disk, and opens none any more. Events that
   * still run reject, sockets break, alarms stay for the next host.
   *
   * @throws what the last flush of an instance throws, when all are closed
   */
  async close(): Promise<void> {
    this.#closed ??= storageError('CONNECTION_CLOSED', 'The host of the objects was closed.');
    this.alarms.close();
    const reason = storageError('OBJECT_RESET', 'The host of the object was closed.');
    const ends = await Promise.allSettled(
      [...this.#slots.keys()].map((key) => this.#close(key, reason)),
    );
    // Those that were reset meanwhile still let go of their files.
    for (const slot of this.#slots.values()) if (slot.kind === 'closing') await slot.released;
    for (const sockets of this.#sockets.values()) sockets.reset();
    this.#sockets.clear();
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  #open(key: string, address: ObjectAddress): Promise<ObjectInstance> {
    const instance = this.#make(key, address);
    const slot: Slot = { kind: 'opening', instance };
    this.#slots.set(key, slot);
    instance.then(
      (live) => {
        if (this.#slots.get(key) !== slot) return; // its constructor has failed
        this.#slots.set(key, { kind: 'live', instance: live });
        this.alarms.opened(live);
      },
      () => this.#slots.delete(key),
    );
    return instance;
  }

  async #make(key: string, address: ObjectAddress): Promise<ObjectInstance> {
    const { className } = address;
    const hosted = className === null ? null : this.#hosted(key, className, address);
    const events: InstanceEvents = {
      onReset: (_instance, released, reason, by) => {
        if (by === 'itself') this.resets.add(key, reason);
        this.#release(key, released);
        this.alarms.reset(key);
      },
      onEvict: (instance) => this.#evict(key, instance),
      onAlarm: (instance, timeMs) => {
        if (instance.handlers.alarm !== undefined) this.alarms.committed(instance, timeMs);
      },
    };
    const admitted = this.#admit(address);
    return ObjectInstance.open(address, hosted, this.#environment, this.io, events, admitted);
  }

  /**
   * Notes an object of a class in the catalog, before its alarm can change. Only its instance tells
   * whether it has a handler for one.
   */
  async #admit(address: ObjectAddress): Promise<void> {
    const { className, id } = address;
    if (className === null) return;
    await this.#environment.catalog.add({
      key: addressKey(address),
      className,
      id: id.toString(),
      ...(id.name !== undefined && { name: id.name }),
      wakeMs: 0,
    });
  }

  #hosted(key: string, className: string, address: ObjectAddress): Hosted {
    const objectClass = this.classes.get(className);
    const known = this.#sockets.get(key);
    const sockets =
      known ??
      new HibernatingSockets((event) => this.deliver(address, event), this.#environment.now);
    this.#sockets.set(key, sockets);
    return {
      class: objectClass,
      sockets,
      makeBindings: (instance) => this.#makeBindings(this, instance),
    };
  }

  async #rebuild(): Promise<void> {
    for (const key of await this.#environment.medium.keys()) {
      const [className, id] = key.split('.');
      if (className === undefined || id === undefined) continue;
      if (this.classes.find(className) === undefined) continue;
      await this.#environment.catalog.add({ key, className, id, wakeMs: 0 });
    }
  }

  #evict(key: string, instance: ObjectInstance): void {
    const reason = storageError('OBJECT_RESET', 'The object was closed while idle.');
    // Nobody waits for a flush that fails now; it has reset the instance, as every other.
    this.#end(key, instance, reason)?.catch(() => {});
  }

  /** Ends what the object has of instances now. @throws what its last flush throws */
  async #close(key: string, reason: StorageError): Promise<void> {
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    if (slot.kind === 'closing') return slot.released;
    const instance = await opened(slot);
    if (instance === undefined) return;
    const ended = this.#end(key, instance, reason);
    if (ended !== undefined) return ended;
    const closing = this.#slots.get(key);
    if (closing?.kind === 'closing') await closing.released;
  }

  /** Ends this instance; undefined when it is not the live one any more. */
  #end(key: string, instance: ObjectInstance, reason: StorageError): Promise<void> | undefined {
    const slot = this.#slots.get(key);
    if (slot?.kind !== 'live' || slot.instance !== instance) return undefined;
    const ended = this.#finish(key, instance, reason);
    this.#release(key, ended);
    return ended;
  }

  async #finish(key: string, instance: ObjectInstance, reason: StorageError): Promise<void> {
    const { storage, address } = instance;
    const wakeMs = instance.alarmMs;
    await instance.close(reason);
    if (address.className === null) return;
    if (this.#sockets.get(key)?.isEmpty) this.#sockets.delete(key);
    if (storage.isUnwritten) {
      // It was only asked: an object exists from its first write on.
      await this.#remove(key);
    } else await this.#environment.catalog.rest(key, wakeMs);
  }

  async #remove(key: string): Promise<void> {
    await this.#environment.medium.remove(key);
    await this.#environment.catalog.remove(key);
  }

  #release(key: string, released: Promise<void>): void {
    const done = () => {
      if (this.#slots.get(key) === slot) this.#slots.delete(key);
    };
    const slot: Slot = { kind: 'closing', released: released.then(done, done) };
    this.#slots.set(key, slot);
  }
}

/** The instance of a slot; undefined when it could not be opened, which its callers are told. */
async function opened(
  slot: Exclude<Slot, { readonly kind: 'closing' }>,
): Promise<ObjectInstance | undefined> {
  try {
    return await slot.instance;
  } catch {
    return undefined;
  }
}

/** For a database whose events nobody needs. */
const NO_EVENTS = { beforeWrite() {}, onCritical() {} };
