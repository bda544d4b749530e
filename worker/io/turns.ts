// Turns of the JavaScript event loop, in the order in which they are requested.

export interface Turns {
  /** Runs the task in the next turn; turns come in the order of the calls. */
  nextTurn(task: () => void): void;
  /** Runs the task when the next turn begins, before that turn's own task. @default a turn of its own */
  beforeNextTurn?(task: () => void): void;
}

/**
 * Turns by messages that a thread posts to itself: they queue behind whatever already waits. A message
 * takes longer than a read or write of a key, so bookkeeping shares the next task's message.
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
   * No more turns are expected. Tasks that wait, and any that come late, still run: a channel, which
   * keeps a process alive, stays open as long as one of them waits.
   */
  close(): void {
    this.#isClosed = true;
    this.#closeWhenIdle();
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

  #closeWhenIdle(): void {
    if (!this.#isClosed || this.#messages > 0) return;
    this.#port?.close(); // closes the other end too
    this.#port = undefined;
  }

  #turn(): void {
    this.#messages -= 1;
    this.#closeWhenIdle();
    const before = this.#before;
    this.#before = [];
    for (const task of before) task();
    this.#tasks.shift()?.();
  }
}
