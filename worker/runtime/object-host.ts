// All objects of one worker: finds or makes the instance of a name, and delivers events to it.
//
// Invariant: an object has at most one live instance, and a new one opens its files only after the
// old one has let go of them. Idle instances are evicted: memory is lost, storage is kept.

import { AlarmInvocationInfo } from './alarm-info.ts';
import { type AlarmRun, AlarmScheduler } from './alarm-scheduler.ts';
import type { DurableObjectState } from './durable-object-state.ts';
import type { HostEnvironment } from './environment.ts';
import { DurableObjectId } from './object-id.ts';
import { ObjectInstance } from './object-instance.ts';

/** How long an instance without events stays in memory (workerd: 10 s). */
const IDLE_MS = 10_000;

/** What runs when an object's alarm is due. */
export type AlarmHandler = (state: DurableObjectState, info: AlarmInvocationInfo) => unknown;

/** What is known of an object that was used: its instance, or what must end before the next. */
type Slot =
  | { readonly kind: 'opening'; readonly instance: Promise<ObjectInstance> }
  | { readonly kind: 'live'; readonly instance: ObjectInstance; cancelEviction: () => void }
  | { readonly kind: 'closing'; readonly released: Promise<void> };

export class ObjectHost {
  readonly #environment: HostEnvironment;
  readonly #slots = new Map<string, Slot>();
  readonly #alarmHandlers = new Map<string, AlarmHandler>();
  readonly #alarms: AlarmScheduler;
  #current: ObjectInstance | undefined;

  constructor(environment: HostEnvironment) {
    this.#environment = environment;
    const { now, after, randomUint32 } = environment;
    this.#alarms = new AlarmScheduler(
      { now, after, random: () => randomUint32() / 2 ** 32 },
      {
        run: (name, run) => this.#runAlarm(name, run),
        giveUp: (name) => this.deliver(name, (state) => state.storage.deleteAlarm()),
      },
    );
  }

  /** Gives the object an alarm handler; without one its alarm is stored and does not run. */
  setAlarmHandler(name: string, handler: AlarmHandler): void {
    this.#alarmHandlers.set(name, handler);
  }

  /** The instance whose task is running; none outside of the tasks that come through a gate. */
  get current(): ObjectInstance | undefined {
    return this.#current;
  }

  /**
   * Delivers one event to the object of this name, making or restarting it. The promise settles
   * behind the output gate; when the object was reset it rejects with the reason.
   */
  async deliver<T>(
    name: string,
    event: (state: DurableObjectState) => T | PromiseLike<T>,
  ): Promise<T> {
    const instance = await this.instance(name);
    return await instance.deliver(event);
  }

  /** The live instance of a name. @throws what opening its files throws */
  async instance(name: string): Promise<ObjectInstance> {
    for (;;) {
      const slot = this.#slots.get(name);
      if (slot === undefined) return this.#open(name);
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
  async reset(name: string, reason: unknown): Promise<void> {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    if (slot.kind !== 'closing') (await slot.instance).reset(reason);
    const closing = this.#slots.get(name);
    if (closing?.kind === 'closing') await closing.released;
  }

  /** Removes the object and its files. */
  async erase(name: string): Promise<void> {
    await this.#close(name);
    this.#alarms.forget(name);
    this.#alarmHandlers.delete(name);
    const id = await DurableObjectId.fromName(name);
    await this.#environment.removeDirectory(id.toString());
  }

  /** Closes every instance after its last write is on disk. */
  async close(): Promise<void> {
    await Promise.all([...this.#slots.keys()].map((name) => this.#close(name)));
  }

  /** The instance has nothing to do; it is evicted unless an event comes. */
  rest(name: string): void {
    const slot = this.#slots.get(name);
    if (slot?.kind !== 'live') return;
    slot.cancelEviction();
    slot.cancelEviction = this.#environment.after(IDLE_MS, () => {
      if (slot.instance.isIdle) void this.#close(name);
    });
  }

  #open(name: string): Promise<ObjectInstance> {
    const instance = this.#make(name);
    this.#slots.set(name, { kind: 'opening', instance });
    instance.then(
      (live) => {
        this.#slots.set(name, { kind: 'live', instance: live, cancelEviction: NOTHING });
        const { storedAlarm } = live.storage;
        if (storedAlarm !== null && this.#alarmHandlers.has(name)) {
          this.#alarms.found(name, storedAlarm);
        }
        this.rest(name);
      },
      () => this.#slots.delete(name),
    );
    return instance;
  }

  async #make(name: string): Promise<ObjectInstance> {
    const id = await DurableObjectId.fromName(name);
    return ObjectInstance.open(id, this.#environment, {
      onTask: (instance) => this.#enter(instance),
      onReset: (_instance, released) => this.#release(name, released),
      onIdle: () => this.rest(name),
      onAlarm: (timeMs) => {
        if (this.#alarmHandlers.has(name)) this.#alarms.set(name, timeMs);
      },
    });
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

  async #runAlarm(name: string, run: AlarmRun): Promise<void> {
    const handler = this.#alarmHandlers.get(name);
    if (handler === undefined) return;
    const instance = await this.instance(name);
    await instance.alarm(() => handler(instance.state, new AlarmInvocationInfo(run)));
  }

  async #close(name: string): Promise<void> {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    if (slot.kind === 'closing') return slot.released;
    const instance = await slot.instance;
    const live = this.#slots.get(name);
    if (live?.kind === 'live' && live.instance === instance) {
      live.cancelEviction();
      this.#release(name, instance.close());
    }
    const closing = this.#slots.get(name);
    if (closing?.kind === 'closing') await closing.released;
  }

  #release(name: string, released: Promise<void>): void {
    const done = () => {
      if (this.#slots.get(name) === slot) this.#slots.delete(name);
    };
    const slot: Slot = { kind: 'closing', released: released.then(done, done) };
    this.#slots.set(name, slot);
  }
}

const NOTHING = () => {};
