// One live instance of an object: its storage, its gates, and the events it has not answered.
//
// An event's reply leaves only when every confirmed write made before it is on disk (the output
// gate). A reset ends the instance: what was not confirmed is gone, unanswered events reject, its
// storage throws ever after, and the host makes a new one for the next event.

import { type StorageError, storageError } from '../../src/contract/errors.ts';
import { ALARM_MS_MAX, CRITICAL_SECTION_MS_MAX } from '../../src/contract/limits.ts';
import {
  addressKey,
  type DurableObjectId,
  type ObjectAddress,
} from '../../src/contract/object-id.ts';
import type { DurableObjectStorage as PublicStorage } from '../../src/contract/storage.ts';
import { ObjectStore } from '../log/object-store.ts';
import { DurableObjectStorage } from '../storage/durable-object-storage.ts';
import { ObjectStorage } from '../storage/object-storage.ts';
import { INTERNAL } from '../storage/surface.ts';
import { AlarmInvocationInfo } from './alarm-info.ts';
import { DurableObjectState } from './durable-object-state.ts';
import type { HostEnvironment } from './environment.ts';
import { type CriticalSection, InputGate } from './input-gate.ts';
import { InstanceSockets } from './instance-sockets.ts';
import type { ObjectClass, UserObject } from './object-class.ts';
import type { ObjectSockets } from './object-sockets.ts';

/** What an instance is given beside its storage: `env`, and `ctx.exports`. */
export interface Surroundings {
  readonly env: object;
  readonly exports: object;
}

/** The class of an object, and what its instances are given. */
export interface Hosted {
  readonly class: ObjectClass;
  readonly sockets: ObjectSockets;
  surround(instance: ObjectInstance): Surroundings;
}

export interface InstanceEvents {
  /** Runs a task of this instance. */
  runTask(instance: ObjectInstance, task: () => void): void;
  /** The instance was reset; `released` settles when its files are free. */
  onReset(instance: ObjectInstance, released: Promise<void>): void;
  /** The last unanswered event was answered. */
  onIdle(instance: ObjectInstance): void;
  /** The object's alarm was committed anew: its time in milliseconds, or null. */
  onAlarm(instance: ObjectInstance, timeMs: number | null): void;
}

export class ObjectInstance {
  readonly address: ObjectAddress;
  readonly gate: InputGate;
  readonly storage: ObjectStorage;
  readonly publicStorage: PublicStorage;
  readonly state: DurableObjectState;
  readonly #environment: HostEnvironment;
  readonly #events: InstanceEvents;
  /** How to reject each unanswered event. */
  readonly #unanswered = new Set<(error: unknown) => void>();
  readonly #hosted: Hosted | null;
  #object: UserObject | undefined;
  #surroundings: Surroundings | undefined;
  readonly #sockets: InstanceSockets | null;
  #isConstructing = false;
  #background = 0;
  /** The last outgoing message that waits for the disk; later ones queue behind it. */
  #outgoing: Promise<void> | undefined;
  #ended = false;
  #dropsAlarm = false;
  /** Why the instance was reset. */
  #reason: unknown;

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
    events: InstanceEvents,
    admitted: Promise<void> = Promise.resolve(),
  ): Promise<ObjectInstance> {
    admitted.catch(() => {}); // reported below
    const directory = await environment.medium.directory(addressKey(address));
    const store = await ObjectStore.open(directory, environment);
    let instance: ObjectInstance;
    try {
      await admitted;
      instance = new ObjectInstance(address, hosted, store, environment, events);
    } catch (error) {
      await store.close();
      throw error;
    }
    instance.#construct();
    return instance;
  }

  private constructor(
    address: ObjectAddress,
    hosted: Hosted | null,
    store: ObjectStore,
    environment: HostEnvironment,
    events: InstanceEvents,
  ) {
    this.address = address;
    this.#hosted = hosted;
    this.#sockets = hosted && new InstanceSockets(this, hosted.sockets);
    this.#environment = environment;
    this.#events = events;
    this.gate = new InputGate(environment, (task) => events.runTask(this, task));
    this.storage = new ObjectStorage(
      store,
      (report) => environment.openDatabase(store, report),
      {
        now: environment.now,
        nextTurn: environment.nextTurn,
        section: (closure) => this.#section(closure),
        continuation: () => this.gate.continuation(),
        onBroken: (error) => this.reset(broken(error)),
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
    return this.#surroundings?.exports ?? {};
  }

  /** The user's object; undefined for an object without a class. */
  get object(): UserObject | undefined {
    return this.#object;
  }

  /** True when nothing runs and nothing waits: the instance may be evicted. */
  get isIdle(): boolean {
    return this.#unanswered.size === 0 && this.#background === 0;
  }

  /** The reset was told not to run the alarm again whose handler it ended. */
  get dropsAlarm(): boolean {
    return this.#dropsAlarm;
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /**
   * Delivers an event and settles as it does, behind the output gate. Rejects with the reason of a
   * reset that comes first.
   */
  deliver<T>(
    event: (state: DurableObjectState) => T | PromiseLike<T>,
    context: CriticalSection | null = null,
  ): Promise<T> {
    if (this.#ended) return Promise.reject(this.#reason);
    return new Promise<T>((resolve, reject) => {
      this.#unanswered.add(reject);
      const answer = (settle: () => void) => {
        if (this.#ended) return; // the reset has rejected it
        this.#confirmed(() => {
          this.#unanswered.delete(reject);
          settle();
          if (this.isIdle) this.#events.onIdle(this);
        });
      };
      this.gate.deliver(context, () => {
        call(() => event(this.state)).then(
          (value) => answer(() => resolve(value)),
          (error) => answer(() => reject(error)),
        );
      });
    });
  }

  /**
   * Runs the alarm's handler as an event; rejects when it fails. Resolves to the time of an alarm
   * that is not due, else to null; without an alarm nothing happens.
   */
  alarm(retryCount: number): Promise<number | null> {
    return this.deliver(async () => {
      const scheduledTime = this.storage.storedAlarm;
      if (scheduledTime === null) return null;
      if (scheduledTime > this.#environment.now()) return scheduledTime;
      this.storage.beginAlarm();
      const info = new AlarmInvocationInfo({ scheduledTime, retryCount });
      const cancel = this.#environment.guard(ALARM_MS_MAX, () => this.reset(alarmTimeout()));
      try {
        await this.#object?.alarm?.(info);
      } catch (error) {
        this.storage.endAlarm('failed');
        throw error;
      } finally {
        cancel();
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
  io<T>(start: () => T | PromiseLike<T>): Promise<T> {
    const pending = this.storage.confirmation();
    const before = this.#outgoing;
    const leave =
      before === undefined && pending === undefined
        ? undefined
        : Promise.all([before, pending]).then(() => {});
    if (leave !== undefined) {
      this.#outgoing = leave;
      const left = () => {
        if (this.#outgoing === leave) this.#outgoing = undefined;
      };
      leave.then(left, left);
    }
    return this.input(
      () =>
        new Promise<T>((resolve, reject) => {
          // In a turn of its own: what runs there may be a task of another object.
          const begin = () =>
            this.#environment.nextTurn(() => {
              if (!this.#ended) call(start).then(resolve, reject);
            });
          if (leave === undefined) begin();
          else leave.then(begin, () => {}); // a failed flush has reset the object
        }),
    );
  }

  /** Work outside of the object whose result comes back through the input gate, as `io`. */
  input<T>(start: () => Promise<T>): Promise<T> {
    const { context } = this.gate;
    const release = this.retain();
    return new Promise<T>((resolve, reject) => {
      const back = (settle: () => void) => {
        release();
        this.gate.deliverLater(context, settle);
      };
      start().then(
        (value) => back(() => resolve(value)),
        (error) => back(() => reject(error)),
      );
    });
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

  /** Keeps the instance in memory until the result is called. */
  retain(): () => void {
    let isHeld = true;
    this.#background += 1;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#background -= 1;
      if (this.isIdle) this.#events.onIdle(this);
    };
  }

  /** Resets the object and throws the reason, so that the running code stops. */
  abort(reason: string | undefined, retryAlarm = true): never {
    const error = storageError('OBJECT_RESET', reason ?? 'The object was reset by ctx.abort().');
    this.#dropsAlarm = !retryAlarm;
    this.reset(error);
    throw error;
  }

  /** Ends the instance; every unanswered event rejects with the reason. Idempotent. */
  reset(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reason = reason;
    this.gate.close();
    const broken =
      reason instanceof Error && 'code' in reason
        ? (reason as StorageError)
        : storageError('OBJECT_RESET', 'The object was reset.', { cause: reason });
    const released = this.storage.break(broken);
    const unanswered = [...this.#unanswered];
    this.#unanswered.clear();
    this.#events.onReset(this, released);
    this.#sockets?.reset();
    for (const reject of unanswered) reject(reason);
  }

  /** Ends an idle instance after its last write is on disk. */
  async close(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#reason = storageError('OBJECT_RESET', 'The object was closed while idle.');
    this.gate.close();
    await this.storage.close();
  }

  // The constructor is the first task of an instance; events wait for the sections it opens.
  #construct(): void {
    const hosted = this.#hosted;
    if (hosted === null) return;
    this.gate.resume(null, () => {
      this.#isConstructing = true;
      try {
        this.#surroundings = hosted.surround(this);
        const { env } = this.#surroundings;
        this.#object = new hosted.class.construct(this.state as never, env as never);
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
    if (this.#hosted === null || this.#hosted.class.hasAlarm || this.#isConstructing) return;
    throw storageError(
      'UNKNOWN_METHOD',
      `setAlarm: class ${className} has no alarm() method; give it one.`,
    );
  }

  #confirmed(release: () => void): void {
    const pending = this.storage.confirmation();
    if (pending === undefined) release();
    // A failed flush resets the object, and the reset rejects the event.
    else
      pending.then(
        () => {
          if (!this.#ended) release();
        },
        () => {},
      );
  }

  #section<T>(closure: () => T | PromiseLike<T>): Promise<T> {
    return this.gate.section(async () => {
      const cancel = this.#environment.guard(CRITICAL_SECTION_MS_MAX, () =>
        this.reset(
          storageError(
            'TRANSACTION_TIMEOUT',
            `A critical section held the object for ${CRITICAL_SECTION_MS_MAX / 1000} s; ` +
              'the object was reset. Do slow work outside of it.',
          ),
        ),
      );
      try {
        return await closure();
      } finally {
        cancel();
      }
    });
  }
}

function alarmTimeout(): Error {
  return storageError(
    'ALARM_TIMEOUT',
    `An alarm() handler ran for ${ALARM_MS_MAX / 60_000} minutes; the object was reset, and the ` +
      'alarm will be tried again. Do long work in several alarms.',
  );
}

// An error of user code stays itself (class, message), and tells that it reset the object.
function withReset(error: unknown): unknown {
  if (error instanceof Error && Object.isExtensible(error)) {
    Object.defineProperty(error, 'durableObjectReset', { value: true, configurable: true });
  }
  return error;
}

// A failure beneath (a commit, a flush) keeps its class, code and message.
function broken(error: unknown): unknown {
  return error instanceof Error
    ? error
    : storageError('INTERNAL', 'The storage failed.', { cause: error });
}

async function call<T>(event: () => T | PromiseLike<T>): Promise<T> {
  return await event();
}
