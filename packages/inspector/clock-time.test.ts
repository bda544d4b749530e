import { describe, expect, test } from 'vitest';
import { stoppedTime, untilText } from './clock-time.ts';

const NOW_MS = 1_700_000_000_000;

describe('the time of driven objects', () => {
  test('[INSP1] a clock stands if it says another time than the system, or the same as before', () => {
    expect(stoppedTime(NOW_MS, NOW_MS + 20, null)).toBeNull();
    expect(stoppedTime(NOW_MS + 3_600_000, NOW_MS, null)).toBe(NOW_MS + 3_600_000);
    expect(stoppedTime(NOW_MS - 3_600_000, NOW_MS, null)).toBe(NOW_MS - 3_600_000);
    expect(stoppedTime(NOW_MS + 5, NOW_MS, NOW_MS + 5)).toBe(NOW_MS + 5);
    expect(stoppedTime(NOW_MS + 7, NOW_MS, NOW_MS + 5)).toBeNull();
  });

  test('[INSP1] the time until an alarm is shown in its largest unit', () => {
    const texts = [-5, 0, 10, 1000, 59_999, 60_000, 3_599_999, 3_600_000, 90_000_000, 180_000_000];
    expect(texts.map((leftMs) => untilText(NOW_MS + leftMs, NOW_MS))).toEqual([
      'due',
      'due',
      'in less than 1 s',
      'in 1 s',
      'in 59 s',
      'in 1 min',
      'in 59 min',
      'in 1 h',
      'in 1 day',
      'in 2 days',
    ]);
  });
});
