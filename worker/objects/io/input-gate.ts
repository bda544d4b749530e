// The input gate of one object decides which of the object's events may run now.
//
// An event is a task: a call, a fired timer, the continuation of I/O. Each task runs in a turn of the event loop of its
// own, and its microtasks run with it; only the end of a section runs in the turn of the section's last task. While a
// critical section is open (a transaction, or blockConcurrencyWhile), only its own tasks run; all others wait, in
// order. A task that began in a section belongs to that section; after the section has ended, to the section around it.
//
// Invariants:
//   a task runs only when the section it belongs to is `#active`, the innermost open one
//   a task has its turn for itself, from before it runs: no other task shares its microtasks, nor runs inside of it
//   `#current` is the section of the task that runs or ran last: what that task starts belongs to it
// Code cannot see to which task a microtask belongs, so shared microtasks are found by the simulation of classes. The
// other invariants are asserted.
//
// Knows nothing of storage. An event that a browser API delivers past this gate (to a raw listener)
// belongs to the section of the last task; docs/compatibility.md says so.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { assert, isDefect } from '../../../src/shared/contract/invariant.ts';
import { CRITICAL_SECTION_DEPTH_MAX } from '../../../src/shared/contract/limits.ts';
import type { AccessPolicy } from '../../engine/storage/access-policy.ts';
import type { Turns } from './turns.ts';

export class InputGate {
  readonly #turns: Turns;
  readonly #runTask: (task: () => void) => void;
  readonly #failed: (defect: unknown) => void;
  #active: CriticalSection | null = null;
  #current: CriticalSection | null = null;
  /** Sections that are about to open. They come before `#waiting`. */
  readonly #opening = new WaitingTasks();
  readonly #waiting = new WaitingTasks();
  /** True if a later turn is reserved for the next waiting task. */
  #drainIsScheduled = false;
  /** True if a task has begun in this turn: the next task must not share its microtasks. */
  #turnIsTaken = false;
  /** True while a task runs. */
  #isRunning = false;
  #isClosed = false;

  /**
   * `runTask` runs each task of this object. `failed` is called with the error of a violated assertion, and ends the
   * object's instance.
   */
  constructor(
    turns: Turns,
    runTask: (task: () => void) => void = (task) => task(),
    failed: (defect: unknown) => void = rethrow,
  ) {
    this.#turns = turns;
    this.#runTask = runTask;
    this.#failed = failed;
  }

  /** The section of the running task. */
  get currentSection(): CriticalSection | null {
    return innermostOpen(this.#current);
  }

  /** The policy of the running task's section; undefined outside of sections with a policy. */
  get currentPolicy(): AccessPolicy | undefined {
    return this.#current === null ? undefined : this.currentSection?.policy;
  }

  /**
   * Runs the event in the caller's turn if the gate admits it now and no task has begun in this turn; otherwise in a
   * later turn, when the gate admits it.
   */
  deliver(section: CriticalSection | null, event: () => void): void {
    if (this.#isClosed) return;
    if (!this.#turnIsTaken && this.#admitsNow(section)) this.#run(event);
    else this.#waiting.add(section, event);
  }

  /**
   * Runs work that starts nothing in the caller's turn, which stays free for an event. Returns false if the gate does
   * not admit the work now. An open section must be the caller's own: then no code of an object shares its turn.
   */
  runNow(section: CriticalSection | null, work: () => void): boolean {
    const isOutside = innermostOpen(section) === null;
    const isFree = isOutside ? !this.#turnIsTaken : this.#waiting.isEmpty;
    if (this.#isClosed || !isFree || !this.#admitsNow(section)) return false;
    this.#current = this.#active;
    work();
    return true;
  }

  /**
   * Continues the task of this turn, if there is one: in the caller's turn if the gate admits it now, otherwise when
   * the gate admits it.
   */
  resume(section: CriticalSection | null, task: () => void): void {
    if (this.#isClosed) return;
    if (this.#admitsNow(section)) this.#run(task);
    else this.#waiting.add(section, task);
  }

  /** Runs the task in a later turn, when the gate admits it. */
  deliverLater(section: CriticalSection | null, task: () => void): void {
    if (this.#isClosed) return;
    this.#waiting.add(section, task);
    this.#scheduleDrain();
  }

  /**
   * Remembers the running task's section for the continuation of its I/O. Outside of sections, the continuation runs in
   * the caller's turn, unless another task has begun in that turn.
   */
  continuation(): (task: () => void) => void {
    const section = this.currentSection;
    return (task) => {
      if (section === null) this.deliver(null, task);
      else this.deliverLater(section, task);
    };
  }

  /**
   * Runs the closure as a critical section inside the running task's, in a later turn, and settles
   * as it does. Sections of one parent run one after the other, in order of the calls. `after` runs what follows.
   * `policy`: by default, that of the section around it.
   *
   * @throws TRANSACTION_NESTING as a rejection
   */
  runSection<T>(
    closure: () => T | PromiseLike<T>,
    after = (task: () => void) => task(),
    policy?: AccessPolicy,
  ): Promise<T> {
    const parent = this.currentSection;
    return new Promise<T>((resolve, reject) => {
      checkDepth(parent);
      if (this.#isClosed) return; // The waiting code belongs to the section that has ended.
      this.#opening.add(parent, () => {
        const section = this.#open(parent, policy);
        call(closure).then(
          (value) => this.#end(section, () => after(() => resolve(value))),
          (error) => this.#end(section, () => after(() => reject(error))),
        );
      });
      this.#scheduleDrain();
    });
  }

  /** Drops waiting tasks for good, because the object was reset. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#opening.clear();
  }

  #open(parent: CriticalSection | null, policy: AccessPolicy | undefined): CriticalSection {
    const section = new CriticalSection(innermostOpen(parent), policy);
    assert(section.parent === this.#active, 'a section opened outside of the open one');
    this.#active = section;
    this.#current = section;
    return section;
  }

  // The end is a task of the section itself: it waits for an inner section that is still open.
  #end(section: CriticalSection, settle: () => void): void {
    this.resume(section, () => {
      assert(section === this.#active, 'a section ended before one inside of it');
      section.hasEnded = true;
      this.#active = innermostOpen(section);
      this.#current = this.#active;
      this.#scheduleDrain();
      settle();
    });
  }

  /** True when a task of the section may run, and no waiting task has the next turn already. */
  #admitsNow(section: CriticalSection | null): boolean {
    return innermostOpen(section) === this.#active && !this.#drainIsScheduled;
  }

  /** Runs a task that was admitted, and therefore belongs to the active section. */
  #run(task: () => void): void {
    this.#current = this.#active;
    this.#takeTurn();
    try {
      assert(!this.#isRunning, 'a task ran inside of another');
      this.#isRunning = true;
      this.#runTask(task);
    } catch (error) {
      if (!isDefect(error)) throw error; // an error of a listener, such as a timer's: the browser reports it
      this.#failed(error);
    } finally {
      this.#isRunning = false;
    }
  }

  #takeTurn(): void {
    if (this.#turnIsTaken) return;
    this.#turnIsTaken = true;
    const { nextTurn, beforeNextTurn = nextTurn } = this.#turns;
    beforeNextTurn(() => {
      this.#turnIsTaken = false;
      this.#scheduleDrain();
    });
  }

  #scheduleDrain(): void {
    if (this.#drainIsScheduled || (this.#waiting.isEmpty && this.#opening.isEmpty)) return;
    this.#drainIsScheduled = true;
    this.#turns.nextTurn(() => this.#drain());
  }

  // Runs one task per turn, so that the microtasks of a task never run in the section of another one.
  #drain(): void {
    this.#drainIsScheduled = false;
    const next = this.#opening.take(this.#active) ?? this.#waiting.take(this.#active);
    if (next === undefined) return;
    this.#scheduleDrain();
    this.#run(next);
  }
}

function rethrow(error: unknown): never {
  throw error;
}

async function call<T>(closure: () => T | PromiseLike<T>): Promise<T> {
  return await closure();
}

/** A critical section: a stretch of time in which only the section's own events run. Sections nest. */
export class CriticalSection {
  /** The section around this one; null for an outermost section. */
  readonly parent: CriticalSection | null;
  readonly depth: number;
  /** What the section's tasks may do to the storage; undefined if they may do the same as tasks outside. */
  readonly policy: AccessPolicy | undefined;
  hasEnded = false;

  constructor(parent: CriticalSection | null, policy: AccessPolicy | undefined) {
    this.parent = parent;
    this.policy = policy ?? parent?.policy;
    this.depth = depthWithin(parent);
  }
}

/** Returns the section itself while it is open, otherwise the first open section around it; null if there is none. */
function innermostOpen(section: CriticalSection | null): CriticalSection | null {
  let current = section;
  while (current?.hasEnded) current = current.parent;
  return current;
}

/** Checks that a section may open inside `parent`. @throws TRANSACTION_NESTING */
function checkDepth(parent: CriticalSection | null): void {
  const depth = depthWithin(parent);
  if (depth <= CRITICAL_SECTION_DEPTH_MAX) return;
  throw storageError(
    'TRANSACTION_NESTING',
    `Critical sections are nested ${depth} deep, at most ${CRITICAL_SECTION_DEPTH_MAX}.`,
  );
}

function depthWithin(parent: CriticalSection | null): number {
  return parent === null ? 1 : parent.depth + 1;
}

interface Waiting {
  readonly section: CriticalSection | null;
  readonly task: () => void;
}

/** Tasks that wait, each for its critical section, in order of arrival. */
class WaitingTasks {
  #waiting: Waiting[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(section: CriticalSection | null, task: () => void): void {
    this.#waiting.push({ section, task });
  }

  /** Removes and returns the first task of the section; undefined when none waits for it. */
  take(section: CriticalSection | null): (() => void) | undefined {
    const index = this.#waiting.findIndex((waiting) => innermostOpen(waiting.section) === section);
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0]!.task;
  }

  clear(): void {
    this.#waiting = [];
  }
}
