// All objects of one worker: delivers events to them, and keeps what outlives their instances: alarms,
// sockets, catalog entries.

import { isStorageError, type StorageError, storageError } from '../../src/contract/errors.ts';
import { addressKey, type ObjectAddress } from '../../src/contract/object-id.ts';
import { currentContext, runOutside } from '../../src/io/current-context.ts';
import type { IoHost } from '../../src/io/io-context.ts';
import type { PartyIo } from '../../src/stubs/party.ts';
import { CountedMedium } from '../file/counted-medium.ts';
import { OpenFiles } from '../file/open-files.ts';
import { SpaceWatch } from '../file/space-watch.ts';
import { openForeign } from '../import/foreign-database.ts';
import type { HostEnvironment } from '../instance/environment.ts';
import type { FacetStartup } from '../instance/facet-startup.ts';
import { type InstanceBindings, NO_BINDINGS } from '../instance/instance-bindings.ts';
import { InstanceContext } from '../instance/instance-context.ts';
import { ClassRegistry } from '../instance/object-class.ts';
import {
  type Construction,
  type InstanceEvents,
  ObjectInstance,
} from '../instance/object-instance.ts';
import { Cancellations } from '../io/cancellation.ts';
import { HibernatingSockets } from '../sockets/hibernating-sockets.ts';
import { completeLimits } from '../sql/query-limits.ts';
import { Crowding } from './crowding.ts';
import { FacetFiles } from './facet-files.ts';
import { HostNotices } from './host-notices.ts';
import { Instances } from './instances.ts';
import { ObjectAlarms } from './object-alarms.ts';
import { outsideIo } from './outside.ts';
import { replaceDatabase } from './replace-database.ts';
import { Resets } from './resets.ts';

/** Makes `env`, `exports`, `facets` and `props` of an instance. */
export type MakeBindings = (instance: ObjectInstance) => InstanceBindings;

export class ObjectHost {
  readonly classes: ClassRegistry;
  readonly alarms: ObjectAlarms;
  readonly resets = new Resets();
  /** The calls under way that can be cancelled. */
  readonly cancellations: Cancellations;
  readonly notices = new HostNotices();
  /** What its objects share. */
  readonly io: IoHost;
  /** How code that belongs to none of them calls them. */
  readonly outside: PartyIo;
  readonly #environment: HostEnvironment;
  readonly #makeBindings: MakeBindings;
  readonly #instances: Instances;
  readonly #facetFiles: FacetFiles;
  readonly #openFiles: OpenFiles;
  readonly #crowding: Crowding;
  /** Objects whose files are gone, and of which listeners were told. */
  readonly #missing = new Set<string>();
  /** Sockets that outlive their object's instance. */
  readonly #sockets = new Map<string, HibernatingSockets>();

  constructor(
    environment: HostEnvironment,
    classes = new ClassRegistry(),
    makeBindings: MakeBindings = () => NO_BINDINGS,
  ) {
    const { nextTurn, beforeNextTurn = nextTurn, limits = completeLimits() } = environment;
    this.#openFiles = new OpenFiles(limits.openFiles, { after: environment.afterRealTime });
    const { estimate } = environment;
    const space =
      estimate &&
      new SpaceWatch(estimate, limits.lowSpaceBytes, (space) =>
        this.notices.tell({ type: 'storagelow', space }),
      );
    const medium = new CountedMedium(environment.medium, this.#openFiles, (byteCount) =>
      space?.wrote(byteCount),
    );
    this.#environment = {
      ...environment,
      medium,
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
    this.cancellations = new Cancellations({
      now: () => Date.now(),
      isRevoked: (flag) => environment.isRevoked?.(flag) ?? false,
    });
    this.classes = classes;
    this.#makeBindings = makeBindings;
    this.#instances = new Instances({
      make: (key, address, startup) => this.#make(key, address, startup),
      opened: (instance) => this.alarms.opened(instance),
      close: (key, instance, reason) => this.#close(key, instance, reason),
    });
    this.#facetFiles = new FacetFiles(this.#instances, this.#environment);
    this.#crowding = new Crowding({
      files: this.#openFiles,
      nextTurn: this.#environment.nextTurn,
      openOf: ({ address }) => medium.openOf(addressKey(address)),
      closing: () => this.#instances.closing().reduce((sum, key) => sum + medium.openOf(key), 0),
    });
    this.alarms = new ObjectAlarms(this.#environment, (address) => this.instance(address));
  }

  /**
   * Finds the alarms of the objects in the catalog. A lost catalog is rebuilt from the folders: then
   * every object is looked at once.
   */
  async start(): Promise<void> {
    if (!this.classes.runsAlarms) this.rest();
    const { catalog } = this.#environment;
    const [isEmpty, wakes] = await Promise.all([catalog.isEmpty(), catalog.wakes()]);
    if (isEmpty) await this.#rebuildCatalog();
    for (const entry of isEmpty ? await catalog.wakes() : wakes) {
      if (this.classes.find(entry.className) !== undefined) this.alarms.listed(entry);
    }
  }

  /** The context of the running task, when it belongs to an object of this host. */
  get currentContext(): InstanceContext | undefined {
    const context = currentContext();
    return context instanceof InstanceContext && context.host === this.io ? context : undefined;
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
  instance(address: ObjectAddress): Promise<ObjectInstance> {
    return this.#instances.get(address);
  }

  /** The instance of an address, if it is live now. */
  liveInstance(address: ObjectAddress): ObjectInstance | undefined {
    return this.#instances.live(address);
  }

  /** The live instance of a facet, which is started if there is none. @throws as `instance` */
  facet(address: ObjectAddress, startup: FacetStartup): Promise<ObjectInstance> {
    this.#facetFiles.started(addressKey(address));
    return this.#instances.get(address, startup);
  }

  /** Ends this instance of a facet in order, as its parent has ended. */
  closeFacet(instance: ObjectInstance): void {
    const reason = storageError('OBJECT_RESET', 'The object of the facet has ended.');
    // A flush that fails now has no caller to tell.
    this.#instances.close(addressKey(instance.address), instance, reason)?.catch(() => {});
  }

  /** Resets a facet for its parent: its stubs reject with the reason. */
  abortFacet(address: ObjectAddress, reason: unknown): void {
    const key = addressKey(address);
    this.resets.add(key, reason);
    void this.#instances.end(key, reason, async () => {});
  }

  /** Ends a facet and removes its files, and those of its own facets. @throws IO */
  deleteFacet(address: ObjectAddress, reason: unknown): Promise<void> {
    const key = addressKey(address);
    this.resets.add(key, reason);
    return this.#facetFiles.remove(key, reason);
  }

  /** Ends a facet, which becomes a copy of another as that is now. @throws IO, DISK_FULL, CORRUPT */
  copyFacet(from: ObjectAddress, to: ObjectAddress, reason: unknown): Promise<void> {
    const key = addressKey(to);
    this.resets.add(key, reason);
    return this.#facetFiles.copy(addressKey(from), key, reason);
  }

  /** Resets the object, if it is live: unconfirmed writes are gone, unanswered events reject. */
  reset(address: ObjectAddress, reason: unknown): Promise<void> {
    return this.#instances.reset(addressKey(address), reason);
  }

  /** Ends the object's instance after its last write is durable; calls under way reject. @throws IO, DISK_FULL */
  async evict(address: ObjectAddress): Promise<void> {
    const key = addressKey(address);
    if (!this.#instances.has(key)) return;
    const reason = storageError('OBJECT_RESET', 'The object was evicted.');
    await this.#instances.close(key, await this.instance(address), reason);
  }

  /** Removes the object and its files, and its facets; its unanswered events reject. */
  async erase(address: ObjectAddress): Promise<void> {
    const key = addressKey(address);
    const reason = storageError('OBJECT_RESET', 'The object was deleted.');
    while (this.#instances.has(key)) await this.#instances.reset(key, reason);
    this.alarms.forget(key);
    this.#sockets.get(key)?.reset();
    this.#sockets.delete(key);
    const removed = this.#environment.catalog
      .leaving(key)
      .then(() => this.#facetFiles.removeBelow(key, reason))
      .then(() => this.#removeFiles(key));
    this.#instances.release(key, removed); // the next instance begins after it, with nothing
    await removed;
  }

  /** The object's database as it is committed, as a plain SQLite file. */
  exportDatabase(address: ObjectAddress): Promise<Uint8Array<ArrayBuffer>> {
    return this.deliver(address, ({ storage }) => storage.databaseBytes());
  }

  /**
   * Replaces the object's database by a SQLite file, with its WAL if it has one, as one commit; then
   * the object restarts. Resolves, when that is durable, to the bookmark that undoes it.
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

  /** Begins no alarm from now on; those that run go on, and the others stay for the next host. */
  rest(): void {
    this.alarms.close();
  }

  /** False while an event or an alarm runs. */
  get isQuiet(): boolean {
    return !this.#instances.isBusy;
  }

  /**
   * Closes every instance after its last write is durable, and opens none from then on. Events that
   * still run reject, sockets break, alarms stay for the next host. `fact` says why.
   *
   * @throws what the last flush of an instance throws, when all are closed
   */
  async close(fact = 'the host of the objects was closed'): Promise<void> {
    this.alarms.close();
    const closed = storageError('CONNECTION_CLOSED', `Nothing is called any more: ${fact}.`);
    this.#openFiles.end(closed);
    try {
      await this.#instances.closeAll(
        closed,
        storageError('OBJECT_RESET', `The object was reset: ${fact}.`),
      );
    } finally {
      for (const sockets of this.#sockets.values()) sockets.reset();
      this.#sockets.clear();
    }
  }

  async #make(
    key: string,
    address: ObjectAddress,
    startup?: FacetStartup,
  ): Promise<ObjectInstance> {
    const construction = this.#construction(key, address, startup);
    const events: InstanceEvents = {
      onReset: (instance, released, reason, by) => {
        this.#crowding.ended(instance);
        if (by === 'itself') this.resets.add(key, reason);
        this.#instances.release(key, released);
        this.alarms.reset(key);
      },
      // Without the note, a later loss of its files is not noticed; the next opening tries again.
      onStored: ({ startup, address: { className } }) => {
        if (className === null || startup !== undefined) return;
        this.#environment.catalog.stored(key).catch(() => {});
      },
      onHistoryPruned: (pruned) => this.notices.tell({ type: 'historypruned', address: pruned }),
      onRest: (instance) => this.#crowding.rested(instance),
      onEvict: (instance) => this.#evict(key, instance),
      onAlarm: (instance, timeMs) => {
        if (instance.startup !== undefined) return;
        if (instance.handlers.alarm !== undefined) this.alarms.committed(instance, timeMs);
      },
    };
    const admitted = this.#addToCatalog(address);
    const environment = this.#environment;
    const options = { address, construction, environment, host: this.io, events };
    return ObjectInstance.open(options, admitted).catch(async (error) => {
      if (isStorageError(error) && error.code === 'OBJECT_MISSING') await this.#miss(key, address);
      throw error;
    });
  }

  /** The files of an object that was stored are gone. It is told once a host; opening has created new ones. */
  async #miss(key: string, address: ObjectAddress): Promise<void> {
    await this.#environment.medium.remove(key).catch(() => {}); // empty files are as good as none
    if (this.#missing.has(key)) return;
    this.#missing.add(key);
    this.notices.tell({ type: 'objectmissing', address });
  }

  /** What its user's object is made from; null without a class. @throws UNKNOWN_CLASS */
  #construction(
    key: string,
    address: ObjectAddress,
    startup: FacetStartup | undefined,
  ): Construction | null {
    if (address.className === null) return null;
    const shared = { sockets: this.#socketsOf(key, address), makeBindings: this.#makeBindings };
    if (address.facet === undefined) {
      return { ...shared, class: this.classes.get(address.className) };
    }
    if (startup !== undefined) return { ...shared, class: startup.class, startup };
    throw storageError(
      'OBJECT_RESET',
      'The facet has ended; the next call of its parent starts it.',
    );
  }

  #socketsOf(key: string, address: ObjectAddress): HibernatingSockets {
    let sockets = this.#sockets.get(key);
    if (sockets === undefined) {
      const { now } = this.#environment;
      sockets = new HibernatingSockets((event) => this.deliver(address, event), now);
      this.#sockets.set(key, sockets);
    }
    return sockets;
  }

  /**
   * Adds an object of a class to the catalog, before its alarm can change. Only its instance knows
   * whether it has a handler for one. True if the object was stored before.
   */
  async #addToCatalog(address: ObjectAddress): Promise<boolean> {
    const { className, id, facet } = address;
    if (className === null || facet !== undefined) return false; // its parent finds a facet
    return this.#environment.catalog.add({
      key: addressKey(address),
      className,
      id: id.toString(),
      ...(id.name !== undefined && { name: id.name }),
      wakeMs: 0,
    });
  }

  async #rebuildCatalog(): Promise<void> {
    for (const key of await this.#environment.medium.keys()) {
      const [className, id, facet] = key.split('.');
      if (className === undefined || id === undefined || facet !== undefined) continue;
      if (this.classes.find(className) === undefined) continue;
      await this.#environment.catalog.add({ key, className, id, wakeMs: 0 });
    }
  }

  #evict(key: string, instance: ObjectInstance): void {
    if (instance.startup !== undefined && this.#sockets.get(key)?.isEmpty === false) {
      instance.retain()(); // a message could not start it again: it rests until the next look
      return;
    }
    const reason = storageError('OBJECT_RESET', 'The object was closed while idle.');
    // A flush that fails now has no caller to tell; it has reset the instance, like any other.
    this.#instances.close(key, instance, reason)?.catch(() => {});
  }

  async #close(key: string, instance: ObjectInstance, reason: StorageError): Promise<void> {
    const { storage, address } = instance;
    const wakeMs = instance.alarmMs;
    this.#crowding.ended(instance);
    await instance.close(reason);
    if (address.className === null) return;
    if (this.#sockets.get(key)?.isEmpty) this.#sockets.delete(key);
    // An object exists from its first write on; this one was only read.
    if (storage.isUnwritten) await this.#removeFiles(key);
    else if (address.facet === undefined) await this.#environment.catalog.rest(key, wakeMs);
  }

  async #removeFiles(key: string): Promise<void> {
    this.#missing.delete(key);
    await this.#environment.medium.remove(key);
    await this.#environment.catalog.remove(key);
  }
}

/** For a database whose events nobody needs. */
const NO_EVENTS = { beforeWrite() {}, onCritical() {} };
