// The I/O context of one instance, or of one event of an entry point: events come in through its input gate, and their messages leave
// behind its output gate.
//
// Invariant: an event's answer leaves only when every confirmed write made before it is durable. When
// the instance ends, whatever still waits here rejects or never settles, and nothing runs or leaves.
//
// Knows nothing of the user's class and of storage, which it asks only whether all is durable.

import { runEvent, runTask } from '../../../src/shared/calls/io/current-context.ts';
import type { Enter, IoContext, IoHost } from '../../../src/shared/calls/io/io-context.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import type { Annotation } from '../../engine/log/annotation.ts';
import { type AccessPolicy, UNRESTRICTED } from '../../engine/storage/access-policy.ts';
import type { CommitScope } from '../../engine/storage/storage-environment.ts';
import type { Cancellation } from '../io/cancellation.ts';
import { type CriticalSection, InputGate } from '../io/input-gate.ts';
import { Lifecycle, type LifecycleEnvironment } from '../io/lifecycle.ts';
import type { Turns } from '../io/turns.ts';

export interface ContextOptions extends LifecycleEnvironment, Turns {
  readonly host: IoHost;
  readonly compatibilityDate: string | undefined;
  /** False: what the code sends to others is refused. */
  readonly sends: boolean;
  /** True: of one event of an entry point. */
  readonly endsWithEvent?: boolean;
  /** What its code may do to the storage. @default everything */
  readonly policy?: AccessPolicy;
  /** Settles when every confirmed write so far is durable; undefined: they all are. */
  confirmation(): Promise<void> | undefined;
}

export class InstanceContext implements IoContext {
  readonly host: IoHost;
  readonly compatibilityDate: string | undefined;
  readonly endsWithEvent: boolean;
  readonly gate: InputGate;
  readonly #options: ContextOptions;
  readonly #output: OutputGate;
  readonly #lifecycle: Lifecycle;
  #eventCount = 0;
  #wasClosed = false;
  /** How often its code has tried to send something and was refused. */
  refusedSends = 0;
  readonly #policy: AccessPolicy;
  #scope: CommitScope;
  /** Of the call that the running task works for. */
  #cancellation: Cancellation | undefined;

  constructor(options: ContextOptions) {
    this.host = options.host;
    this.compatibilityDate = options.compatibilityDate;
    this.endsWithEvent = options.endsWithEvent ?? false;
    this.#options = options;
    this.#policy = options.policy ?? UNRESTRICTED;
    this.#scope = newScope(undefined, this.#policy);
    this.gate = new InputGate(options, (task) => {
      this.#cancellation = undefined;
      this.#scope = this.#newScope(undefined);
      runTask(this, task);
    });
    this.#output = new OutputGate(() => options.confirmation());
    this.#lifecycle = new Lifecycle(options);
  }

  get hasEnded(): boolean {
    return this.#lifecycle.hasEnded;
  }

  checkSends(operation: string): void {
    if (this.#options.sends) return;
    this.refusedSends += 1;
    throw storageError(
      'BRANCH_ISOLATED',
      `${operation}: code on a branch reaches nothing outside of the branch. Fork with { fetch: 'allow' } to let it.`,
    );
  }

  /** An orderly end has begun: an event that has not is for the next instance. */
  get wasClosed(): boolean {
    return this.#wasClosed;
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

  /** Of the object's code that runs now. */
  get scope(): CommitScope {
    return this.#scope;
  }

  /**
   * The running task begins an operation of this author with this policy. Its writes are a commit of their own, unless
   * the operation before it has the same ones.
   */
  nextOperation(author: Annotation, policy: AccessPolicy): void {
    const scope = this.#scope;
    if (author !== scope.author || policy !== scope.policy) this.#scope = newScope(author, policy);
  }

  /** Runs a synchronous read of the storage with this policy. */
  reading<T>(policy: AccessPolicy, read: () => T): T {
    const before = this.#scope;
    this.#scope = newScope(before.author, policy);
    try {
      return read();
    } finally {
      this.#scope = before;
    }
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
    this.gate.close(); // first: who hears of the end may deliver an event
    const begins = this.#lifecycle.close(reason);
    if (begins) this.#wasClosed = true;
    return begins;
  }

  /** Ends the context. False when it has ended already. */
  end(reason: unknown): boolean {
    this.gate.close();
    return this.#lifecycle.end(reason);
  }

  /**
   * Delivers an event and settles as it does, behind the output gate. Rejects with the reason of an
   * end that comes first. The event, and what it starts, make the commits of the author.
   */
  deliver<T>(
    event: () => T | PromiseLike<T>,
    section: CriticalSection | null = null,
    author?: Annotation,
  ): Promise<T> {
    return this.#answered((settle) =>
      this.gate.deliver(section, () => {
        if (author !== undefined) this.#beginAs(author);
        settle(runEvent(this, () => call(event)));
      }),
    );
  }

  /** Runs the first task of the instance, which makes the commits of this author. Events wait for the sections it opens. */
  construct(author: Annotation, task: () => void): void {
    this.gate.resume(null, () => {
      this.#beginAs(author);
      task();
    });
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
      this.#scope = this.#newScope(undefined);
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
    const again = this.#sameAuthor();
    return (task) => this.deliver(() => again(task), currentSection);
  }

  send<T>(start: () => T | PromiseLike<T>): Promise<T> {
    const passage = this.#output.passage();
    return this.receive(
      () =>
        new Promise<T>((resolve, reject) => {
          // In a turn of its own: a task that runs there may be of another object.
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
      const again = this.#sameAuthor();
      const back = (settle: () => void) =>
        this.gate.deliverLater(currentSection, () => {
          release();
          again(settle);
        });
      call(start).then(
        (value) => back(() => resolve(value)),
        (error) => back(() => reject(error)),
      );
    });
  }

  reentry(): (event: () => void) => void {
    const { currentSection } = this.gate;
    const again = this.#sameAuthor();
    return (event) => this.gate.deliver(currentSection, () => again(event));
  }

  retain(onEnd: (reason: unknown) => void = NOTHING): () => void {
    return this.#lifecycle.hold(onEnd);
  }

  onEnd(told: (reason: unknown) => void): () => void {
    return this.#lifecycle.watch(told);
  }

  /** As the continuation of a storage, in the running section. */
  continuation(): (task: () => void) => void {
    const go = this.gate.continuation();
    const again = this.#sameAuthor();
    return (task) => go(() => again(task));
  }

  /**
   * Runs the closure as a critical section of the running task, by default with its policy.
   *
   * @throws TRANSACTION_NESTING as a rejection
   */
  runSection<T>(closure: () => T | PromiseLike<T>, policy?: AccessPolicy): Promise<T> {
    const again = this.#sameAuthor();
    return this.gate.runSection(() => again(closure), again, policy);
  }

  /** Captures the author; the result runs a later task of that author. */
  #sameAuthor(): <T>(task: () => T) => T {
    const { author } = this.#scope;
    return (task) => {
      this.#beginAs(author);
      return task();
    };
  }

  /** The task that has just begun, and what it starts, make the commits of this author. */
  #beginAs(author: Annotation | undefined): void {
    assert(!this.#scope.hasWritten, 'a task named its author after it had written');
    this.#scope = this.#newScope(author);
  }

  #newScope(author: Annotation | undefined): CommitScope {
    return newScope(author, this.gate.currentPolicy ?? this.#policy);
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

function newScope(author: Annotation | undefined, policy: AccessPolicy): CommitScope {
  return { author, policy, hasWritten: false };
}

async function call<T>(event: () => T | PromiseLike<T>): Promise<T> {
  return await event();
}

/**
 * The output gate of an object: a message leaves when everything the object wrote before it is durable,
 * and messages leave in the order in which they were sent.
 */
export class OutputGate {
  readonly #confirmation: () => Promise<void> | undefined;
  /** Passage of the last message that waits; later ones queue behind it. */
  #last: Promise<void> | undefined;

  /** `confirmation` settles when every confirmed write so far is durable; undefined: they all are. */
  constructor(confirmation: () => Promise<void> | undefined) {
    this.#confirmation = confirmation;
  }

  /**
   * Settles when a message sent now may leave; undefined: at once. Rejects when the writes before it
   * are lost.
   */
  passage(): Promise<void> | undefined {
    const before = this.#last;
    const confirmation = this.#confirmation();
    if (before === undefined && confirmation === undefined) return undefined;
    const passage = Promise.all([before, confirmation]).then(() => {});
    this.#last = passage;
    const passed = () => {
      if (this.#last === passage) this.#last = undefined;
    };
    passage.then(passed, passed);
    return passage;
  }
}

/**
 * The limit of work that holds an object: a critical section, an alarm's handler.
 *
 * It runs in real time, since the host's clock may stand still, and ends with the instance.
 */
export interface LimitedOwner {
  /** Runs the task after the delay in real time; the result cancels it. */
  afterRealTime(delayMs: number, task: () => void): () => void;
  /** Keeps the instance; `onEnd` is called when it ends first. */
  retain(onEnd: () => void): () => void;
}

/** Runs the work and keeps the instance meanwhile; calls `onTimeout` if it takes longer. */
export async function withinLimit<T>(
  owner: LimitedOwner,
  limitMs: number,
  onTimeout: () => void,
  work: () => T | PromiseLike<T>,
): Promise<T> {
  const cancel = owner.afterRealTime(limitMs, onTimeout);
  const release = owner.retain(cancel);
  try {
    return await work();
  } finally {
    cancel();
    release();
  }
}
