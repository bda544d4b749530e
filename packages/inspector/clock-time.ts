// The time of driven objects, in words, and whether somebody drives it.

import type { ObjectsClock } from '@ctx-storage/core/object';

/** The parts of a clock that move the objects' time. */
export type DrivenClock = Pick<ObjectsClock, 'now' | 'advance' | 'resume'> & {
  runNextAlarm(): Promise<AlarmOwner | null>;
};

/** Whose alarm ran. */
export interface AlarmOwner {
  readonly className: string;
  readonly id: { readonly name?: string | undefined; toString(): string };
}

/** How far a clock that follows the system may seem to be off: the answer takes time, and comes from another thread. */
const DRIFT_MS = 1000;

/**
 * The time of a stopped clock; null while it follows the system. A clock reports only its time: it is stopped if it
 * reports the same time as before, or another time than the system.
 */
export function heldTime(nowMs: number, systemMs: number, beforeMs: number | null): number | null {
  return nowMs === beforeMs || Math.abs(nowMs - systemMs) > DRIFT_MS ? nowMs : null;
}

const UNITS = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** "in 59 min", "due". */
export function untilText(timeMs: number, nowMs: number): string {
  const leftMs = timeMs - nowMs;
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(leftMs / unitMs);
    if (count >= 1) return `in ${count} ${unit === 'day' && count > 1 ? 'days' : unit}`;
  }
  return leftMs > 0 ? 'in less than 1 s' : 'due';
}
