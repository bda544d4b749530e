// Runs a client's tests once for each interval of the schedule, and shows which tests passed when.
//
// Nothing changes between two dates, so one day represents each interval: the day before the first date,
// then each date itself.

import { storageError } from '@ctx-storage/core/errors';
import { SCHEDULE } from '../schedule/data.ts';
import type { Schedule } from '../schedule/entry.ts';
import { datesOf, dayFrom } from '../schedule/lookup.ts';

/** The days between two dates of the schedule: the first date, and all days before the second date. */
export interface DateInterval {
  /** The first day of the interval; absent for the interval before the first date. */
  readonly from?: string;
  /** The first day of the next interval; absent for the last interval. */
  readonly until?: string;
  /** The day that represents the interval. */
  readonly at: string;
}

/** The outcome of a check; `absent` if it did not run on that day. */
export type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'absent' };

export interface DateMatrix {
  readonly intervals: readonly DateInterval[];
  /** The checks in the order in which they first ran; `outcomes` has one for each interval. */
  readonly checks: readonly { readonly name: string; readonly outcomes: readonly Outcome[] }[];
}

export interface DatedRun extends DateInterval {
  /** Runs a check. The check passes if `body` returns, and fails if it throws. Never rejects. */
  check(name: string, body: () => unknown): Promise<void>;
}

/** Returns the intervals of the schedule: one more than it has dates, so 23 for the built-in schedule. */
export function intervalsOf(schedule: Schedule = SCHEDULE): readonly DateInterval[] {
  const dates = datesOf(schedule);
  const [first] = dates;
  if (first === undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      'The schedule is empty, so it has no intervals; add an entry.',
    );
  }
  const dayBefore = dayFrom(Date.parse(first) - 1);
  return [
    { until: first, at: dayBefore },
    ...dates.map((from, index) => {
      const until = dates[index + 1];
      return { from, at: from, ...(until !== undefined && { until }) };
    }),
  ];
}

/**
 * Runs `run` for each interval, one after the other, the earliest first.
 *
 * If `run` itself throws, that counts as a failed check named `run`, and the other intervals still run.
 */
export async function forEachDate(
  run: (dated: DatedRun) => unknown,
  { schedule = SCHEDULE }: { readonly schedule?: Schedule } = {},
): Promise<DateMatrix> {
  const intervals = intervalsOf(schedule);
  const outcomes = new Map<string, Outcome[]>();
  for (const [index, interval] of intervals.entries()) {
    const check = async (name: string, body: () => unknown) => {
      const row = outcomes.get(name) ?? intervals.map((): Outcome => ({ kind: 'absent' }));
      outcomes.set(name, row);
      row[index] = await outcomeOf(body);
    };
    const outcome = await outcomeOf(() => run({ ...interval, check }));
    if (outcome.kind === 'failed') await check(NAME_OF_RUN, () => Promise.reject(outcome.reason));
  }
  return { intervals, checks: [...outcomes].map(([name, row]) => ({ name, outcomes: row })) };
}

const NAME_OF_RUN = 'run';

async function outcomeOf(body: () => unknown): Promise<Outcome> {
  try {
    await body();
    return { kind: 'passed' };
  } catch (error) {
    return { kind: 'failed', reason: error instanceof Error ? error.message : String(error) };
  }
}

const CELL_TEXTS = { passed: 'yes', failed: 'no', absent: '' } as const;

/** Writes the matrix as a Markdown table: a row for each interval, a column for each check. */
export function formatMatrix({ intervals, checks }: DateMatrix): string {
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const row = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  const rows = intervals.map(({ from, until }, index) => [
    from === undefined ? `before ${until}` : `from ${from}`,
    ...checks.map(({ outcomes }) => CELL_TEXTS[outcomes[index]!.kind]),
  ]);
  return [
    row(['Date', ...checks.map(({ name }) => name)]),
    `|${'---|'.repeat(checks.length + 1)}`,
    ...rows.map(row),
    '',
  ].join('\n');
}
