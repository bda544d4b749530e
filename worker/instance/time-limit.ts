// The limit of work that holds an object: a critical section, an alarm's handler.
//
// It runs in real time, since the host's clock may stand still, and ends with the instance.

export interface LimitedOwner {
  /** Runs the task after the delay in real time; the result cancels it. */
  afterRealTime(delayMs: number, task: () => void): () => void;
  /** Keeps the instance; `onEnd` is called when it ends first. */
  retain(onEnd: () => void): () => void;
}

/** Runs the work and keeps the instance meanwhile; calls `onTimeout` if it takes longer. */
export async function withinLimit<T>(
  owner: LimitedOwner,
  limitMs: number,
  onTimeout: () => void,
  work: () => T | PromiseLike<T>,
): Promise<T> {
  const cancel = owner.afterRealTime(limitMs, onTimeout);
  const release = owner.retain(cancel);
  try {
    return await work();
  } finally {
    cancel();
    release();
  }
}
