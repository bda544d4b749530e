// The I/O context of running code: the object or event that it belongs to, as timers, requests, calls and sockets
// see it.
//
// Invariant: everything that enters a context is one of its events, everything it sends waits until its
// earlier writes are durable, and every result comes back through its input gate. Nothing enters or leaves
// a context that has ended.
//
// The implementation is `worker/objects/instance/instance-context.ts`.

/** The parts that the objects of one host share: the clock and the network. */
export interface IoHost {
  /** Milliseconds since the epoch, by the host's clock. */
  now(): number;
  /** True while a test, not the system, moves the clock. */
  readonly isTimeControlled: boolean;
  /** Runs the task after the delay, by the host's clock; `keepsAlive`: the process waits for it. */
  after(delayMs: number, task: () => void, keepsAlive?: boolean): () => void;
  /** Runs the task when the next turn of the event loop begins. */
  beforeNextTurn(task: () => void): void;
  /** True if `fetch` accepts a stream as a body. */
  readonly sendsStreams: boolean;
  /** Of the script. */
  readonly compatibilityFlags: readonly string[];
}

/** The context of the running task; undefined for code that belongs to no object. */
export type CurrentContext = () => IoContext | undefined;

/** Runs the task as an event of a context, and settles like it, behind the output gate. */
export type Enter = <T>(task: () => T | PromiseLike<T>) => Promise<T>;

export interface IoContext {
  readonly host: IoHost;
  /** `YYYY-MM-DD`: the behaviour that the code was written for. */
  readonly compatibilityDate: string | undefined;
  /** True: it ends with its event, and what the event waits for. A timer or an open socket of an object outlives it. */
  readonly endsWithEvent?: boolean;
  /** Whether the code may reach others. Absent: it may. @throws BRANCH_ISOLATED */
  checkSends?(operation: string): void;
  /**
   * Captures the critical section that runs; the result enters the context in that section. A callback of
   * somebody who was called in a section belongs to the section, which waits for it.
   */
  entrance(): Enter;
  /** Starts outgoing I/O when earlier writes are durable, in order; receives the result. */
  send<T>(start: () => T | PromiseLike<T>): Promise<T>;
  /** Starts I/O at once, and receives the result through the input gate. */
  receive<T>(start: () => Promise<T>): Promise<T>;
  /** Captures the critical section that runs; the result delivers events to it. */
  reentry(): (event: () => void) => void;
  /**
   * Keeps the context in memory until the result is called. If the context ends before that, `onEnd` is
   * called; if it has ended already, at once.
   */
  retain(onEnd?: (reason: unknown) => void): () => void;
  /** Calls `told` when the context ends, without keeping it in memory; the result cancels this. */
  onEnd(told: (reason: unknown) => void): () => void;
}
