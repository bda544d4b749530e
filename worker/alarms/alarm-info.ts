// What an alarm handler is told about its run; its members cannot be changed.

import type { AlarmRun } from './alarm-scheduler.ts';

export class AlarmInvocationInfo {
  /** The time the alarm was set to, in milliseconds since the epoch. */
  declare readonly scheduledTime: number;
  /** True when an earlier run of this alarm failed. */
  declare readonly isRetry: boolean;
  /** How many runs failed. */
  declare readonly retryCount: number;

  constructor({ scheduledTime, retryCount }: AlarmRun) {
    const members = { scheduledTime, isRetry: retryCount > 0, retryCount };
    for (const [name, value] of Object.entries(members)) {
      Object.defineProperty(this, name, { value, enumerable: true });
    }
  }
}
