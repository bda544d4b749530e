// Defines the I/O context of running code: the interface through which timers, requests, calls and sockets reach the
// object or event that the code belongs to.
//
// Invariant: everything that enters a context is one of its events, everything it sends waits until its
// earlier writes are durable, and every result comes back through its input gate. Nothing enters or leaves
// a context that has ended.
//
// The implementation is `worker/objects/instance/instance-context.ts`.

/** The clock and the network, which the objects of one host share. */
export interface IoHost {
  /** Returns the time of the host's clock, in milliseconds since the epoch. */
  now(): number;
  /** True while a test controls the clock instead of the system. */
  readonly isTimeControlled: boolean;
  /**
   * Runs the task after the delay, by the host's clock. With `keepsAlive`, the process does not exit before the task
   * has run.
   */
  after(delayMs: number, task: () => void, keepsAlive?: boolean): () => void;
  /** Runs the task when the next turn of the event loop begins. */
  beforeNextTurn(task: () => void): void;
  /** True if `fetch` accepts a stream as a body. */
  readonly sendsStreams: boolean;
  /** The script's option `compatibilityFlags`. */
  readonly compatibilityFlags: readonly string[];
}

/** Returns the context of the running task; undefined for code that belongs to no object. */
export type CurrentContext = () => IoContext | undefined;

/** Runs the task as an event of a context. The promise settles as the task does, once the output gate is open. */
export type Enter = <T>(task: () => T | PromiseLike<T>) => Promise<T>;

export interface IoContext {
  readonly host: IoHost;
  /** The compatibility date of the code, as `YYYY-MM-DD`. */
  readonly compatibilityDate: string | undefined;
  /** True if the context belongs to one event of an entry point, and ends with it. An object's context lasts longer. */
  readonly endsWithEvent?: boolean;
  /** Throws if the code may not send anything. The method is absent if the code may send. @throws BRANCH_ISOLATED */
  checkSends?(operation: string): void;
  /**
   * Captures the running critical section, and returns a function that enters the context within it. Callbacks that the
   * section passes to others run in the section, because it waits for them.
   */
  entrance(): Enter;
  /** Starts outgoing I/O, in order, once earlier writes are durable. The result comes through the input gate. */
  send<T>(start: () => T | PromiseLike<T>): Promise<T>;
  /** Starts I/O at once, and receives the result through the input gate. */
  receive<T>(start: () => Promise<T>): Promise<T>;
  /** Captures the running critical section, and returns a function that delivers events to it. */
  reentry(): (event: () => void) => void;
  /**
   * Keeps the context in memory until the result is called. If the context ends first, `onEnd` is called; it is called
   * at once if the context has already ended.
   */
  retain(onEnd?: (reason: unknown) => void): () => void;
  /** Calls `told` when the context ends, without keeping the context in memory. Call the result to unsubscribe. */
  onEnd(told: (reason: unknown) => void): () => void;
}
