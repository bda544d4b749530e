// The I/O context of one instance, or of one event of an entry point: events come in through its input gate, and their
// messages leave behind its output gate.
//
// Invariant: an event's answer leaves only when every confirmed write made before it is durable. When
// the instance ends, every promise that waits here rejects or never settles, no code runs and no message leaves. This is
// not asserted, because an answer does not name its writes: the simulation of objects compares answers with what a crash
// leaves.
//
// Knows nothing of the user's class. Of the storage, it knows only whether the confirmed writes are durable.

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
  /** If false, every message that the code sends to the outside is refused. */
  readonly sends: boolean;
  /** True if this context belongs to one event of an entry point, false if to an object. */
  readonly endsWithEvent?: boolean;
  /** What code that runs in this context may do to the object's storage. @default everything */
  readonly policy?: AccessPolicy;
  /** Settles when every confirmed write so far is durable; undefined if they all are. */
  confirmation(): Promise<void> | undefined;
  /** Called when a task has violated an assertion. @default the context ends */
  onDefect?(defect: unknown): void;
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
  /** The number of messages of the code that were refused. */
  refusedSends = 0;
  readonly #policy: AccessPolicy;
  #scope: CommitScope;
  /** The cancellation of the call that the running task works for. */
  #cancellation: Cancellation | undefined;

  constructor(options: ContextOptions) {
    this.host = options.host;
    this.compatibilityDate = options.compatibilityDate;
    this.endsWithEvent = options.endsWithEvent ?? false;
    this.#options = options;
    this.#policy = options.policy ?? UNRESTRICTED;
    this.#scope = newScope(undefined, this.#policy);
    const run = (task: () => void) => {
      this.#cancellation = undefined;
      this.#scope = this.#newScope(undefined);
      runTask(this, task);
    };
    const { onDefect = (defect) => void this.end(defect) } = options;
    this.gate = new InputGate(options, run, onDefect);
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

  /** True once `close` was called. Events that have not begun by then go to the next instance. */
  get wasClosed(): boolean {
    return this.#wasClosed;
  }

  /** The number of events that have not been answered. */
  get eventCount(): number {
    return this.hasEnded ? 0 : this.#eventCount;
  }

  /** True if the running task works for a call that its caller has cancelled. */
  get isCancelled(): boolean {
    return this.#cancellation?.isCancelled() ?? false;
  }

  /**
   * Declares the call for which the running task works, until the next task, turn or declaration. Undefined means a
   * call that cannot be cancelled.
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

  /** The scope of the object's code that runs now. */
  get scope(): CommitScope {
    return this.#scope;
  }

  /**
   * Called when the running task begins an operation of this author with this policy. The operation's writes are a
   * separate commit, unless the operation before it had the same author and policy.
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

  /** Called when the instance was constructed: from now on, it is evicted when nothing keeps it in memory. */
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

  /** Begins an orderly end: events that still run reject. Returns false if an end has begun already. */
  close(reason: unknown): boolean {
    this.gate.close(); // Close the gate first: a listener that learns of the end may deliver an event.
    const begins = this.#lifecycle.close(reason);
    if (begins) this.#wasClosed = true;
    return begins;
  }

  /** Ends the context. Returns false if it has ended already. */
  end(reason: unknown): boolean {
    this.gate.close();
    return this.#lifecycle.end(reason);
  }

  /**
   * Delivers an event and settles as it does, behind the output gate. Rejects with the reason if the context ends
   * first. The commits of the event, and of the tasks that it starts, name the author.
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

  /** Runs the first task of the instance; its commits name this author. Events wait for the sections it opens. */
  construct(author: Annotation, task: () => void): void {
    this.gate.resume(null, () => {
      this.#beginAs(author);
      task();
    });
  }

  /**
   * Delivers an event that runs no code of the object. Like `deliver`, but the event runs within this call if the gate
   * admits it now. Returns the result instead of a promise if no confirmed write must become durable first.
   *
   * @throws the reason of the end, if the event has ended the context
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
    this.retain()(); // The event counts as a use: the idle time begins anew.
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
          // Start in a new turn, because a task that `start` runs may belong to another object.
          const begin = () =>
            this.#options.nextTurn(() => {
              if (!this.hasEnded) call(start).then(resolve, reject);
            });
          if (passage === undefined) begin();
          else passage.then(begin, () => {}); // If the flush fails, the object is reset, and nothing is sent.
        }),
    );
  }

  receive<T>(start: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.hasEnded) return; // The code that waits belongs to an instance that has ended.
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

  /** Captures the running section and author; the result runs a continuation of storage in them. */
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

  /** Sets the author of the commits of the task that has just begun, and of the tasks that it starts. */
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

  // Once an event has run, `close` no longer rejects it (`release`). Its answer waits for the flush, or for the end that
  // a failed flush causes.
  #answer(release: () => void, settle: () => void, reject: (reason: unknown) => void): void {
    if (this.hasEnded) return; // The end has rejected the event.
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
 * The output gate of an object. A message leaves when everything that the object wrote before it is durable. Messages
 * leave in the order in which they were sent.
 */
export class OutputGate {
  readonly #confirmation: () => Promise<void> | undefined;
  /** The passage of the last message that waits; later messages queue behind it. */
  #last: Promise<void> | undefined;

  /** `confirmation` settles when every confirmed write so far is durable; it is undefined if they all are. */
  constructor(confirmation: () => Promise<void> | undefined) {
    this.#confirmation = confirmation;
  }

  /**
   * Settles when a message sent now may leave; undefined if it may leave at once. Rejects when the writes before it
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
 * The owner of work with a time limit that keeps an object busy: a critical section or an alarm's handler.
 *
 * The limit is in real time, because the host's clock may stand still. It ends with the instance.
 */
export interface LimitedOwner {
  /** Runs the task after the delay in real time; the result cancels it. */
  afterRealTime(delayMs: number, task: () => void): () => void;
  /** Keeps the instance in memory until the result is called; `onEnd` is called if the instance ends before. */
  retain(onEnd: () => void): () => void;
}

/** Runs the work, and keeps the instance in memory meanwhile; calls `onTimeout` if the work exceeds the limit. */
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
