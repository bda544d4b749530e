// The world of one run: its time, its turns of the event loop, its random numbers, and the trace of everything that
// happens.
//
// Invariant: everything happens in a turn or timer that this world runs, one at a time, so the seed decides the order
// of everything. The only exception is code that waits for something outside (a real timer, real I/O): the world waits
// for it, and remembers that it did.

import { createHash } from 'node:crypto';
import { DrivenTime } from './world/driven-time.ts';
import { DrivenTurns } from './world/driven-turns.ts';
import type { Random } from './world/random.ts';
import { turnOfEventLoop } from './world/settle.ts';

const START_MS = Date.UTC(2030, 0, 1);
/** The longest time that a call may take in the world, which is longer than every limit of the platform. */
const CALL_MS_MAX = 60 * 60_000;
/** The number of turns of the platform's event loop in which something outside may end unnoticed. */
const OUTSIDE_TURNS = 20;
/** The largest number of turns of a run; a usual run has some thousands. */
const TURNS_MAX = 1_000_000;
/** About one turn in this many takes a millisecond. */
const TURNS_PER_MS = 4;

// This timer is the platform's, because a run replaces the globals.
const { setTimeout } = globalThis;

/** Something that happened, and when, in milliseconds since the run began. */
export interface TraceEvent {
  readonly ms: number;
  readonly turn: number;
  readonly text: string;
}

/** A call, or a callback, that waits for something that never happens. */
export class NeverEnds extends Error {
  override readonly name = 'NeverEnds';
}

export class World {
  readonly time = new DrivenTime(START_MS);
  readonly turns = new DrivenTurns();
  /** The random numbers begin again with each step, so that a step does the same when others are left out. */
  readonly random: Random;
  readonly trace: TraceEvent[] = [];
  /** Rejections, and errors of listeners, that no code has handled. */
  readonly unhandled: unknown[] = [];
  /** Whether the output of the run's code is printed. */
  showsConsole = false;
  /** After those turns, the time in milliseconds that something outside may still take. */
  outsideMs = 1000;
  /** Whether the run has waited for something outside of it. */
  waitedOutside = false;
  /** Answers outgoing requests. */
  fetch: (request: Request) => Promise<Response> = refuseFetch;
  readonly #digest = createHash('sha256');

  constructor(random: Random) {
    this.random = random;
  }

  /** Milliseconds since the run began. */
  get ms(): number {
    return this.time.elapsed() - START_MS;
  }

  note(text: string): void {
    const event = { ms: this.ms, turn: this.turns.count, text };
    this.trace.push(event);
    this.#digest.update(`${event.ms} ${event.turn} ${text}\n`);
  }

  /** Returns a digest of everything that has happened. */
  digest(): string {
    return this.#digest.copy().digest('hex').slice(0, 32);
  }

  fraction(): number {
    return this.random.uint32() / 2 ** 32;
  }

  fill(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.random.uint32() >>> 24;
  }

  uuid(): `${string}-${string}-${string}-${string}-${string}` {
    const bytes = new Uint8Array(16);
    this.fill(bytes);
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    const hex = Buffer.from(bytes).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  /** Resolves after this much time of the world. */
  wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.time.after(delayMs, resolve));
  }

  /** Runs at most this many turns, as long as one was requested. */
  async takeTurns(count: number, isOver: () => boolean): Promise<void> {
    for (let i = 0; i < count && !isOver() && (await this.#takeTurn()); i++);
  }

  /** Advances the time by this much, and runs everything that happens meanwhile. */
  async pass(durationMs: number, isOver: () => boolean): Promise<void> {
    const endMs = this.time.elapsed() + durationMs;
    while (!isOver()) {
      if (await this.#takeTurn()) continue;
      const leftMs = endMs - this.time.elapsed();
      if (leftMs <= 0) return;
      await this.time.advance(Math.min(leftMs, this.time.nextMs ?? leftMs), turnOfEventLoop);
    }
  }

  /**
   * Runs turns until the condition is met; time advances when nothing else can happen.
   *
   * @throws NeverEnds, with the text
   */
  async until(isMet: () => boolean, waiting: () => string): Promise<void> {
    const endMs = this.time.elapsed() + CALL_MS_MAX;
    while (!isMet()) {
      if (await this.#takeTurn()) continue;
      const { nextMs } = this.time;
      if (nextMs !== undefined && this.time.elapsed() + nextMs <= endMs) {
        await this.time.advance(nextMs, turnOfEventLoop);
      } else if (!(await this.#waitOutside(isMet))) {
        throw new NeverEnds(`${waiting()} never ends: nothing is left that it could wait for.`);
      }
    }
  }

  /** Settles as the promise does; the world runs meanwhile. @throws NeverEnds */
  async finish<T>(label: string, promise: Promise<T>): Promise<T> {
    let isPending = true;
    const end = () => {
      isPending = false;
    };
    promise.then(end, end);
    await this.until(
      () => !isPending,
      () => label,
    );
    return promise;
  }

  async #takeTurn(): Promise<boolean> {
    if (this.turns.count > TURNS_MAX) {
      throw new NeverEnds(
        `The run took ${TURNS_MAX} turns: its objects call one another without end.`,
      );
    }
    if (!(await this.turns.take())) return false;
    if (this.random.onceIn(TURNS_PER_MS)) await this.time.advance(1, turnOfEventLoop);
    return true;
  }

  /** Returns whether something outside has ended, so that the world can continue. */
  async #waitOutside(isMet: () => boolean): Promise<boolean> {
    const isGoingOn = async () => isMet() || (await this.turns.take());
    for (let i = 0; i < OUTSIDE_TURNS; i++) {
      await turnOfEventLoop();
      if (await isGoingOn()) return true;
    }
    this.waitedOutside = true;
    for (let waitedMs = 0; waitedMs < this.outsideMs; waitedMs += 5) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (await isGoingOn()) return true;
    }
    return false;
  }
}

async function refuseFetch({ method, url }: Request): Promise<Response> {
  throw new TypeError(
    `${method} ${url}: a simulation reaches no network. Answer it with the option fetch of simulate().`,
  );
}
