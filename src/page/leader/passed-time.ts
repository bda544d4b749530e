// Time as it passes, also in a page whose clock a test has replaced.
//
// Playwright's `page.clock` replaces `performance.now`, the timers, and `timeStamp` of events, but not the marks. By its time,
// which stands still or jumps, a page would wait for ever, or take a worker that answers for a silent one.

/** Milliseconds since the page began. */
export function passedMs(): number {
  return new PerformanceMark('').startTime;
}

/** Runs the task once this time has passed and the page's clock agrees. The result cancels it. */
export function afterPassed(delayMs: number, task: () => void): () => void {
  const endMs = passedMs() + delayMs;
  let timer: ReturnType<typeof setTimeout>;
  const wait = (leftMs: number) => {
    timer = setTimeout(() => {
      const stillMs = endMs - passedMs();
      // Clocks are rounded, by a millisecond at least.
      if (stillMs < 2) task();
      else wait(stillMs);
    }, leftMs);
  };
  wait(delayMs);
  return () => clearTimeout(timer);
}
