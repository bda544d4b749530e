// Turns of the JavaScript event loop, in the order in which they are requested.
//
// A browser completes the microtasks of one event listener before it calls the next. So one message with
// many listeners brings many turns, each with its own microtasks, for the price of one message, which
// takes longer than a read or write of a key.

import { inMicrotask } from '../../../src/shared/wire/channel-endpoint.ts';

/** Begins turns of the event loop. A turn ends when the microtasks of its task have run. */
export interface Turns {
  /** Runs the task in the next turn; turns come in the order of the calls. */
  nextTurn(task: () => void): void;
  /** Runs the task when the next turn begins, before that turn's own task. @default a turn of its own */
  beforeNextTurn?(task: () => void): void;
}

/** How many turns one message brings in a browser. */
export const TURNS_PER_MESSAGE = 64;

/** Maximum time in which one message may bring further turns, because other messages wait meanwhile. */
const TURNS_MS_MAX = 2;

/** Turns by messages that a thread posts to itself: they queue behind whatever already waits. */
export class MessageTurns implements Turns {
  readonly #turnsMax: number;
  readonly #tasks: (() => void)[] = [];
  #before: (() => void)[] = [];
  #afterwards: (() => void)[] = [];
  /** True if a message is on its way, or brings turns now. */
  #isExpected = false;
  #isInTurns = false;
  /** True if the microtasks of the last turn have run. */
  #isDrained = true;
  #startMs = 0;
  #port: MessagePort | undefined;
  #isClosed = false;

  /** `turnsMax` is how many turns one message brings. */
  constructor(turnsMax = 1) {
    this.#turnsMax = turnsMax;
  }

  nextTurn(task: () => void): void {
    this.#tasks.push(task);
    this.#expect();
  }

  beforeNextTurn(task: () => void): void {
    this.#before.push(task);
    this.#expect();
  }

  /** Runs the task when the turns that a message brings are over; if no message brings turns now, in a microtask. */
  afterTurns(task: () => void): void {
    if (this.#isInTurns) this.#afterwards.push(task);
    else inMicrotask(task);
  }

  /**
   * Called when no more turns are expected. Tasks that wait, and tasks that come late, still run: a channel, which
   * keeps a process alive, stays open as long as one of them waits.
   */
  close(): void {
    this.#isClosed = true;
    this.#closeWhenIdle();
  }

  #expect(): void {
    if (this.#isExpected) return;
    this.#isExpected = true;
    this.#port ??= this.#open();
    this.#port.postMessage(null);
  }

  #open(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    for (let number = 0; number < this.#turnsMax; number++) {
      port1.addEventListener('message', (event) => this.#turn(event, number));
    }
    port1.addEventListener('message', () => this.#end());
    port1.start();
    return port2;
  }

  #turn(event: Event, number: number): void {
    if (number === 0) {
      this.#isInTurns = true;
      this.#startMs = performance.now();
    } else if (!this.#mayGoOn()) {
      event.stopImmediatePropagation();
      this.#end();
      return;
    }
    this.#isDrained = false;
    inMicrotask(() => {
      this.#isDrained = true;
    });
    const before = this.#before;
    this.#before = [];
    for (const task of before) task();
    this.#tasks.shift()?.();
  }

  // False if the microtasks of the last turn have not run. Some runtimes call all listeners before any microtask; then
  // each turn needs a message of its own.
  #mayGoOn(): boolean {
    return !this.#isIdle && this.#isDrained && performance.now() - this.#startMs < TURNS_MS_MAX;
  }

  get #isIdle(): boolean {
    return this.#tasks.length === 0 && this.#before.length === 0;
  }

  #end(): void {
    this.#isInTurns = false;
    this.#isExpected = false;
    if (!this.#isIdle) this.#expect();
    const afterwards = this.#afterwards;
    this.#afterwards = [];
    for (const task of afterwards) task();
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (!this.#isClosed || this.#isExpected) return;
    this.#port?.close(); // This closes the other port, too.
    this.#port = undefined;
  }
}
