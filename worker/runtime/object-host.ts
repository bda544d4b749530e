// All objects of one worker: finds or makes the instance of a name, and delivers events to it.
//
// Invariant: an object has at most one live instance, and a new one opens its files only after the
// old one has let go of them. Idle instances are evicted: memory is lost, storage is kept.

import type { DurableObjectState } from './durable-object-state.ts';
import type { HostEnvironment } from './environment.ts';
import { DurableObjectId } from './object-id.ts';
import { ObjectInstance } from './object-instance.ts';

/** How long an instance without events stays in memory (workerd: 10 s). */
const IDLE_MS = 10_000;

/** What is known of an object that was used: its instance, or what must end before the next. */
type Slot =
  | { readonly kind: 'opening'; readonly instance: Promise<ObjectInstance> }
  | { readonly kind: 'live'; readonly instance: ObjectInstance; cancelEviction: () => void }
  | { readonly kind: 'closing'; readonly released: Promise<void> };

export class ObjectHost {
  readonly #environment: HostEnvironment;
  readonly #slots = new Map<string, Slot>();
  #current: ObjectInstance | undefined;

  constructor(environment: HostEnvironment) {
    this.#environment = environment;
  }

  /** The instance whose task is running, as far as tasks come through its gate. */
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
        this.rest(name);
      },
      () => this.#slots.delete(name),
    );
    return instance;
  }

  async #make(name: string): Promise<ObjectInstance> {
    const id = await DurableObjectId.fromName(name);
    return ObjectInstance.open(id, this.#environment, {
      onTask: (instance) => {
        this.#current = instance;
      },
      onReset: (_instance, released) => this.#release(name, released),
      onIdle: () => this.rest(name),
    });
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
