// One instance of an object: its storage, its I/O context, and the user's object.
//
// A reset ends the instance: unconfirmed writes are gone, unanswered events reject, its storage throws
// from then on, and the host makes a new instance for the next event. An orderly end (`close`) rejects
// events that still run, and answers events that only wait for a flush.

import { bindToFrame } from '../../../src/shared/calls/io/async-frame.ts';
import { runEvent } from '../../../src/shared/calls/io/current-context.ts';
import type { IoHost } from '../../../src/shared/calls/io/io-context.ts';
import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { FOLLOWABLE } from '../../../src/shared/contract/followed.ts';
import { ALARM_MS_MAX, CRITICAL_SECTION_MS_MAX } from '../../../src/shared/contract/limits.ts';
import type { StorageRead } from '../../../src/shared/contract/live.ts';
import {
  addressKey,
  type DurableObjectId,
  type ObjectAddress,
} from '../../../src/shared/contract/object-id.ts';
import type { DurableObjectStorage as PublicStorage } from '../../../src/shared/contract/storage.ts';
import type { LiveSource } from '../../../src/shared/live/live-value.ts';
import { type Annotation, annotationOf } from '../../engine/log/annotation.ts';
import type { LogEnvironment } from '../../engine/log/commit-log.ts';
import { ObjectFiles } from '../../engine/log/object-files.ts';
import { INTERNAL } from '../../engine/sql/platform-class.ts';
import type { AccessPolicy } from '../../engine/storage/access-policy.ts';
import { DurableObjectStorage } from '../../engine/storage/durable-object-storage.ts';
import { ObjectStorage } from '../../engine/storage/object-storage.ts';
import { AlarmInvocationInfo } from '../alarms/alarm-scheduler.ts';
import type { CriticalSection } from '../io/input-gate.ts';
import type { KeptResults } from '../live/kept-results.ts';
import { LiveReads, storageRead } from '../live/live-reads.ts';
import type { HibernatingSockets } from '../sockets/hibernating-sockets.ts';
import { InstanceSockets } from '../sockets/instance-sockets.ts';
import { DurableObjectState, type InstanceBindings, NO_BINDINGS } from './durable-object-state.ts';
import type { HostEnvironment } from './environment.ts';
import { InstanceContext, withinLimit } from './instance-context.ts';
import type { FacetStartup, HostedClass } from './object-class.ts';
import { policiesOf } from './object-policies.ts';
import {
  abortedError,
  alarmOfFacet,
  alarmTimeout,
  broken,
  missing,
  sectionTimeout,
  storageReason,
  withReset,
} from './reset-reasons.ts';
import { type Handlers, UserObject } from './user-object.ts';

/** How long an instance without events stays in memory (workerd: 10 s). */
const IDLE_MS = 10_000;

/** The class and arguments of an instance's user object. */
export interface Construction {
  readonly class: HostedClass;
  /** The object's sockets, which outlive the instance. */
  readonly sockets: HibernatingSockets;
  /** The startup of a facet; absent for other objects. */
  readonly startup?: FacetStartup;
  makeBindings(instance: ObjectInstance): InstanceBindings;
}

/** What reset an object: its own code, its failed storage, or a caller outside (a page's tool, a test). */
export type ResetBy = 'itself' | 'storage' | 'outside';

export interface InstanceEvents {
  /** Called when the instance was reset; `released` settles when its files are free. */
  onReset(instance: ObjectInstance, released: Promise<void>, reason: unknown, by: ResetBy): void;
  /** Called when the object is about to set its alarm. @throws DISK_FULL while the object may not */
  onAlarmSet(): void;
  /** Called when a commit of the object is durable for the first time in this instance. */
  onStored(instance: ObjectInstance): void;
  /** Called when the disk was full, and the object's oldest history was deleted. */
  onHistoryPruned(address: ObjectAddress): void;
  /** Called when nothing uses the instance any more. */
  onRest(instance: ObjectInstance): void;
  /** Called when nothing has used the instance for a while: the host closes it. */
  onEvict(instance: ObjectInstance): void;
  /** Called when a change of the object's alarm is committed: with its time in milliseconds, or null. */
  onAlarm(instance: ObjectInstance, timeMs: number | null): void;
}

/** The options with which an instance is opened. */
export interface InstanceOptions {
  readonly address: ObjectAddress;
  /** The class and arguments of the user's object; null for an object without a class. */
  readonly construction: Construction | null;
  /** True if the object is the local copy of an object on a server, and only the replica writes it. @default false */
  readonly isCopy?: boolean;
  readonly environment: HostEnvironment;
  readonly host: IoHost;
  readonly events: InstanceEvents;
  /** Keeps results of live reads for the next visit of a page. @default nothing is kept */
  readonly kept?: KeptResults | undefined;
  /** Opens the files of a branch; absent for other objects. */
  readonly openBranch?: (environment: LogEnvironment) => Promise<OpenedBranch>;
}

/** The files of a branch, and whether messages of its code to others are sent. */
export interface OpenedBranch {
  readonly files: ObjectFiles;
  readonly sends: boolean;
  /** Called before the object is constructed. */
  readonly prepare?: ((instance: ObjectInstance) => void) | undefined;
}

/** A reset that has ended the instance. */
interface Reset {
  /** Settles when the instance's files are free. */
  readonly released: Promise<void>;
  /** True if the alarm whose handler the reset ended must not run again. */
  readonly dropsAlarm: boolean;
}

export class ObjectInstance {
  readonly address: ObjectAddress;
  readonly context: InstanceContext;
  readonly storage: ObjectStorage;
  readonly publicStorage: PublicStorage;
  readonly live: LiveReads;
  readonly state: DurableObjectState;
  readonly #environment: HostEnvironment;
  readonly #events: InstanceEvents;
  readonly #kept: KeptResults | undefined;
  readonly #construction: Construction | null;
  /** The policy of the calls of handles: what these calls may do to the storage. */
  readonly handlePolicy: AccessPolicy;
  readonly #userObject: UserObject | null;
  readonly #sockets: InstanceSockets | null;
  #isNoted = false;
  /** Work that answers wait for, besides the writes of the storage. */
  #changes: Promise<void> | undefined;
  #reset: Reset | null = null;

  /**
   * Opens the object's files, recovers them, applies a pending restore and, once `admitted`, constructs
   * the user's object. A constructor that throws resets the instance.
   *
   * `admitted` resolves to true if the object was stored before.
   *
   * @throws errors of the files, and the reason of `admitted`; OBJECT_MISSING; the files are free then
   */
  static async open(
    options: InstanceOptions,
    admitted: Promise<boolean> = Promise.resolve(false),
  ): Promise<ObjectInstance> {
    admitted.catch(() => {}); // The error is reported below.
    const { address, environment, events } = options;
    const historyPruned = () => events.onHistoryPruned(address);
    const logEnvironment = { ...environment, historyPruned };
    const { files, sends, prepare } =
      (await options.openBranch?.(logEnvironment)) ??
      (await openOwnFiles(address, environment, logEnvironment));
    let instance: ObjectInstance;
    try {
      const wasStored = await admitted;
      if (wasStored && files.committedSequence === 0) throw missing(address);
      instance = new ObjectInstance(options, files, sends);
    } catch (error) {
      await files.close();
      throw error;
    }
    if (instance.storage.isStored) instance.#noteStored();
    prepare?.(instance);
    instance.#construct();
    instance.context.start();
    return instance;
  }

  private constructor(options: InstanceOptions, files: ObjectFiles, sends: boolean) {
    const { address, construction, environment, host, events } = options;
    const isFollowed = construction !== null && FOLLOWABLE in construction.class.construct;
    const policies = policiesOf(options.isCopy === true, isFollowed);
    const storageOptions = construction?.class.options ?? environment.storageOptions;
    this.address = address;
    this.#environment = environment;
    this.#kept = options.kept;
    this.#events = events;
    this.#construction = construction;
    this.context = new InstanceContext({
      host,
      sends,
      policy: policies.ofCode,
      compatibilityDate: storageOptions?.compatibilityDate,
      nextTurn: environment.nextTurn,
      ...(environment.beforeNextTurn && { beforeNextTurn: environment.beforeNextTurn }),
      elapsed: environment.elapsed,
      after: environment.after,
      idleMs: environment.idleMs ?? IDLE_MS,
      confirmation: () => this.#confirmation(),
      onDefect: (defect) => this.#break(defect, 'storage'),
      onRest: () => events.onRest(this),
      onEvict: () => events.onEvict(this),
    });
    this.storage = new ObjectStorage(
      files,
      (store, report) => environment.openDatabase(store, report),
      {
        now: environment.now,
        nextTurn: environment.nextTurn,
        afterRealTime: environment.afterRealTime,
        section: (closure) => this.#section(closure),
        continuation: () => this.context.continuation(),
        scope: () => this.context.scope,
        onBroken: (error) => this.#break(broken(error), 'storage'),
        onReplaced: () => this.#dropKept(),
        onFlushed: () => this.#noteStored(),
        onAlarm: (timeMs) => events.onAlarm(this, timeMs),
        checkAlarm: () => this.#checkAlarm(),
        isCancelled: () => this.context.isCancelled,
        live: (read) => this.#ownLive(read),
      },
      storageOptions,
    );
    this.handlePolicy = policies.ofHandles;
    this.live = new LiveReads({
      accesses: this.storage.accesses,
      nextTurn: environment.nextTurn,
      deliver: (event) => this.context.deliver(event),
      section: (closure, policy) => this.#section(closure, policy),
      reading: (policy, read) => this.context.reading(policy, read),
      durability: () => this.storage.durability(),
    });
    this.#userObject = construction && new UserObject(construction.class);
    this.#sockets = construction && new InstanceSockets(this.context, construction.sockets);
    const surface = new DurableObjectStorage(INTERNAL, this.storage);
    this.publicStorage = surface as unknown as PublicStorage;
    this.state = new DurableObjectState(INTERNAL, this);
  }

  /** The id of the object. For a facet, it may be any text, which workerd's types ignore, too. */
  get id(): DurableObjectId {
    return (this.startup?.id ?? this.address.id) as DurableObjectId;
  }

  /** The startup with which the instance was started, if the object is a facet. */
  get startup(): FacetStartup | undefined {
    return this.#construction?.startup;
  }

  /** Settles when the files of an instance that was reset are free. */
  get released(): Promise<void> {
    return this.#reset?.released ?? Promise.resolve();
  }

  /** The sockets of the object. @throws when the object has no class, because nothing would handle their messages */
  get sockets(): InstanceSockets {
    if (this.#sockets === null) {
      throw storageError('UNKNOWN_CLASS', 'An object of openStorage has no class, and no sockets.');
    }
    return this.#sockets;
  }

  get bindings(): InstanceBindings {
    return this.#userObject?.bindings ?? NO_BINDINGS;
  }

  /** The user's object; undefined for an object without a class. */
  get object(): object | undefined {
    return this.#userObject?.object;
  }

  get handlers(): Handlers {
    return this.#userObject?.handlers ?? NO_HANDLERS;
  }

  /** The time at which the alarm's handler is to run, in milliseconds; null without an alarm, and without a handler. */
  get alarmMs(): number | null {
    return this.#runsAlarms ? this.storage.storedAlarm : null;
  }

  /** True if the next instance has another state, whose alarm must be run. */
  get restoresAlarm(): boolean {
    return this.#runsAlarms && this.storage.past.isToBeRestored;
  }

  /** True if the alarm whose handler the reset ended must not run again. */
  get dropsAlarm(): boolean {
    return this.#reset?.dropsAlarm ?? false;
  }

  get hasEnded(): boolean {
    return this.context.hasEnded;
  }

  /** The critical section of the running task. */
  get currentSection(): CriticalSection | null {
    return this.context.gate.currentSection;
  }

  /**
   * Delivers an event and settles like the event, behind the output gate. Rejects with the reason if the instance ends
   * first. Commits of the event, and of the tasks that it starts, name the author.
   */
  deliver<T>(
    event: (state: DurableObjectState) => T | PromiseLike<T>,
    section: CriticalSection | null = null,
    author?: Annotation,
  ): Promise<T> {
    return this.context.deliver(() => event(this.state), section, author);
  }

  /**
   * Delivers calls of a page, which run no code of the object, as one event and one turn of the storage. Returns the
   * result itself if it waits for nothing; otherwise a promise, as `deliver` does.
   *
   * @throws the reason if the calls have ended the instance
   */
  deliverNow<T>(
    event: (storage: ObjectStorage) => T | Promise<T>,
    section: CriticalSection | null = null,
  ): T | Promise<T> {
    const turn = () => this.storage.turn(() => event(this.storage));
    return this.context.deliverNow(turn, section);
  }

  /**
   * Runs the alarm's handler as an event; rejects when the handler fails. Resolves to the time of an alarm that is not
   * due, otherwise to null. Does nothing without an alarm. A retry is due even if the wall clock was set back since the
   * first run.
   */
  alarm(retryCount: number): Promise<number | null> {
    const event = async () => {
      const scheduledTime = this.alarmMs;
      if (scheduledTime === null) return null;
      const isEarly = retryCount === 0 && scheduledTime > this.#environment.now();
      if (isEarly) return scheduledTime;
      await this.#runAlarm(new AlarmInvocationInfo({ scheduledTime, retryCount }));
      return null;
    };
    return this.deliver(event, null, ALARM);
  }

  /** Runs the callback as a critical section whose failure resets the object. */
  blockConcurrency<T>(callback: () => T | PromiseLike<T>): Promise<T> {
    return this.#section(async () => {
      try {
        return await callback.call(globalThis);
      } catch (error) {
        this.reset(withReset(error));
        return new Promise<T>(() => {}); // The code that waits belongs to an instance that has ended.
      }
    });
  }

  keepAlive(work: Promise<unknown>): void {
    this.context.keepAlive(work);
  }

  /** Keeps the instance in memory until the result is called. */
  retain(): () => void {
    return this.context.retain();
  }

  /** Settles when the work that answers wait for is done, besides the writes of the storage. */
  get confirmed(): Promise<void> {
    return this.#changes ?? Promise.resolve();
  }

  /** Makes answers wait for this work too from now on, as for a write. If the work fails, the object is reset. */
  confirm(work: Promise<void>): void {
    const all = Promise.all([this.#changes, work]).then(
      () => {
        if (this.#changes === all) this.#changes = undefined;
      },
      (error) => {
        this.#break(broken(error));
        throw error;
      },
    );
    this.#changes = all;
    this.context.keepAlive(all);
  }

  #dropKept(): void {
    if (this.#kept !== undefined) this.confirm(this.#kept.drop(this.address));
  }

  /** Resets the object and throws the reason, so that the running code stops. */
  abort(reason: string | undefined, retryAlarm = true): never {
    const error = abortedError(reason);
    if (!this.hasEnded) this.#break(error, 'itself', !retryAlarm);
    throw error;
  }

  /** Ends the instance; every unanswered event rejects with the reason. Idempotent. */
  reset(reason: unknown, by: ResetBy = 'itself'): void {
    if (!this.hasEnded) this.#break(reason, by);
  }

  /**
   * Ends the instance after its last write is durable. Events that still run reject with the reason;
   * events that only wait for a flush are answered.
   *
   * @throws errors of the last flush; the instance is reset then
   */
  async close(reason: StorageError): Promise<void> {
    if (!this.context.close(reason)) return;
    try {
      await this.storage.close();
    } catch (error) {
      this.#break(broken(error), 'storage');
      throw error;
    } finally {
      this.context.end(reason);
    }
  }

  // Resets the instance. This also happens while it closes, if the last flush fails.
  #break(reason: unknown, by: ResetBy = 'itself', dropsAlarm = false): void {
    if (!this.context.end(reason)) return;
    const released = this.storage.break(storageReason(reason));
    this.#reset = { released, dropsAlarm };
    this.#events.onReset(this, released, reason, by);
    this.#sockets?.reset();
  }

  #noteStored(): void {
    if (this.#isNoted || !this.storage.isStored) return;
    this.#isNoted = true;
    this.#events.onStored(this);
  }

  // The constructor is the first task of an instance; events wait for the sections it opens.
  #construct(): void {
    const construction = this.#construction;
    if (construction === null) return;
    this.context.construct(CONSTRUCTOR, () => {
      try {
        const bindings = construction.makeBindings(this);
        runEvent(this.context, () => this.#userObject?.construct(this.state, bindings));
      } catch (error) {
        this.reset(withReset(error));
      }
    });
  }

  #confirmation(): Promise<void> | undefined {
    const writes = this.storage.confirmation();
    if (this.#changes === undefined) return writes;
    return Promise.all([this.#changes, writes]).then(() => {});
  }

  get #runsAlarms(): boolean {
    const isAlone = this.startup === undefined && this.address.branch === undefined;
    return isAlone && this.handlers.alarm !== undefined;
  }

  #checkAlarm(): void {
    this.#userObject?.checkAlarm();
    this.#events.onAlarmSet();
    if (this.startup === undefined) return;
    const reason = alarmOfFacet();
    this.reset(reason);
    throw reason;
  }

  async #runAlarm(info: AlarmInvocationInfo): Promise<void> {
    this.storage.beginAlarm();
    try {
      await this.#within(ALARM_MS_MAX, alarmTimeout, () => this.handlers.alarm?.(info));
    } catch (error) {
      this.storage.endAlarm('failed');
      throw error;
    }
    this.storage.endAlarm('succeeded');
  }

  /**
   * Starts a live read for the object's own code. Results arrive as events of the object, in the critical section of
   * the code that listens.
   */
  #ownLive(read: StorageRead): LiveSource {
    return (sink) => {
      const enter = this.context.entrance();
      return this.live.add(storageRead(this.storage, read), (result) => {
        const arrive = () => {
          if ('ok' in result) sink.result(result.ok);
          else sink.failed(result.error);
        };
        enter(arrive).catch(() => {}); // The code that listens belongs to an instance that has ended.
      });
    };
  }

  #section<T>(closure: () => T | PromiseLike<T>, policy?: AccessPolicy): Promise<T> {
    const work = bindToFrame(closure);
    return this.context.runSection(
      () => this.#within(CRITICAL_SECTION_MS_MAX, sectionTimeout, work),
      policy,
    );
  }

  /** Runs the work, which resets the object if it takes longer than the limit. */
  #within<T>(
    limitMs: number,
    reason: () => StorageError,
    work: () => T | PromiseLike<T>,
  ): Promise<T> {
    const { afterRealTime } = this.#environment;
    const { context } = this;
    const retain = (onEnd: () => void) => context.retain(onEnd);
    return withinLimit({ afterRealTime, retain }, limitMs, () => this.reset(reason()), work);
  }
}

const ALARM = annotationOf({ kind: 'alarm' });
const CONSTRUCTOR = annotationOf({ kind: 'constructor' });
const NO_HANDLERS: Handlers = {};

async function openOwnFiles(
  address: ObjectAddress,
  { medium }: HostEnvironment,
  environment: LogEnvironment,
): Promise<OpenedBranch> {
  const directory = await medium.directory(addressKey(address));
  return { files: await ObjectFiles.open(directory, environment), sends: true };
}
