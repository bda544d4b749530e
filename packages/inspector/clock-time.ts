// Tells whether the objects' clock is stopped, and shows the time until an alarm.

import type { ObjectsClock } from '@ctx-storage/core/object';

/** The members of a clock that move the objects' time. */
export type DrivenClock = Pick<ObjectsClock, 'now' | 'advance' | 'resume'> & {
  runNextAlarm(): Promise<AlarmOwner | null>;
};

/** The object whose alarm has run. */
export interface AlarmOwner {
  readonly className: string;
  readonly id: { readonly name?: string | undefined; toString(): string };
}

/**
 * How far a running clock may differ from the system's, because its answer takes time and comes from another thread.
 */
const DRIFT_MS = 1000;

/**
 * Returns the time of a stopped clock; null while the clock follows the system. A clock reports only its time: it is
 * stopped if it reports the same time as before, or a time other than the system's.
 */
export function stoppedTime(
  nowMs: number,
  systemMs: number,
  beforeMs: number | null,
): number | null {
  return nowMs === beforeMs || Math.abs(nowMs - systemMs) > DRIFT_MS ? nowMs : null;
}

const UNITS = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** Returns the time until an alarm in its largest unit: "in 59 min", or "due". */
export function untilText(timeMs: number, nowMs: number): string {
  const leftMs = timeMs - nowMs;
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(leftMs / unitMs);
    if (count >= 1) return `in ${count} ${unit === 'day' && count > 1 ? 'days' : unit}`;
  }
  return leftMs > 0 ? 'in less than 1 s' : 'due';
}
