// Cron expressions, and the times at which they run.

import { expect, test } from 'vitest';
import { CronExpression } from './cron-expression.ts';

const FROM = Date.UTC(2030, 0, 1); // a Tuesday

/** Lists the first times after FROM at which the expression runs, as month-day, hour:minute and day of the week. */
function firstTimes(text: string, count = 3): string[] {
  const expression = new CronExpression(text);
  let timeMs = FROM;
  return Array.from({ length: count }, () => {
    timeMs = expression.nextAfter(timeMs);
    const date = new Date(timeMs);
    const day = date.toLocaleDateString('en', { weekday: 'short', timeZone: 'UTC' });
    return `${date.toISOString().slice(5, 16)} ${day}`;
  });
}

test.for<[text: string, times: readonly string[]]>([
  ['* * * * *', ['01-01T00:01 Tue', '01-01T00:02 Tue', '01-01T00:03 Tue']],
  ['*/20 * * * *', ['01-01T00:20 Tue', '01-01T00:40 Tue', '01-01T01:00 Tue']],
  ['5/25 * * * *', ['01-01T00:05 Tue', '01-01T00:30 Tue', '01-01T00:55 Tue']],
  ['58-0 * * * *', ['01-01T00:58 Tue', '01-01T00:59 Tue', '01-01T01:00 Tue']],
  ['1,10-20/5,45 3 * * *', ['01-01T03:01 Tue', '01-01T03:10 Tue', '01-01T03:15 Tue']],
  ['30 22-1 * * *', ['01-01T00:30 Tue', '01-01T01:30 Tue', '01-01T22:30 Tue']],
  ['0 0 * * 1', ['01-06T00:00 Sun', '01-13T00:00 Sun', '01-20T00:00 Sun']],
  ['0 0 * * 7', ['01-05T00:00 Sat', '01-12T00:00 Sat', '01-19T00:00 Sat']],
  ['0 0 * * L', ['01-05T00:00 Sat', '01-12T00:00 Sat', '01-19T00:00 Sat']],
  ['0 0 * * mon', ['01-07T00:00 Mon', '01-14T00:00 Mon', '01-21T00:00 Mon']],
  ['0 0 * * SAT-SUN', ['01-05T00:00 Sat', '01-06T00:00 Sun', '01-12T00:00 Sat']],
  ['0 0 * * 2-6', ['01-02T00:00 Wed', '01-03T00:00 Thu', '01-04T00:00 Fri']],
  ['0 0 * * FRIL', ['01-25T00:00 Fri', '02-22T00:00 Fri', '03-29T00:00 Fri']],
  ['0 0 * * 2#2', ['01-14T00:00 Mon', '02-11T00:00 Mon', '03-11T00:00 Mon']],
  ['0 0 * FEB,dec *', ['02-01T00:00 Fri', '02-02T00:00 Sat', '02-03T00:00 Sun']],
  ['0 0 L * *', ['01-31T00:00 Thu', '02-28T00:00 Thu', '03-31T00:00 Sun']],
  ['0 0 LW * *', ['01-31T00:00 Thu', '02-28T00:00 Thu', '03-29T00:00 Fri']],
  ['0 0 3W * *', ['01-03T00:00 Thu', '02-04T00:00 Mon', '03-04T00:00 Mon']],
  ['0 0 1 * MON', ['01-07T00:00 Mon', '01-14T00:00 Mon', '01-21T00:00 Mon']],
  ['0 0 29 2 *', ['02-29T00:00 Sun', '02-29T00:00 Fri', '02-29T00:00 Wed']],
])('[CRON1] the first times of %s', ([text, expected]) => {
  expect(firstTimes(text)).toEqual(expected);
});

test('[CRON1] upTo returns the given time itself if the expression runs then, else the time before it', () => {
  const expression = new CronExpression('*/5 * * * *');
  const minute = 60_000;
  expect(expression.upTo(FROM)).toBe(FROM);
  expect(expression.upTo(FROM + 5 * minute - 1)).toBe(FROM);
  expect(expression.upTo(FROM + 5 * minute)).toBe(FROM + 5 * minute);
});

test.for<[text: string, fault: string]>([
  ['* * * *', 'it has 4 fields, not 5'],
  ['* * * * * *', 'it has 6 fields, not 5'],
  ['@daily', 'it has 1 fields'],
  ['60 * * * *', '60 in "60" is not from 0 to 59'],
  ['* 24 * * *', '24 in "24" is not from 0 to 23'],
  ['* * 0 * *', '0 in "0" is not from 1 to 31'],
  ['* * * * 0', '0 in "0" is not from 1 to 7'],
  ['* * * * 8', '8 in "8" is not from 1 to 7'],
  ['* * * * MON#6', '"MON#6" cannot be read'],
  ['* * * * +MON', '"+MON" cannot be read'],
  ['* * ? * *', '"?" cannot be read'],
  ['* * L-3 * *', '"L-3" cannot be read'],
  ['* * 1,L * *', '"1,L" cannot be read'],
  ['* JAN * * *', '"JAN" cannot be read'],
  ['1,,2 * * * *', '"1,,2" cannot be read'],
  ['*/0 * * * *', 'illegal stepping: 0'],
  ['50-10/5 * * * *', 'has a step in a range that begins after its end'],
  ['0 0 31 2 *', 'no date has this day'],
])('[CRON2] %s is refused: %s', ([text, fault]) => {
  expect(() => new CronExpression(text)).toThrow(fault);
});
