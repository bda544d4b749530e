// The clock, the timers and the randomness of the runtime, for objects that are served.

import type { ServedEnvironment } from './served-object.ts';

export const PLATFORM: Omit<ServedEnvironment, 'capture'> = {
  now: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  randomUint32: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
};
