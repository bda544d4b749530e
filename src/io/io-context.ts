// The I/O context of running code: the object whose task it is, as everything that reaches the
// world outside of it (timers, requests, calls, sockets) needs it.
//
// Keeps true: what enters a context is one of its events, what it sends waits for what it wrote, and
// what it receives comes back through its input gate. Nothing enters or leaves a context that ended.
//
// Knows no implementation: `worker/instance/object-instance.ts` is one.

/** What the objects of one host share: its time and its network. */
export interface IoHost {
  /** Milliseconds since the epoch, by the host's clock. */
  now(): number;
  /** True while somebody else than the system moves the clock. */
  readonly isTimeControlled: boolean;
  /** Runs the task after the delay on the host's clock; `keepsAlive`: a process waits for it. */
  after(delayMs: number, task: () => void, keepsAlive?: boolean): () => void;
  /** Runs the task when the next turn of the event loop begins. */
  beforeNextTurn(task: () => void): void;
  /** True when the network takes a body that is a stream. */
  readonly sendsStreams: boolean;
}

/** The context of the running task; undefined for code that belongs to no object. */
export type CurrentContext = () => IoContext | undefined;

/** Runs the task as an event of a context; settles as it does, behind the output gate. */
export type Enter = <T>(task: () => T | PromiseLike<T>) => Promise<T>;

export interface IoContext {
  readonly host: IoHost;
  /** `YYYY-MM-DD`: which behaviour the code was written for. */
  readonly compatibilityDate: string | undefined;
  /**
   * Remembers the critical section that runs; the result enters the context in it. What is called
   * back by somebody who was asked in a section belongs to that section, which waits for it.
   */
  entrance(): Enter;
  /** Starts what leaves the context when its writes are on disk, in order; receives the result. */
  send<T>(start: () => T | PromiseLike<T>): Promise<T>;
  /** Starts at once, and receives the result through the input gate. */
  receive<T>(start: () => Promise<T>): Promise<T>;
  /** Remembers the critical section that runs; the result delivers events to it. */
  reentry(): (event: () => void) => void;
  /**
   * Keeps the context in memory until the result is called. `onEnd` is called when the context
   * ends before that: at once when it has ended already.
   */
  retain(onEnd?: (reason: unknown) => void): () => void;
  /** Calls `told` when the context ends, and keeps nothing in memory; the result undoes it. */
  onEnd(told: () => void): () => void;
}
