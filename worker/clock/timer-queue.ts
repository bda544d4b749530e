// Timers in the order they are due; those due at the same time in the order they were set.
//
// A binary heap in which each timer knows its place, so that one can be removed from the middle: most
// timers of a host are cancelled, not run.

export class QueuedTimer {
  readonly dueMs: number;
  readonly task: () => void;
  /** True for work, which a process must wait for. */
  readonly keepsAlive: boolean;
  /** Set when it is first added; -1 before that. */
  order = -1;
  /** Its place in the heap; -1 outside of it. */
  place = -1;

  constructor(dueMs: number, task: () => void, keepsAlive: boolean) {
    this.dueMs = dueMs;
    this.task = task;
    this.keepsAlive = keepsAlive;
  }
}

export class TimerQueue {
  readonly #heap: QueuedTimer[] = [];
  #added = 0;
  #work = 0;

  /** True when a timer is work. */
  get hasWork(): boolean {
    return this.#work > 0;
  }

  /** The first that is due; undefined when there is none. */
  get first(): QueuedTimer | undefined {
    return this.#heap[0];
  }

  add(timer: QueuedTimer): void {
    if (timer.order < 0) timer.order = this.#added++;
    if (timer.keepsAlive) this.#work += 1;
    this.#rise(timer, this.#heap.length);
  }

  /** False when the timer is not in the queue. */
  remove(timer: QueuedTimer): boolean {
    const { place } = timer;
    if (place < 0) return false;
    timer.place = -1;
    if (timer.keepsAlive) this.#work -= 1;
    const last = this.#heap.pop()!;
    if (last !== timer) {
      this.#sink(last, place);
      this.#rise(last, last.place);
    }
    return true;
  }

  clear(): void {
    for (const timer of this.#heap.splice(0)) timer.place = -1;
    this.#work = 0;
  }

  #rise(timer: QueuedTimer, from: number): void {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!isBefore(timer, this.#heap[above]!)) break;
      this.#put(this.#heap[above]!, place);
      place = above;
    }
    this.#put(timer, place);
  }

  #sink(timer: QueuedTimer, from: number): void {
    let place = from;
    for (;;) {
      const left = this.#heap[2 * place + 1];
      const right = this.#heap[2 * place + 2];
      const below = right !== undefined && isBefore(right, left!) ? right : left;
      if (below === undefined || isBefore(timer, below)) break;
      const next = below.place;
      this.#put(below, place);
      place = next;
    }
    this.#put(timer, place);
  }

  #put(timer: QueuedTimer, place: number): void {
    this.#heap[place] = timer;
    timer.place = place;
  }
}

function isBefore(one: QueuedTimer, other: QueuedTimer): boolean {
  return one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order);
}
