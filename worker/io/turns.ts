// Turns of the JavaScript event loop, in the order in which they were asked for.

/** Turns of the event loop. */
export interface Turns {
  /** Runs the task in the next turn; turns come in the order of the calls. */
  nextTurn(task: () => void): void;
  /** Runs the task when the next turn begins, before what that is for. @default a turn of its own */
  beforeNextTurn?(task: () => void): void;
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
