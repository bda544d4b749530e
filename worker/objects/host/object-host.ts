// All objects of one worker: delivers events to them, and keeps the state that outlives their
// instances: alarms, sockets, catalog entries.

import {
  currentContext,
  isTaskExact,
  runOutside,
} from '../../../src/shared/calls/io/current-context.ts';
import type { IoHost } from '../../../src/shared/calls/io/io-context.ts';
import { FREE, type PartyIo } from '../../../src/shared/calls/stubs/party.ts';
import {
  isStorageError,
  type StorageError,
  storageError,
} from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import { addressKey, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import { CountedMedium, OpenFiles } from '../../engine/file/open-files.ts';
import { SpaceWatch } from '../../engine/file/space-watch.ts';
import { type Annotation, annotationOf } from '../../engine/log/annotation.ts';
import type { LogEnvironment } from '../../engine/log/commit-log.ts';
import { completeLimits } from '../../engine/sql/query-limits.ts';
import { lateCode } from '../../engine/storage/load-late.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { type InstanceBindings, NO_BINDINGS } from '../instance/durable-object-state.ts';
import type { HostEnvironment } from '../instance/environment.ts';
import { InstanceContext } from '../instance/instance-context.ts';
import { ClassRegistry, type FacetStartup } from '../instance/object-class.ts';
import {
  type Construction,
  type InstanceEvents,
  ObjectInstance,
} from '../instance/object-instance.ts';
import { type Cancellation, Cancellations } from '../io/cancellation.ts';
import type { KeptResults } from '../live/kept-results.ts';
import { type Deliver, HibernatingSockets } from '../sockets/hibernating-sockets.ts';
import { Branches } from './branches.ts';
import { CatalogNotes } from './catalog-notes.ts';
import { FacetFiles } from './facet-files.ts';
import { type Followers, NO_FOLLOWERS } from './followers.ts';
import { HostNotices } from './host-notices.ts';
import { Crowding, Instances, Resets } from './instances.ts';
import { ListedFolders, objectKey } from './listed-folders.ts';
import { ObjectAlarms } from './object-alarms.ts';
import {
  isUnreadable,
  type Replaced,
  replaceDatabase,
  restoreDatabase,
} from './replace-database.ts';

/** Makes `env`, `exports`, `facets` and `props` of an instance. */
export type MakeBindings = (instance: ObjectInstance) => InstanceBindings;

const SOCKET = annotationOf({ kind: 'socket' });

/** Starts what objects that follow others need; see packages/follow/copy. */
export type StartFollowing = (host: ObjectHost, environment: HostEnvironment) => Followers;

export class ObjectHost {
  readonly classes: ClassRegistry;
  /** The objects of this host that are in memory. */
  readonly instances: Instances;
  readonly alarms: ObjectAlarms;
  readonly resets = new Resets();
  /** The calls under way that can be cancelled. */
  readonly cancellations: Cancellations;
  readonly notices = new HostNotices();
  /** The parts that its objects share. */
  readonly io: IoHost;
  /** How code that belongs to none of them calls them. */
  readonly outside: PartyIo;
  readonly #environment: HostEnvironment;
  readonly #makeBindings: MakeBindings;
  readonly #notes: CatalogNotes;
  readonly #facetFiles: FacetFiles;
  readonly branches: Branches;
  /** Keeps results of live reads for the next visit of a page; undefined: nothing is kept here. */
  readonly kept: KeptResults | undefined;
  readonly #openFiles: OpenFiles;
  readonly #crowding: Crowding;
  /** The objects that follow one on a server; their class runs only on branches. Set before the first object is used. */
  followers: Followers = NO_FOLLOWERS;
  /** Objects whose files are gone, and of which listeners were told. */
  readonly #missing = new Set<string>();
  /**
   * Objects on whose files a call has failed. Their next openings store the bytes that a failed flush may have
   * dropped.
   */
  readonly #failed = new Set<string>();
  /** Sockets that outlive their object's instance. */
  readonly #sockets = new Map<string, HibernatingSockets>();

  constructor(
    environment: HostEnvironment,
    classes = new ClassRegistry(),
    makeBindings: MakeBindings = () => NO_BINDINGS,
  ) {
    const { nextTurn, beforeNextTurn = nextTurn, limits = completeLimits() } = environment;
    this.#openFiles = new OpenFiles(limits.openFiles, {
      // A call waits for it, so a process of Node must not end before.
      after: (delayMs, task) => environment.afterRealTime(delayMs, task, true),
      short: () => this.#crowding.evictSoon(),
    });
    const { estimate } = environment;
    const space =
      estimate &&
      new SpaceWatch(estimate, limits.lowSpaceBytes, (space) =>
        this.notices.tell({ type: 'storagelow', space }),
      );
    const medium = new CountedMedium(environment.medium, this.#openFiles, space);
    this.#environment = {
      ...environment,
      medium,
      beforeNextTurn,
      nextTurn: (task) => nextTurn(() => runOutside(task)),
    };
    this.outside = environment.outside ?? outsideIo(this.#environment, this.resets);
    this.io = {
      now: environment.now,
      get isTimeControlled() {
        return environment.isTimeControlled?.() ?? false;
      },
      after: environment.after,
      beforeNextTurn,
      sendsStreams: environment.sendsStreams ?? false,
      compatibilityFlags: environment.compatibilityFlags ?? [],
    };
    this.cancellations = new Cancellations({
      now: () => Date.now(),
      elapsed: () => performance.now(),
      isRevoked: (flag) => environment.isRevoked?.(flag) ?? false,
    });
    this.classes = classes;
    this.#makeBindings = makeBindings;
    this.#notes = new CatalogNotes(environment.catalog);
    this.instances = new Instances({
      make: (key, address, startup) => this.#make(key, address, startup),
      opened: (instance) => this.alarms.opened(instance),
      close: (key, instance, reason) => this.#close(key, instance, reason),
    });
    const folders = new ListedFolders(this.#environment.medium);
    this.#facetFiles = new FacetFiles(this.instances, folders, this.#environment);
    this.branches = new Branches(this.instances, folders, this.#environment);
    this.#crowding = new Crowding({
      files: this.#openFiles,
      nextTurn: this.#environment.nextTurn,
      openOf: ({ address }) => medium.openOf(addressKey(address)),
      makeRoom: () => this.followers.makeRoom(),
      closing: () => this.instances.closing().reduce((sum, key) => sum + medium.openOf(key), 0),
    });
    const failed = (address: ObjectAddress) => this.notices.tell({ type: 'keepfailed', address });
    this.kept = environment.makeKept?.(failed);
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
   * @throws UNKNOWN_CLASS, and errors of opening the files and of the constructor
   */
  deliver<T>(
    address: ObjectAddress,
    event: (instance: ObjectInstance) => T | PromiseLike<T>,
    author?: Annotation,
  ): Promise<T> {
    return this.use(address, (instance) => instance.deliver(() => event(instance), null, author));
  }

  /**
   * Uses the instance of an address before it can be evicted. @throws as `instance`, and the error of the
   * use
   */
  use<T>(
    address: ObjectAddress,
    use: (instance: ObjectInstance) => T | PromiseLike<T>,
  ): Promise<T> {
    return this.#at(address, (found) => this.instances.use(found, use));
  }

  /** Where the object's files are: an object of which each identity has a copy is where the present one's is. */
  located(address: ObjectAddress): ObjectAddress | Promise<ObjectAddress> {
    return this.followers.copyOf?.(address) ?? address;
  }

  #at<T>(address: ObjectAddress, action: (address: ObjectAddress) => Promise<T>): Promise<T> {
    return this.followers.copyOf?.(address)?.then(action) ?? action(address);
  }

  /**
   * The instance of an address. It may be evicted from the next turn on, unless it is used.
   *
   * @throws errors of opening its files; CONNECTION_CLOSED after `close`
   */
  instance(address: ObjectAddress): Promise<ObjectInstance> {
    return this.#at(address, (found) => this.instances.get(found));
  }

  /** The instance of a facet, which is started if there is none. @throws as `instance` */
  facet(address: ObjectAddress, startup: FacetStartup): Promise<ObjectInstance> {
    this.#facetFiles.started(addressKey(address));
    return this.instances.get(address, startup);
  }

  /** Ends this instance of a facet in order, as its parent has ended. */
  closeFacet(instance: ObjectInstance): void {
    const reason = storageError('OBJECT_RESET', 'The object of the facet has ended.');
    // A flush that fails now has no caller to tell.
    this.instances.close(addressKey(instance.address), instance, reason)?.catch(() => {});
  }

  /** Resets a facet for its parent: its stubs reject with the reason. */
  abortFacet(address: ObjectAddress, reason: unknown): void {
    const key = addressKey(address);
    this.resets.add(key, reason);
    void this.instances.end(key, reason, async () => {});
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

  /** Resets the object, if it has an instance: unconfirmed writes are gone, unanswered events reject. */
  reset(address: ObjectAddress, reason: unknown): Promise<void> {
    return this.#at(address, (found) => this.instances.reset(addressKey(found), reason));
  }

  /**
   * Ends the object's instance once its last write is durable. Its unanswered calls reject. With `breaksSockets`, its
   * sockets break, too. @throws IO, DISK_FULL
   */
  async evict(address: ObjectAddress, breaksSockets = false): Promise<void> {
    const at = this.located(address);
    const key = addressKey(at instanceof Promise ? await at : at);
    if (breaksSockets) this.#sockets.get(key)?.reset();
    if (!this.instances.has(key)) return;
    const reason = storageError('OBJECT_RESET', 'The object was evicted.');
    await this.instances.close(key, await this.instance(address), reason);
  }

  /** Removes the object and its files, and its facets; its unanswered events reject. */
  erase(address: ObjectAddress): Promise<void> {
    const reason = storageError('OBJECT_RESET', 'The object was deleted.');
    return this.#at(address, (found) =>
      this.#remove(found, reason, () => this.#facetFiles.removeBelow(addressKey(found), reason)),
    );
  }

  /** Ends the object, and removes its own files and those of its branches. `below` removes the files of its facets. */
  async #remove(
    address: ObjectAddress,
    reason: StorageError,
    below: () => Promise<void>,
  ): Promise<void> {
    const key = addressKey(address);
    // A call that comes from now on waits for the end of the removal, and begins with nothing.
    await this.instances.end(key, reason, async () => {
      this.alarms.forget(key);
      this.#sockets.get(key)?.reset();
      this.#sockets.delete(key);
      await this.#notes.leaving(key);
      await this.kept?.drop(address);
      await below();
      await this.branches.endAll(address);
      await this.#removeFiles(key);
    });
  }

  /** The object's database as it is committed, as a plain SQLite file. */
  exportDatabase(address: ObjectAddress): Promise<Uint8Array<ArrayBuffer>> {
    return this.deliver(address, ({ storage }) => storage.databaseBytes());
  }

  /**
   * Replaces the object's database by a SQLite file, with its WAL if it has one, as one commit; then
   * the object restarts. Resolves, when that is durable, to the bookmark that undoes it.
   *
   * @throws IMPORT_INVALID: nothing was touched; DISK_FULL, IO: nothing has changed, but damaged files are gone;
   * WORKER_FAILED without the late parts
   */
  async importDatabase(
    address: ObjectAddress,
    file: Uint8Array,
    wal: Uint8Array | null = null,
    by?: Annotation,
  ): Promise<string> {
    const { limits = completeLimits(), nextTurn } = this.#environment;
    const { openForeign } = await lateCode.load('importDatabase');
    const opened = await openForeign(file, wal, { limits, nextTurn }, (apart, ownLimits) =>
      this.#environment.openDatabase({ file: apart }, NO_EVENTS, ownLimits),
    );
    const fill = async () => {
      const instance = await this.instance(address);
      this.#notes.checkAlarm(address); // The imported file may contain an alarm.
      return replaceDatabase(instance, opened, by);
    };
    const ifUnreadable = (next: () => Promise<Replaced>) => (error: unknown) => {
      if (isUnreadable(address, error)) return next();
      throw error;
    };
    try {
      // Not at once: an opening that meets a damaged restore fails, gives the restore up, and the next one succeeds.
      const result = await fill()
        .catch(ifUnreadable(fill))
        .catch(ifUnreadable(() => this.#removeDamaged(address).then(fill)));
      if ('notBegun' in result) throw result.notBegun; // For example, the error of a constructor.
      return result.undo;
    } finally {
      opened.close();
    }
  }

  /** Facets have files of their own, which stay. */
  #removeDamaged(address: ObjectAddress): Promise<void> {
    const reason = storageError('OBJECT_RESET', 'importDatabase() replaces damaged files.');
    return this.#remove(address, reason, async () => {});
  }

  /**
   * Takes the object back to a bookmark, or to a time in milliseconds, by a restart; calls under way reject.
   * Resolves, when the object has started as it was then, to the bookmark that undoes it. Of several at once, each
   * undoes the one before it.
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, TRANSACTION_TIMEOUT, DISK_FULL, IO
   */
  async restore(
    address: ObjectAddress,
    moment: string | number,
    cancellation?: Cancellation,
    by?: Annotation,
  ): Promise<string> {
    for (;;) {
      const instance = await this.instance(address);
      this.#notes.checkAlarm(address); // The restored state may contain an alarm.
      const result = await restoreDatabase(instance, moment, cancellation, by);
      if ('undo' in result) {
        await this.instance(address);
        return result.undo;
      }
      // The instance ended before; another restore may have ended it.
      const { notBegun } = result;
      if (!isStorageError(notBegun) || notBegun.code !== 'OBJECT_RESET') throw notBegun;
      if (notBegun.retryable !== true) throw notBegun;
    }
  }

  /**
   * Makes the state of a branch the object's own, as one commit, and restarts the object; calls under way reject.
   * Resolves, when that is durable, to the bookmark that undoes it. The branch goes on.
   *
   * @throws CONFLICT if the object has changed since the branch began; BRANCH_ENDED; DISK_FULL, IO: nothing has changed
   */
  promote(branch: ObjectAddress, cancellation?: Cancellation, by?: Annotation): Promise<string> {
    return this.branches.promote(branch, cancellation, by);
  }

  /** Begins no alarm from now on; running alarms go on, and the others stay for the next host. */
  rest(): void {
    this.alarms.close();
  }

  /** False while an event or an alarm runs. */
  get isQuiet(): boolean {
    return !this.instances.isBusy;
  }

  /**
   * Closes every instance after its last write is durable, and opens none from then on. Events that
   * still run reject, sockets break, alarms stay for the next host. `fact` is the reason.
   *
   * @throws errors of an instance's last flush, when all are closed
   */
  async close(fact = 'the host of the objects was closed'): Promise<void> {
    this.alarms.close();
    for (const sockets of this.#sockets.values()) sockets.close();
    const closed = storageError('CONNECTION_CLOSED', `Nothing is called any more: ${fact}.`);
    await this.followers.close();
    this.#openFiles.end(closed);
    try {
      await this.instances.closeAll(
        closed,
        storageError('OBJECT_RESET', `The object was reset: ${fact}.`),
      );
    } finally {
      for (const sockets of this.#sockets.values()) sockets.reset();
      this.#sockets.clear();
      await this.branches.close();
      await this.kept?.close();
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
        if (by !== 'outside') this.resets.add(key, reason);
        if (by === 'storage') this.#failed.add(key);
        this.instances.ended(key, instance, released);
        this.alarms.reset(instance);
        if (address.branch !== undefined) this.#forgetSockets(key);
      },
      onAlarmSet: () => this.#notes.checkAlarm(address),
      // If this write fails, a later loss of the object's files is not noticed; the next opening tries again.
      onStored: ({ startup }) => {
        if (startup !== undefined) return;
        if (address.branch !== undefined) return this.branches.stored(address);
        if (address.className === null) return;
        this.#environment.catalog.stored(key).catch(() => {});
      },
      onHistoryPruned: (pruned) => this.notices.tell({ type: 'historypruned', address: pruned }),
      onRest: this.#crowding.rested,
      onEvict: (instance) => this.#evict(key, instance),
      onAlarm: (instance, timeMs) => {
        if (instance.startup !== undefined || address.branch !== undefined) return;
        if (instance.handlers.alarm !== undefined) this.alarms.committed(instance, timeMs);
      },
    };
    const admitted = this.#notes.add(address);
    const environment = {
      ...this.#environment,
      hasFailed: this.#failed.has(key),
      failed: () => void this.#failed.add(key),
      pinnedSequence: () => this.branches.pinnedSequence(key),
      history: { ...this.#environment.history, ...construction?.class.options.history },
      loadFolding: () => lateCode.load('history'),
    };
    const openBranch = (log: LogEnvironment) => this.branches.open(address, log);
    const isBranch = address.branch !== undefined && address.facet === undefined;
    const options = {
      address,
      construction,
      isCopy: this.#isCopy(address),
      environment,
      host: this.io,
      events,
      kept: this.kept,
      ...(isBranch && { openBranch }),
    };
    return ObjectInstance.open(options, admitted).catch(async (error) => {
      this.#failed.add(key);
      if (isStorageError(error) && error.code === 'OBJECT_MISSING') await this.#miss(key, address);
      throw error;
    });
  }

  /** The files of an object that was stored are gone. It is told once a host; opening has created new ones. */
  async #miss(key: string, address: ObjectAddress): Promise<void> {
    await this.#environment.medium.remove(key).catch(() => {}); // Empty files that stay mean the same as none.
    if (address.branch !== undefined || this.#missing.has(key)) return;
    this.#missing.add(key);
    this.notices.tell({ type: 'objectmissing', address });
  }

  /** The class and arguments of its user's object; null without a class. @throws UNKNOWN_CLASS */
  #construction(
    key: string,
    address: ObjectAddress,
    startup: FacetStartup | undefined,
  ): Construction | null {
    if (address.className === null || this.#isCopy(address)) return null;
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

  #isCopy({ className, branch, facet }: ObjectAddress): boolean {
    if (branch !== undefined || facet !== undefined) return false;
    return this.followers.classNames.has(className ?? '');
  }

  #socketsOf(key: string, address: ObjectAddress): HibernatingSockets {
    let sockets = this.#sockets.get(key);
    if (sockets === undefined) {
      const { now } = this.#environment;
      const deliver: Deliver = (event) => this.deliver(address, event, SOCKET);
      sockets = new HibernatingSockets(deliver, now);
      this.#sockets.set(key, sockets);
    }
    return sockets;
  }

  /** A branch that has ended is never used again. */
  #forgetSockets(key: string): void {
    if (this.#sockets.get(key)?.isEmpty) this.#sockets.delete(key);
  }

  async #rebuildCatalog(): Promise<void> {
    const { medium, catalog } = this.#environment;
    const found: CatalogEntry[] = [];
    for (const key of await medium.keys()) {
      const object = objectKey(key); // one entry for all copies
      const [className, id, facet] = object.split('.');
      if (className === undefined || id === undefined || facet !== undefined) continue;
      if (this.classes.find(className) === undefined) continue;
      found.push({ key: object, className, id, wakeMs: 0 });
    }
    await catalog.build(found);
  }

  #evict(key: string, instance: ObjectInstance): void {
    if (instance.startup !== undefined && this.#sockets.get(key)?.isEmpty === false) {
      instance.retain()(); // A socket's message could not start it again: as a use, it is looked at again later.
      return;
    }
    const reason = storageError('OBJECT_RESET', 'The object was closed while idle.');
    // A flush that fails now has no caller to tell; it has reset the instance, like any other.
    this.instances.close(key, instance, reason)?.catch(() => {});
  }

  async #close(key: string, instance: ObjectInstance, reason: StorageError): Promise<void> {
    const { storage, address } = instance;
    const wakeMs = instance.restoresAlarm ? 0 : instance.alarmMs;
    this.#crowding.ended(instance);
    await instance.close(reason);
    if (address.className === null) return;
    this.#forgetSockets(key);
    if (address.branch !== undefined) return;
    // An object exists from its first write on; this one was only read, and its branches do not need it.
    if (storage.isUnwritten && !this.branches.has(instance)) await this.#removeFiles(key);
    else if (address.facet === undefined) {
      assert(this.instances.live(key) === undefined, 'the catalog lacks a live object');
      await this.#notes.rest(key, wakeMs);
      this.alarms.closed(instance);
    }
  }

  async #removeFiles(key: string): Promise<void> {
    this.#missing.delete(key);
    await this.#environment.medium.remove(key);
    await this.#environment.catalog.remove(key);
  }
}

/** For a database whose events nobody needs. */
const NO_EVENTS = { beforeWrite() {}, onCritical() {} };

/**
 * How calls of code that belongs to no object, in the thread of its host, enter and leave. Where the
 * running task is known only by its turn, outside code must not share a turn with one: its calls begin
 * and end in turns of their own. `nextTurn` begins a turn that belongs to no object.
 */
function outsideIo({ nextTurn }: HostEnvironment, resets: Resets): PartyIo {
  if (isTaskExact) return FREE;
  const enter = FREE.entrance();
  const apart = <T>(start: () => T | PromiseLike<T>) =>
    new Promise<T>((resolve, reject) => {
      nextTurn(() => {
        enter(start).then(
          (value) => nextTurn(() => resolve(value)),
          (error) => nextTurn(() => reject(error)),
        );
      });
    });
  // A call that arrives turns later reaches the instance that its object had when it was made.
  return { ...FREE, send: apart, receive: apart, reach: () => ({ incarnation: resets.count }) };
}
