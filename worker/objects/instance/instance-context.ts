// The I/O context of one instance: events come in through its input gate, and what they say leaves
// behind its output gate.
//
// Invariant: an event's answer leaves only when every confirmed write made before it is durable. When
// the instance ends, whatever still waits here rejects or never settles, and nothing runs or leaves.
//
// Knows nothing of the user's class and of storage, of which it asks only what is not durable yet.

import { runTask } from '../../src/io/current-context.ts';
import type { Enter, IoContext, IoHost } from '../../src/io/io-context.ts';
import type { Cancellation } from '../io/cancellation.ts';
import type { CriticalSection } from '../io/critical-section.ts';
import { InputGate } from '../io/input-gate.ts';
import { Lifecycle, type LifecycleEnvironment } from '../io/lifecycle.ts';
import { OutputGate } from '../io/output-gate.ts';
import type { Turns } from '../io/turns.ts';

export interface ContextOptions extends LifecycleEnvironment, Turns {
  readonly host: IoHost;
  readonly compatibilityDate: string | undefined;
  /** Settles when every confirmed write so far is durable; undefined: they all are. */
  confirmation(): Promise<void> | undefined;
}

export class InstanceContext implements IoContext {
  readonly host: IoHost;
  readonly compatibilityDate: string | undefined;
  readonly gate: InputGate;
  readonly #options: ContextOptions;
  readonly #output: OutputGate;
  readonly #lifecycle: Lifecycle;
  #eventCount = 0;
  /** Of the call that the running task works for. */
  #cancellation: Cancellation | undefined;

  constructor(options: ContextOptions) {
    this.host = options.host;
    this.compatibilityDate = options.compatibilityDate;
    this.#options = options;
    this.gate = new InputGate(options, (task) => {
      this.#cancellation = undefined;
      runTask(this, task);
    });
    this.#output = new OutputGate(() => options.confirmation());
    this.#lifecycle = new Lifecycle(options);
  }

  get hasEnded(): boolean {
    return this.#lifecycle.hasEnded;
  }

  /** How many events have not been answered. */
  get eventCount(): number {
    return this.hasEnded ? 0 : this.#eventCount;
  }

  /** True if the running task works for a call that its caller has cancelled. */
  get isCancelled(): boolean {
    return this.#cancellation?.isCancelled() ?? false;
  }

  /**
   * The running task works for this call, until the next task or turn, or until it works for another one;
   * undefined: for none that can be cancelled.
   */
  workFor(cancellation: Cancellation | undefined): void {
    if (cancellation === this.#cancellation) return;
    this.#cancellation = cancellation;
    if (cancellation === undefined) return;
    const { nextTurn, beforeNextTurn = nextTurn } = this.#options;
    beforeNextTurn(() => {
      if (this.#cancellation === cancellation) this.#cancellation = undefined;
    });
  }

  /** The instance was made: from now on it is evicted when nothing keeps it. */
  start(): void {
    this.#lifecycle.start();
  }

  /** True while nothing keeps the instance in memory. */
  get isIdle(): boolean {
    return this.#lifecycle.isIdle;
  }

  /** Evicts the instance before its time, if nothing keeps it. */
  evict(): void {
    this.#lifecycle.evict();
  }

  /** Begins an orderly end: events that still run reject. False when an end has begun already. */
  close(reason: unknown): boolean {
    const begins = this.#lifecycle.close(reason);
    if (begins) this.gate.close();
    return begins;
  }

  /** Ends the context. False when it has ended already. */
  end(reason: unknown): boolean {
    const ends = this.#lifecycle.end(reason);
    if (ends) this.gate.close();
    return ends;
  }

  /**
   * Delivers an event and settles as it does, behind the output gate. Rejects with the reason of an
   * end that comes first.
   */
  deliver<T>(event: () => T | PromiseLike<T>, section: CriticalSection | null = null): Promise<T> {
    return this.#answered((settle) => this.gate.deliver(section, () => settle(call(event))));
  }

  /**
   * Delivers an event that runs no code of the object: like `deliver`, but within this call if the gate admits
   * it now, and with its result itself if that is there and waits for nothing.
   *
   * @throws the reason of the end that the event has brought
   */
  deliverNow<T>(event: () => T | Promise<T>, section: CriticalSection | null): T | Promise<T> {
    const results: (T | Promise<T>)[] = [];
    const isAdmitted = this.gate.runNow(section, () => {
      this.#cancellation = undefined;
      results.push(event());
    });
    if (!isAdmitted) return this.deliver(event, section);
    if (this.hasEnded) throw this.#lifecycle.reason;
    const result = results[0]!;
    if (result instanceof Promise || this.#options.confirmation() !== undefined) {
      return this.#answered((settle) => settle(Promise.resolve(result)));
    }
    this.retain()(); // it was used: it rests from now on
    return result;
  }

  entrance(): Enter {
    const { currentSection } = this.gate;
    return (task) => this.deliver(task, currentSection);
  }

  send<T>(start: () => T | PromiseLike<T>): Promise<T> {
    const passage = this.#output.passage();
    return this.receive(
      () =>
        new Promise<T>((resolve, reject) => {
          // In a turn of its own: what runs there may be a task of another object.
          const begin = () =>
            this.#options.nextTurn(() => {
              if (!this.hasEnded) call(start).then(resolve, reject);
            });
          if (passage === undefined) begin();
          else passage.then(begin, () => {}); // a failed flush has reset the object
        }),
    );
  }

  receive<T>(start: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.hasEnded) return; // the code that waits is part of a dead instance
      const { currentSection } = this.gate;
      const release = this.retain();
      const back = (settle: () => void) =>
        this.gate.deliverLater(currentSection, () => {
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
    const { currentSection } = this.gate;
    return (event) => this.gate.deliver(currentSection, event);
  }

  retain(onEnd: (reason: unknown) => void = NOTHING): () => void {
    return this.#lifecycle.hold(onEnd);
  }

  onEnd(told: (reason: unknown) => void): () => void {
    return this.#lifecycle.watch(told);
  }

  /** Keeps the instance in memory until the promise settles. */
  keepAlive(work: Promise<unknown>): void {
    const release = this.retain();
    work.then(release, release);
  }

  /** Settles like the result that the event gives to `settle`, behind the output gate. */
  #answered<T>(start: (settle: (result: Promise<T>) => void) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const unhold = this.#lifecycle.hold(reject);
      this.#eventCount += 1;
      const release = () => {
        this.#eventCount -= 1;
        unhold();
      };
      const answer = (settle: () => void) => this.#answer(release, settle, reject);
      start((result) => {
        result.then(
          (value) => answer(() => resolve(value)),
          (error) => answer(() => reject(error)),
        );
      });
    });
  }

  // An event that has run no longer rejects when a close begins (`release`): its answer waits for the
  // flush, which settles it, or for the end that a failed flush brings.
  #answer(release: () => void, settle: () => void, reject: (reason: unknown) => void): void {
    if (this.hasEnded) return; // the event was rejected
    const pending = this.#options.confirmation();
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
}

const NOTHING = () => {};

async function call<T>(event: () => T | PromiseLike<T>): Promise<T> {
  return await event();
}
