// Measures time as it really passes, also in a page whose clock a test has replaced.
//
// Playwright's `page.clock` replaces `performance.now`, the timers, and `timeStamp` of events, but not performance
// marks. Its time stands still or jumps, so a page that used it would wait for ever, or take a worker that answers for
// a silent one.

/** Milliseconds since the page began. */
export function passedMs(): number {
  return new PerformanceMark('').startTime;
}

/** Runs the task once this time has passed, by the real time and by the page's timers. The result cancels the task. */
export function afterPassed(delayMs: number, task: () => void): () => void {
  const endMs = passedMs() + delayMs;
  let timer: ReturnType<typeof setTimeout>;
  const wait = (leftMs: number) => {
    timer = setTimeout(() => {
      const stillMs = endMs - passedMs();
      // A difference below 2 ms may be an error, because clocks are rounded, at least to a millisecond.
      if (stillMs < 2) task();
      else wait(stillMs);
    }, leftMs);
  };
  wait(delayMs);
  return () => clearTimeout(timer);
}
