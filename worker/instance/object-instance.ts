// One live instance of an object: its storage, its gates, and the events it has not answered.
//
// An event's reply leaves only when every confirmed write made before it is on disk (the output
// gate). A reset ends the instance: what was not confirmed is gone, unanswered events reject, its
// storage throws ever after, and the host makes a new one for the next event. An orderly end
// (`close`) rejects the events that still run, and answers those that wait for the disk only.

import { type StorageError, storageError } from '../../src/contract/errors.ts';
import { ALARM_MS_MAX, CRITICAL_SECTION_MS_MAX } from '../../src/contract/limits.ts';
import {
  addressKey,
  type DurableObjectId,
  type ObjectAddress,
} from '../../src/contract/object-id.ts';
import type { DurableObjectStorage as PublicStorage } from '../../src/contract/storage.ts';
import { runTask } from '../../src/io/current-context.ts';
import type { Enter, IoContext, IoHost } from '../../src/io/io-context.ts';
import { AlarmInvocationInfo } from '../alarms/alarm-info.ts';
import type { CriticalSection } from '../io/critical-section.ts';
import { InputGate } from '../io/input-gate.ts';
import { Lifecycle } from '../io/lifecycle.ts';
import { OutputGate } from '../io/output-gate.ts';
import { ObjectStore } from '../log/object-store.ts';
import type { HibernatingSockets } from '../sockets/hibernating-sockets.ts';
import { InstanceSockets } from '../sockets/instance-sockets.ts';
import { DurableObjectStorage } from '../storage/durable-object-storage.ts';
import { ObjectStorage } from '../storage/object-storage.ts';
import { INTERNAL } from '../storage/surface.ts';
import { DurableObjectState } from './durable-object-state.ts';
import type { HostEnvironment } from './environment.ts';
import { type Handlers, handlersOf } from './handlers.ts';
import type { ObjectClass } from './object-class.ts';
import {
  aborted,
  alarmTimeout,
  broken,
  sectionTimeout,
  storageReason,
  withReset,
} from './reset-reasons.ts';

/** How long an instance without events stays in memory (workerd: 10 s). */
const IDLE_MS = 10_000;

/** What an instance is given beside its storage: `env`, and `ctx.exports`. */
export interface InstanceBindings {
  readonly env: object;
  readonly exports: object;
}

/** The class of an object, and what its instances are given. */
export interface Hosted {
  readonly class: ObjectClass;
  readonly sockets: HibernatingSockets;
  makeBindings(instance: ObjectInstance): InstanceBindings;
}

/** Who reset an object: its code or its storage, or somebody who tends it (a page's tool, a test). */
export type ResetBy = 'itself' | 'outside';

export interface InstanceEvents {
  /** The instance was reset; `released` settles when its files are free. */
  onReset(instance: ObjectInstance, released: Promise<void>, reason: unknown, by: ResetBy): void;
  /** Nothing has used the instance for a while: it is to be closed. */
  onEvict(instance: ObjectInstance): void;
  /** The object's alarm was committed anew: its time in milliseconds, or null. */
  onAlarm(instance: ObjectInstance, timeMs: number | null): void;
}

export class ObjectInstance implements IoContext {
  readonly host: IoHost;
  readonly address: ObjectAddress;
  readonly gate: InputGate;
  readonly storage: ObjectStorage;
  readonly publicStorage: PublicStorage;
  readonly state: DurableObjectState;
  readonly #environment: HostEnvironment;
  readonly #events: InstanceEvents;
  readonly #lifecycle: Lifecycle;
  readonly #output: OutputGate;
  readonly #hosted: Hosted | null;
  #object: object | undefined;
  #handlers: Handlers = {};
  #bindings: InstanceBindings | undefined;
  readonly #sockets: InstanceSockets | null;
  #isConstructing = false;
  #dropsAlarm = false;

  /**
   * Opens the object's files, recovers them, applies a restore that was asked for and, once
   * `admitted`, constructs the user's object. A constructor that throws resets the instance.
   *
   * @throws what the files throw, and the reason of `admitted`; the files are free then
   */
  static async open(
    address: ObjectAddress,
    hosted: Hosted | null,
    environment: HostEnvironment,
    host: IoHost,
    events: InstanceEvents,
    admitted: Promise<void> = Promise.resolve(),
  ): Promise<ObjectInstance> {
    admitted.catch(() => {}); // reported below
    const directory = await environment.medium.directory(addressKey(address));
    const store = await ObjectStore.open(directory, environment);
    let instance: ObjectInstance;
    try {
      await admitted;
      instance = new ObjectInstance(address, hosted, store, environment, host, events);
    } catch (error) {
      await store.close();
      throw error;
    }
    instance.#construct();
    instance.#lifecycle.start();
    return instance;
  }

  private constructor(
    address: ObjectAddress,
    hosted: Hosted | null,
    store: ObjectStore,
    environment: HostEnvironment,
    host: IoHost,
    events: InstanceEvents,
  ) {
    this.host = host;
    this.address = address;
    this.#hosted = hosted;
    this.#sockets = hosted && new InstanceSockets(this, hosted.sockets);
    this.#environment = environment;
    this.#events = events;
    const { after, idleMs = IDLE_MS } = environment;
    this.#lifecycle = new Lifecycle({ after, idleMs, onEvict: () => events.onEvict(this) });
    this.gate = new InputGate(environment, (task) => runTask(this, task));
    this.#output = new OutputGate(() => this.storage.confirmation());
    this.storage = new ObjectStorage(
      store,
      (report) => environment.openDatabase(store, report),
      {
        now: environment.now,
        nextTurn: environment.nextTurn,
        section: (closure) => this.#section(closure),
        continuation: () => this.gate.continuation(),
        onBroken: (error) => this.#break(broken(error)),
        onAlarm: (timeMs) => events.onAlarm(this, timeMs),
        checkAlarm: () => this.#checkAlarm(),
      },
      hosted?.class.options ?? environment.storageOptions,
    );
    const surface = new DurableObjectStorage(INTERNAL, this.storage);
    this.publicStorage = surface as unknown as PublicStorage;
    this.state = new DurableObjectState(INTERNAL, this);
  }

  get id(): DurableObjectId {
    return this.address.id;
  }

  /** @throws when the object has no class: nothing would handle their messages */
  get sockets(): InstanceSockets {
    if (this.#sockets === null) {
      throw storageError('UNKNOWN_CLASS', 'An object of openStorage has no class, and no sockets.');
    }
    return this.#sockets;
  }

  /** `ctx.exports`: the namespaces of all classes. */
  get exports(): object {
    return this.#bindings?.exports ?? {};
  }

  /** The user's object; undefined for an object without a class. */
  get object(): object | undefined {
    return this.#object;
  }

  get handlers(): Handlers {
    return this.#handlers;
  }

  /** When its handler is to run, in milliseconds; null without an alarm, and without a handler. */
  get alarmMs(): number | null {
    return this.#handlers.alarm === undefined ? null : this.storage.storedAlarm;
  }

  get compatibilityDate(): string | undefined {
    return this.storage.options.compatibilityDate;
  }

  /** The reset was told not to run the alarm again whose handler it ended. */
  get dropsAlarm(): boolean {
    return this.#dropsAlarm;
  }

  get hasEnded(): boolean {
    return this.#lifecycle.hasEnded;
  }

  /**
   * Delivers an event and settles as it does, behind the output gate. Rejects with the reason of an
   * end that comes first.
   */
  deliver<T>(
    event: (state: DurableObjectState) => T | PromiseLike<T>,
    context: CriticalSection | null = null,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const release = this.#lifecycle.hold(reject);
      const answer = (settle: () => void) => this.#answer(release, settle, reject);
      this.gate.deliver(context, () => {
        call(() => event(this.state)).then(
          (value) => answer(() => resolve(value)),
          (error) => answer(() => reject(error)),
        );
      });
    });
  }

  entrance(): Enter {
    const { currentSection: context } = this.gate;
    return (task) => this.deliver(() => task(), context);
  }

  /**
   * Runs the alarm's handler as an event; rejects when it fails. Resolves to the time of an alarm
   * that is not due, else to null; without an alarm nothing happens.
   */
  alarm(retryCount: number): Promise<number | null> {
    return this.deliver(async () => {
      const scheduledTime = this.alarmMs;
      if (scheduledTime === null) return null;
      if (scheduledTime > this.#environment.now()) return scheduledTime;
      this.storage.beginAlarm();
      const info = new AlarmInvocationInfo({ scheduledTime, retryCount });
      try {
        await this.#limited(ALARM_MS_MAX, alarmTimeout, () => this.#handlers.alarm?.(info));
      } catch (error) {
        this.storage.endAlarm('failed');
        throw error;
      }
      this.storage.endAlarm('succeeded');
      return null;
    });
  }

  /**
   * Outgoing I/O of the running task: a call of another object, a request, a message to a page.
   *
   * `start` runs when everything that was written before is on disk, in order of these calls; its
   * result comes back through the input gate, to the critical section it was asked for in.
   */
  send<T>(start: () => T | PromiseLike<T>): Promise<T> {
    const passage = this.#output.passage();
    return this.receive(
      () =>
        new Promise<T>((resolve, reject) => {
          // In a turn of its own: what runs there may be a task of another object.
          const begin = () =>
            this.#environment.nextTurn(() => {
              if (!this.hasEnded) call(start).then(resolve, reject);
            });
          if (passage === undefined) begin();
          else passage.then(begin, () => {}); // a failed flush has reset the object
        }),
    );
  }

  /** Work outside of the object whose result comes back through the input gate, as `send`. */
  receive<T>(start: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.hasEnded) return; // the code that waits is part of a dead instance
      const { currentSection: context } = this.gate;
      const release = this.retain();
      const back = (settle: () => void) =>
        this.gate.deliverLater(context, () => {
          release();
          settle();
        });
      call(start).then(
        (value) => back(() => resolve(value)),
        (error) => back(() => reject(error)),
      );
    });
  }

  reentry(): (event: () => void) => void {
    const { currentSection: context } = this.gate;
    return (event) => this.gate.deliver(context, event);
  }

  /** Runs the callback as a critical section whose failure resets the object. */
  blockConcurrency<T>(callback: () => T | PromiseLike<T>): Promise<T> {
    return this.#section(async () => {
      try {
        return await callback();
      } catch (error) {
        this.reset(withReset(error));
        return new Promise<T>(() => {}); // the code that waits is part of a dead instance
      }
    });
  }

  keepAlive(work: Promise<unknown>): void {
    const release = this.retain();
    work.then(release, release);
  }

  retain(onEnd: (reason: unknown) => void = NOTHING): () => void {
    return this.#lifecycle.hold(onEnd);
  }

  onEnd(told: () => void): () => void {
    return this.#lifecycle.watch(told);
  }

  /** Resets the object and throws the reason, so that the running code stops. */
  abort(reason: string | undefined, retryAlarm = true): never {
    const error = aborted(reason);
    if (!this.hasEnded) this.#dropsAlarm = !retryAlarm;
    this.reset(error);
    throw error;
  }

  /** Ends the instance; every unanswered event rejects with the reason. Idempotent. */
  reset(reason: unknown, by: ResetBy = 'itself'): void {
    if (!this.hasEnded) this.#break(reason, by);
  }

  /**
   * Ends the instance after its last write is on disk. Events that still run reject with the reason;
   * those that wait for the disk only are answered.
   *
   * @throws what the last flush throws; the instance is reset then
   */
  async close(reason: StorageError): Promise<void> {
    if (!this.#lifecycle.close(reason)) return;
    this.gate.close();
    try {
      await this.storage.close();
    } catch (error) {
      this.#break(broken(error));
      throw error;
    } finally {
      this.#lifecycle.end(reason);
    }
  }

  // Also while it closes: then the last flush has failed.
  #break(reason: unknown, by: ResetBy = 'itself'): void {
    if (!this.#lifecycle.end(reason)) return;
    this.gate.close();
    this.#events.onReset(this, this.storage.break(storageReason(reason)), reason, by);
    this.#sockets?.reset();
  }

  // The constructor is the first task of an instance; events wait for the sections it opens.
  #construct(): void {
    const hosted = this.#hosted;
    if (hosted === null) return;
    this.gate.resume(null, () => {
      this.#isConstructing = true;
      try {
        this.#bindings = hosted.makeBindings(this);
        const { env } = this.#bindings;
        this.#object = new hosted.class.construct(this.state as never, env as never);
        this.#handlers = handlersOf(this.#object);
      } catch (error) {
        this.reset(withReset(error));
      } finally {
        this.#isConstructing = false;
      }
    });
  }

  // workerd: an alarm that nothing would handle is refused, except in the constructor.
  #checkAlarm(): void {
    const { className } = this.address;
    if (this.#hosted === null || this.#isConstructing || this.#handlers.alarm !== undefined) return;
    throw storageError(
      'UNKNOWN_METHOD',
      `setAlarm: class ${className} has no alarm() handler; give it one.`,
    );
  }

  // An answer waits for the disk only: `release`d from the end of running events, it is settled by
  // the flush, or by the end that the flush brings.
  #answer(release: () => void, settle: () => void, reject: (reason: unknown) => void): void {
    if (this.hasEnded) return; // the event was rejected
    const pending = this.storage.confirmation();
    if (pending === undefined) {
      settle();
      release();
      return;
    }
    const forget = this.retain();
    release();
    const lost = () => reject(this.#lifecycle.reason);
    pending.then(settle, lost).then(forget);
  }

  #section<T>(closure: () => T | PromiseLike<T>): Promise<T> {
    return this.gate.runSection(() => this.#limited(CRITICAL_SECTION_MS_MAX, sectionTimeout, closure));
  }

  // The limit is in real time, and ends with the instance.
  async #limited<T>(
    limitMs: number,
    reason: () => StorageError,
    work: () => T | PromiseLike<T>,
  ): Promise<T> {
    const cancel = this.#environment.afterRealTime(limitMs, () => this.reset(reason()));
    const release = this.retain(cancel);
    try {
      return await work();
    } finally {
      cancel();
      release();
    }
  }
}

const NOTHING = () => {};

async function call<T>(event: () => T | PromiseLike<T>): Promise<T> {
  return await event();
}
