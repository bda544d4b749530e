// A cron expression in Cloudflare's syntax, in UTC: five fields; days of the week are 1 to 7, Sunday to Saturday.
//
// Invariant: an expression that croner would run at other times than Cloudflare is refused.

import { Cron } from 'croner';

const MONTHS = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ');
const DAYS = 'SUN MON TUE WED THU FRI SAT'.split(' ');

interface Field {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
  /** Matches the forms that the field accepts beside numbers, ranges and steps, such as `L` for the last day. */
  readonly special: RegExp | null;
}

const NO_NAMES: readonly string[] = [];

const FIELDS: readonly Field[] = [
  { min: 0, max: 59, names: NO_NAMES, special: null },
  { min: 0, max: 23, names: NO_NAMES, special: null },
  { min: 1, max: 31, names: NO_NAMES, special: /^(?:L|LW|\d{1,2}W)$/ },
  { min: 1, max: 12, names: MONTHS, special: null },
  { min: 1, max: 7, names: DAYS, special: /^[1-7](?:L|#[1-5])$/ },
];

export class CronExpression {
  readonly #cron: Cron;

  /** Parses the expression. @throws Error that says which field is wrong, and why */
  constructor(text: string) {
    const fields = text.trim().split(/\s+/);
    if (fields.length !== FIELDS.length) {
      throw new Error(`it has ${fields.length} fields, not ${FIELDS.length}`);
    }
    const pattern = fields.map((field, i) => toCronerField(field, FIELDS[i]!)).join(' ');
    // Croner starts no timer, because it is given no function to call.
    this.#cron = new Cron(pattern, { utcOffset: 0, alternativeWeekdays: true, mode: '5-part' });
    if (this.#cron.nextRun() === null) throw new Error('no date has this day');
  }

  /** Returns the first time after `timeMs` at which the expression runs; both are milliseconds since the epoch. */
  nextAfter(timeMs: number): number {
    return this.#cron.nextRun(new Date(timeMs))!.getTime();
  }

  /** Returns the last time at which the expression runs that is not later than `timeMs`. */
  upTo(timeMs: number): number {
    // Croner compares whole seconds, and does not return the given second itself.
    const nextSecond = Math.floor(timeMs / 1000) * 1000 + 1000;
    return this.#cron.previousRuns(1, new Date(nextSecond))[0]!.getTime();
  }
}

/** Writes a field in the syntax of croner, which knows neither names in ranges nor ranges such as `22-1`. */
function toCronerField(field: string, { min, max, names, special }: Field): string {
  const parts = field.toUpperCase().split(',');
  const numbered = parts.map((part) =>
    part.replace(/[A-Z]{3}/, numberOf).replace(/(?<=-)[A-Z]{3}/, numberOf),
  );
  function numberOf(name: string): string {
    const index = names.indexOf(name);
    return index === -1 ? name : String(index + min);
  }
  const [first] = numbered;
  if (parts.length === 1) {
    if (first === 'L' && names === DAYS) return String(max);
    if (special?.test(first!)) return first!;
  }
  return numbered.map((part) => toCronerRange(part, field, min, max)).join(',');
}

function toCronerRange(part: string, field: string, min: number, max: number): string {
  const match = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(part);
  if (match === null) throw new Error(`"${field}" cannot be read`);
  const [, from, to, step] = match;
  for (const value of [from, to]) {
    if (value !== undefined && (Number(value) < min || Number(value) > max)) {
      throw new Error(`${value} in "${field}" is not from ${min} to ${max}`);
    }
  }
  const steps = step === undefined ? '' : `/${step}`;
  if (from === undefined) return `*${steps}`;
  if (to === undefined) return step === undefined ? from : `${from}-${max}${steps}`;
  if (Number(from) <= Number(to)) return `${from}-${to}${steps}`;
  if (step === undefined) return `${from}-${max},${min}-${to}`;
  throw new Error(`"${field}" has a step in a range that begins after its end`);
}
