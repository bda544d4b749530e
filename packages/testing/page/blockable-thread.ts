// Simulates two threads in driven time, each of which may be blocked, and a channel between them whose messages take a
// while. Nothing happens except in `run`.

import type { WireChannel } from '../../../src/shared/wire/channel-endpoint.ts';

interface Task {
  readonly dueMs: number;
  readonly order: number;
  readonly thread: BlockableThread;
  readonly run: () => void;
}

/** The time of both threads, and their tasks. */
export class DrivenThreads {
  nowMs = 0;
  #tasks: Task[] = [];
  #count = 0;

  add(thread: BlockableThread, delayMs: number, run: () => void): () => void {
    const task = { dueMs: this.nowMs + delayMs, order: this.#count++, thread, run };
    this.#tasks.push(task);
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== task);
    };
  }

  /** Advances the time and runs the tasks that become due, in order. A task waits while its thread is blocked. */
  async run(durationMs: number): Promise<void> {
    const endMs = this.nowMs + durationMs;
    await microtasks(); // Run the microtasks of the previous code.
    for (;;) {
      const next = this.#next();
      if (next === undefined || startOf(next) > endMs) break;
      this.nowMs = Math.max(this.nowMs, startOf(next));
      this.#tasks.splice(this.#tasks.indexOf(next), 1);
      next.run();
      await microtasks();
    }
    this.nowMs = endMs;
  }

  #next(): Task | undefined {
    const inOrder = (one: Task, other: Task) =>
      startOf(one) - startOf(other) || one.dueMs - other.dueMs || one.order - other.order;
    return this.#tasks.reduce<Task | undefined>(
      (first, task) => (first === undefined || inOrder(task, first) < 0 ? task : first),
      undefined,
    );
  }
}

const microtasks = () => new Promise((resolve) => setImmediate(resolve));

const startOf = ({ dueMs, thread }: Task) => Math.max(dueMs, thread.blockedUntilMs);

export class BlockableThread {
  blockedUntilMs = 0;
  readonly #threads: DrivenThreads;
  readonly #startMs: number;

  /** `startMs` is the time that the thread's clock shows at the beginning. */
  constructor(threads: DrivenThreads, startMs: number) {
    this.#threads = threads;
    this.#startMs = startMs;
  }

  /** Makes the running task take this long. */
  block(durationMs: number): void {
    this.blockedUntilMs = Math.max(this.blockedUntilMs, this.#threads.nowMs + durationMs);
  }

  readonly elapsed = (): number => this.#threads.nowMs + this.#startMs;

  readonly after = (delayMs: number, task: () => void): (() => void) =>
    this.#threads.add(this, delayMs, task);
}

/** Makes a channel whose messages arrive in order, each after `transitMs()` or later. */
export function channelBetween(
  one: BlockableThread,
  other: BlockableThread,
  transitMs: () => number,
): [WireChannel, WireChannel] {
  const ends = [new End(one, transitMs), new End(other, transitMs)] as const;
  ends[0].peer = ends[1];
  ends[1].peer = ends[0];
  return [...ends];
}

class End implements WireChannel {
  peer: End | undefined;
  readonly #thread: BlockableThread;
  readonly #transitMs: () => number;
  readonly #listeners: ((event: Event) => void)[] = [];
  #lastMs = 0;

  constructor(thread: BlockableThread, transitMs: () => number) {
    this.#thread = thread;
    this.#transitMs = transitMs;
  }

  postMessage(message: unknown): void {
    const data = structuredClone(message);
    const nowMs = this.#thread.elapsed();
    this.#lastMs = Math.max(this.#lastMs, nowMs + this.#transitMs());
    const peer = this.peer!;
    peer.#thread.after(this.#lastMs - nowMs, () => {
      const event = { data } as unknown as Event;
      for (const listener of peer.#listeners) listener(event);
    });
  }

  addEventListener(type: 'message' | 'messageerror', listener: (event: Event) => void): void {
    if (type === 'message') this.#listeners.push(listener);
  }

  close(): void {}
}
