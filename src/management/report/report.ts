// The migration report: which of a client's calls are deprecated or gone on a day, since when, and
// what replaces them.
//
// Calls are identified by method and path, fields by the recorded bodies. This module does not know how
// calls are recorded or how the report is formatted.

import type { FieldRule, Operation, ScheduleEntry } from '../schedule/entry.ts';
import {
  type ChangeOfOperation,
  type DateLike,
  dayFrom,
  type LookupOptions,
  lookup,
} from '../schedule/lookup.ts';
import { evidenceOf } from './field-evidence.ts';
import type { RecordedCall } from './recorded-call.ts';

/**
 * `error`: used, and gone on the day. `warning`: used, and ends later. `note`: the client may depend on
 * it, because a field is in an answer, or because the bodies that would show it were not recorded.
 */
export type Level = 'error' | 'warning' | 'note';

export interface Finding {
  readonly level: Level;
  readonly entry: ScheduleEntry;
  /** The operation that was called, in the form of the schedule. */
  readonly operation: Operation;
  /** The field that changes; absent if the whole operation ends. */
  readonly field?: FieldRule;
  /** Days from the day of the report to the date; zero or negative if the date has passed. */
  readonly daysLeft: number;
  readonly count: number;
  readonly first: RecordedCall;
  /** Whether no recorded body shows if the field is used. */
  readonly isGuess: boolean;
}

export interface Report {
  /** The day, `YYYY-MM-DD`. */
  readonly at: string;
  readonly callCount: number;
  /** The most severe first, then the earliest date. */
  readonly findings: readonly Finding[];
}

export interface ReportOptions extends LookupOptions {
  readonly at: DateLike;
}

/**
 * The report on calls, for a day.
 *
 * @throws StorageError `INVALID_ARGUMENT` if `at` is not a date
 */
export function reportOf(calls: readonly RecordedCall[], options: ReportOptions): Report {
  const at = dayFrom(options.at);
  const found = new Map<string, Finding>();
  for (const call of calls) {
    for (const finding of findingsOf(call, at, options)) {
      const { entry, operation, field, level } = finding;
      const key = [
        entry.id,
        operation.method,
        operation.path,
        field?.in,
        field?.path,
        level,
      ].join();
      const before = found.get(key);
      found.set(key, before ? { ...before, count: before.count + 1 } : finding);
    }
  }
  const findings = [...found.values()].sort(
    (a, b) => RANK[a.level] - RANK[b.level] || a.daysLeft - b.daysLeft,
  );
  return { at, callCount: calls.length, findings };
}

const RANK = { error: 0, warning: 1, note: 2 } as const;

function findingsOf(call: RecordedCall, at: string, options: ReportOptions): Finding[] {
  const found = lookup(call.method, call.url, at, options);
  switch (found.state) {
    case 'live':
      return [];
    case 'deprecated':
    case 'gone': {
      const { entry, operation } = found.change;
      const level = found.state === 'gone' ? 'error' : 'warning';
      const daysLeft = daysBetween(at, entry.date);
      return [{ level, entry, operation, daysLeft, count: 1, first: call, isGuess: false }];
    }
    case 'modified':
      return found.changes.flatMap((change) => fieldFindings(call, at, change));
  }
}

function fieldFindings(call: RecordedCall, at: string, change: ChangeOfOperation): Finding[] {
  const { entry, operation, isInForce } = change;
  const daysLeft = daysBetween(at, entry.date);
  const base = { entry, operation, daysLeft, count: 1, first: call, isGuess: false };
  const rules = entry.fields ?? [];
  const shown = rules.filter((rule) => evidenceOf(rule, call) === 'shown');
  if (shown.length > 0) {
    return shown.map((field) => ({ ...base, field, level: levelOf(field, isInForce) }));
  }
  // Once the new form applies, answers can no longer show the old one.
  const isUnknown = rules.some(
    (rule) => (rule.in === 'request' || !isInForce) && evidenceOf(rule, call) === 'unknown',
  );
  const isGuess = isUnknown || (rules.length === 0 && !isInForce);
  return isGuess ? [{ ...base, level: 'note', isGuess }] : [];
}

/** The provider decides what is in an answer; it is unknown whether the client reads it. */
function levelOf(field: FieldRule, isInForce: boolean): Level {
  if (field.in !== 'request') return 'note';
  return isInForce ? 'error' : 'warning';
}

function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS;
}

const DAY_MS = 86_400_000;

/**
 * The findings that count: what the client sends. With `strict`, also notes.
 */
export function failuresOf(report: Report, { strict = false } = {}): readonly Finding[] {
  return report.findings.filter(({ level }) => strict || level !== 'note');
}
