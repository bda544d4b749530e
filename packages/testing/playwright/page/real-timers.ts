// Timers that a test's `page.clock` does not stop. They run in a worker, which Playwright's clock does not reach.

const SOURCE = `onmessage = ({ data: [number, delayMs] }) => setTimeout(() => postMessage(number), delayMs);`;

export class RealTimers {
  readonly #worker: Worker;
  readonly #tasks = new Map<number, () => void>();
  #lastNumber = 0;

  constructor() {
    this.#worker = new Worker(URL.createObjectURL(new Blob([SOURCE], { type: 'text/javascript' })));
    this.#worker.addEventListener('message', ({ data }: MessageEvent<number>) => {
      const task = this.#tasks.get(data);
      this.#tasks.delete(data);
      task?.();
    });
  }

  /** Runs the task after the delay. The returned function cancels it. */
  readonly after = (delayMs: number, task: () => void): (() => void) => {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    this.#tasks.set(number, task);
    this.#worker.postMessage([number, delayMs]);
    return () => this.#tasks.delete(number);
  };

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.after(delayMs, resolve));
  }
}
