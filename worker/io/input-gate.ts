// The input gate of one object: which of its events may run now.
//
// An event is a task: a call, a fired timer, the continuation of I/O. Each runs in a turn of the
// event loop of its own, and what it awaits in microtasks runs with it. While a critical section is
// open (a transaction, or blockConcurrencyWhile) only its own tasks run; all others wait, in order.
// A task begun in a section belongs to it; when the section has ended, to the one around it.
//
// Invariants:
//   one section is innermost ("active"); a task runs only when its section is the active one
//   `#context` is the section of the task that is running, so what it starts can be told apart
//
// Knows nothing of storage. What a browser API delivers past this gate (a raw event listener)
// carries the context of the last task; docs/compatibility.md says so.

import { storageError } from '../../src/contract/errors.ts';
import { CRITICAL_SECTION_DEPTH_MAX } from '../../src/contract/limits.ts';
import type { Turns } from './turns.ts';

/** An open or ended critical section; null stands for the object outside of any. */
export interface CriticalSection {
  readonly parent: CriticalSection | null;
  readonly depth: number;
  ended: boolean;
}

interface Waiting {
  readonly context: CriticalSection | null;
  readonly task: () => void;
}

export class InputGate {
  readonly #turns: Turns;
  readonly #runTask: (task: () => void) => void;
  #active: CriticalSection | null = null;
  #context: CriticalSection | null = null;
  #waiting: Waiting[] = [];
  /** Sections that are to open; they come before the events that wait already. */
  #opening: Waiting[] = [];
  #drainScheduled = false;
  /** An event has begun in this turn: the next one is not to share its microtasks. */
  #turnIsTaken = false;
  #closed = false;

  /** `runTask` runs each task of this object. */
  constructor(turns: Turns, runTask: (task: () => void) => void = (task) => task()) {
    this.#turns = turns;
    this.#runTask = runTask;
  }

  /** The section of the running task. */
  get context(): CriticalSection | null {
    return live(this.#context);
  }

  /**
   * Runs the event in the caller's turn when the gate admits it now and none has begun in this turn,
   * else when it does.
   */
  deliver(context: CriticalSection | null, task: () => void): void {
    if (this.#closed) return;
    if (!this.#turnIsTaken && this.#admits(context) && !this.#drainScheduled) {
      this.#run(context, task);
      this.#takeTurn();
    } else this.#waiting.push({ context, task });
  }

  /** Goes on with what runs, in the caller's turn when the gate admits it now, else when it does. */
  resume(context: CriticalSection | null, task: () => void): void {
    if (this.#closed) return;
    if (this.#admits(context) && !this.#drainScheduled) this.#run(context, task);
    else this.#waiting.push({ context, task });
  }

  /** Runs the task in a later turn, when the gate admits it. */
  deliverLater(context: CriticalSection | null, task: () => void): void {
    if (this.#closed) return;
    this.#waiting.push({ context, task });
    this.#scheduleDrain();
  }

  /**
   * The running task's context, kept for the continuation of its I/O. Outside of sections there is
   * nothing to tell apart, so the continuation needs no turn of its own.
   */
  continuation(): (task: () => void) => void {
    const context = this.context;
    return (task) => {
      if (context === null) this.resume(null, task);
      else this.deliverLater(context, task);
    };
  }

  /**
   * Runs the closure as a critical section inside the running task's, in a later turn, and settles
   * as it does. Sections of one parent run one after the other, in order of the calls.
   */
  section<T>(closure: (section: CriticalSection) => T | PromiseLike<T>): Promise<T> {
    const parent = this.context;
    const depth = parent === null ? 1 : parent.depth + 1;
    if (depth > CRITICAL_SECTION_DEPTH_MAX) {
      return Promise.reject(
        storageError(
          'TRANSACTION_NESTING',
          `Critical sections are nested ${depth} deep, at most ${CRITICAL_SECTION_DEPTH_MAX}.`,
        ),
      );
    }
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) return; // who waits is part of what has ended
      const open = () => {
        const section: CriticalSection = { parent: live(parent), depth, ended: false };
        this.#active = section;
        this.#context = section;
        // The end is a task of the section itself: it waits for an inner section still open.
        const end = (settle: () => void) =>
          this.resume(section, () => {
            section.ended = true;
            this.#active = live(section);
            this.#context = this.#active;
            this.#scheduleDrain();
            settle();
          });
        run(() => closure(section)).then(
          (value) => end(() => resolve(value)),
          (error) => end(() => reject(error)),
        );
      };
      this.#opening.push({ context: parent, task: open });
      this.#scheduleDrain();
    });
  }

  /** Drops what waits, for good: the object was reset. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
    this.#opening = [];
  }

  #admits(context: CriticalSection | null): boolean {
    return live(context) === this.#active;
  }

  #run(context: CriticalSection | null, task: () => void): void {
    this.#context = live(context);
    this.#runTask(task);
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
    if (this.#drainScheduled || this.#waiting.length + this.#opening.length === 0) return;
    this.#drainScheduled = true;
    this.#turns.nextTurn(() => this.#drain());
  }

  #take(queue: Waiting[]): Waiting | undefined {
    const index = queue.findIndex(({ context }) => this.#admits(context));
    return index < 0 ? undefined : queue.splice(index, 1)[0];
  }

  // One task a turn, so that the microtasks of one never run in the context of another.
  #drain(): void {
    this.#drainScheduled = false;
    const next = this.#take(this.#opening) ?? this.#take(this.#waiting);
    if (next === undefined) return;
    this.#scheduleDrain();
    this.#run(next.context, next.task);
    this.#takeTurn();
  }
}

function live(section: CriticalSection | null): CriticalSection | null {
  let current = section;
  while (current?.ended) current = current.parent;
  return current;
}

async function run<T>(closure: () => T | PromiseLike<T>): Promise<T> {
  return await closure();
}
