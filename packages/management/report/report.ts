// The migration report lists which of a client's calls are deprecated or gone on a day, since when, and what replaces
// them.
//
// Calls are identified by method and path, fields by the recorded bodies. This module does not know how calls are
// recorded or how the report is formatted.

import { storageError } from '@ctx-storage/core/errors';
import type { FieldRule, Operation, ScheduleEntry } from '../schedule/entry.ts';
import {
  type ChangeOfOperation,
  type DateLike,
  dayFrom,
  type LookupOptions,
  lookup,
} from '../schedule/lookup.ts';
import type { RecordedCall } from './recorded-call.ts';

/**
 * The severity of a finding. `error`: the client uses an operation or field that is gone on the day. `warning`: the
 * client uses one that ends later. `note`: the client may depend on one that ends, because a field is in an answer, or
 * because the bodies that would show the field were not recorded.
 */
export type Level = 'error' | 'warning' | 'note';

export interface Finding {
  readonly level: Level;
  readonly entry: ScheduleEntry;
  /** The operation that was called, with the path in the form of the schedule, such as `/zones/:zone_id/filters`. */
  readonly operation: Operation;
  /** The field that changes; absent if the whole operation ends. */
  readonly field?: FieldRule;
  /**
   * The number of days from the day of the report to the date of the change; zero or negative if the date has passed.
   */
  readonly daysLeft: number;
  readonly count: number;
  readonly first: RecordedCall;
  /** Whether the finding is a guess, because no recorded body shows if the field is used. */
  readonly isGuess: boolean;
}

export interface Report {
  /** The day of the report, `YYYY-MM-DD`. */
  readonly at: string;
  /** The number of calls that were examined; with `hosts`, only calls to these hosts. */
  readonly callCount: number;
  /** The number of calls with at least one finding. */
  readonly affectedCallCount: number;
  /** The findings, the most severe first, then those with the earliest date. */
  readonly findings: readonly Finding[];
}

export interface ReportOptions extends LookupOptions {
  readonly at: DateLike;
  /** Examines only calls to these hosts, such as `api.example.com` or `localhost:8787`. @default calls to every host */
  readonly hosts?: readonly string[];
}

/**
 * Makes the report on the calls for a day.
 *
 * @throws StorageError `INVALID_ARGUMENT` if `at` is not a date, or an element of `hosts` is not a host
 */
export function reportOf(calls: readonly RecordedCall[], options: ReportOptions): Report {
  const at = dayFrom(options.at);
  const hosts = options.hosts?.map(checkedHost);
  const examined = calls.filter(({ url }) => hosts === undefined || hasHost(hosts, url));
  const found = new Map<string, Finding>();
  let affectedCallCount = 0;
  for (const call of examined) {
    const findings = findingsOf(call, at, options);
    if (findings.length > 0) affectedCallCount += 1;
    for (const finding of findings) {
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
  return { at, callCount: examined.length, affectedCallCount, findings };
}

/** Returns whether the URL has one of these hosts. A host without a port means the default port of the URL's scheme. */
function hasHost(hosts: readonly string[], url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, host } = new URL(url);
  return hosts.some((one) => new URL(`${protocol}//${one}`).host === host);
}

function checkedHost(host: string): string {
  if (URL.canParse(`http://${host}`) && !/[/?#@\\]/.test(host)) return host;
  throw storageError(
    'INVALID_ARGUMENT',
    `host: "${host}" must be a host, with its port if it has one, such as api.example.com.`,
  );
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
  // Once the new form applies, answers can no longer show the old one, so an unknown answer is no finding.
  const isUnknown = rules.some(
    (rule) => (rule.in === 'request' || !isInForce) && evidenceOf(rule, call) === 'unknown',
  );
  const isGuess = isUnknown || (rules.length === 0 && !isInForce);
  return isGuess ? [{ ...base, level: 'note', isGuess }] : [];
}

/**
 * Returns the level of a field's finding. Fields of a request are the client's own choice. The provider decides the
 * fields of an answer, and it is unknown whether the client reads them.
 */
function levelOf(field: FieldRule, isInForce: boolean): Level {
  if (field.in !== 'request') return 'note';
  return isInForce ? 'error' : 'warning';
}

function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS;
}

const DAY_MS = 86_400_000;

/**
 * Returns the findings that count as failures: those about calls and fields that the client sends and, with `strict`,
 * also notes.
 */
export function failuresOf(report: Report, { strict = false } = {}): readonly Finding[] {
  return report.findings.filter(({ level }) => strict || level !== 'note');
}

/**
 * Whether the bodies of a call show a field that the schedule names. It is `unknown` if the body that would show the
 * field was not recorded.
 */
type Evidence = 'shown' | 'absent' | 'unknown';

function evidenceOf(rule: FieldRule, call: RecordedCall): Evidence {
  const body = rule.in === 'request' ? call.requestBody : call.responseBody;
  if (body === undefined) return 'unknown';
  const root = rule.in === 'request' ? body : member(body, rule.in);
  return itemsOf(root).some((item) => containsField(rule, item, call)) ? 'shown' : 'absent';
}

function containsField(
  { path, equals, when }: FieldRule,
  item: unknown,
  call: RecordedCall,
): boolean {
  const values = valuesAt(item, path.split('.'));
  const isPresent = values.some((value) => (equals === undefined ? true : value === equals));
  if (!isPresent || when === undefined) return isPresent;
  // A patch may omit the type of the record it changes, but its answer contains it.
  const own = valuesAt(item, when.path.split('.'));
  const known = own.length > 0 ? own : valuesAt(member(call.responseBody, 'result'), [when.path]);
  return known.includes(when.equals);
}

/** Returns all values at a path; `name[]` means each item of a list. */
function valuesAt(value: unknown, path: readonly string[]): unknown[] {
  const [step, ...rest] = path;
  if (step === undefined) return [value];
  const isList = step.endsWith('[]');
  const name = isList ? step.slice(0, -2) : step;
  const found = member(value, name);
  if (found === undefined) return [];
  const next = isList ? (Array.isArray(found) ? found : []) : [found];
  return next.flatMap((one) => valuesAt(one, rest));
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function member(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
  return isObject ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
