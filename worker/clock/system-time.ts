// The platform's own time, on which a host's clock is based. Taken when this module is loaded, before a
// host replaces the globals: the host's own time is never an object's.

import type { SystemTime } from './system-timers.ts';

const { setTimeout, clearTimeout, Date: SystemDate } = globalThis;

export const systemTime: SystemTime = {
  now: () => SystemDate.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
};
