// What the runtime needs of the world around it: time, turns of the event loop, files, SQLite.
//
// Everything here is passed in, so that tests drive it and no other module touches a global.

import type { ObjectMedium } from '../file/medium.ts';
import type { ObjectStore } from '../log/object-store.ts';
import type { DatabaseEvents } from '../sql/database.ts';
import type { Limits } from '../sql/query-limits.ts';
import type { LogDatabase } from '../storage/log-database.ts';
import type { StorageOptions } from '../storage/options.ts';
import type { ObjectCatalog } from './catalog.ts';

/** Turns of the event loop. */
export interface Turns {
  /** Runs the task in the next turn; turns come in the order of the calls. */
  nextTurn(task: () => void): void;
  /** Runs the task when the next turn begins, before what that is for. @default a turn of its own */
  beforeNextTurn?(task: () => void): void;
}

export interface HostEnvironment extends Turns {
  /** Milliseconds since the epoch, by the host's clock. */
  now(): number;
  randomUint32(): number;
  /** Runs the task when the delay has passed on the host's clock; the result cancels it. */
  after(delayMs: number, task: () => void, keepsAlive?: boolean): () => void;
  /** True while the host's clock is moved by somebody else than the system. @default false */
  isTimeControlled?(): boolean;
  /** The network takes a body that is a stream. @default false, as browsers' does not */
  readonly sendsStreams?: boolean;
  /** As `after` in real time, which passes also while the host's clock stands still. */
  guard(delayMs: number, task: () => void): () => void;
  /** The files of objects, by the keys of their addresses. */
  readonly medium: ObjectMedium;
  /** How long an instance without events stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** What is known of the objects of classes. */
  readonly catalog: ObjectCatalog;
  /** What is chosen for objects that have no class. */
  readonly storageOptions?: StorageOptions;
  /** Bounds of queries and imports. @default those of query-limits */
  readonly limits?: Limits;
  /** Opens SQLite on the object's log, or on a file that is no object's. */
  openDatabase(store: Pick<ObjectStore, 'file'>, events: DatabaseEvents): LogDatabase;
}

/**
 * Turns by messages to oneself: they queue behind what is already waiting. A message takes longer than
 * a read or write of a key, so bookkeeping shares one with the task that comes next.
 */
export class MessageTurns implements Turns {
  readonly #tasks: (() => void)[] = [];
  #before: (() => void)[] = [];
  #messages = 0;
  #port: MessagePort | undefined;
  #isClosed = false;

  nextTurn(task: () => void): void {
    this.#tasks.push(task);
    if (this.#messages < this.#tasks.length) this.#post();
  }

  beforeNextTurn(task: () => void): void {
    this.#before.push(task);
    if (this.#messages === 0) this.#post();
  }

  /**
   * Turns are needed no more. What waits still runs, and what comes late: each time for as long as it
   * waits there is a channel, which keeps a process alive.
   */
  close(): void {
    this.#isClosed = true;
    this.#letGo();
  }

  #post(): void {
    this.#port ??= this.#open();
    this.#messages += 1;
    this.#port.postMessage(null);
  }

  #open(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => this.#turn();
    return port2;
  }

  #letGo(): void {
    if (!this.#isClosed || this.#messages > 0) return;
    this.#port?.close(); // and with it the other end
    this.#port = undefined;
  }

  #turn(): void {
    this.#messages -= 1;
    this.#letGo();
    const before = this.#before;
    this.#before = [];
    for (const task of before) task();
    this.#tasks.shift()?.();
  }
}
