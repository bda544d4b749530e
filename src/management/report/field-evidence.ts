// Finds out whether the bodies of a call show a field that the schedule names.

import type { FieldRule } from '../schedule/entry.ts';
import type { RecordedCall } from './recorded-call.ts';

/** `unknown`: the body that would show the field was not recorded. */
export type Evidence = 'shown' | 'absent' | 'unknown';

export function evidenceOf(rule: FieldRule, call: RecordedCall): Evidence {
  const body = rule.in === 'request' ? call.requestBody : call.responseBody;
  if (body === undefined) return 'unknown';
  const root = rule.in === 'request' ? body : member(body, rule.in);
  return itemsOf(root).some((item) => shows(rule, item, call)) ? 'shown' : 'absent';
}

function shows({ path, equals, when }: FieldRule, item: unknown, call: RecordedCall): boolean {
  const values = valuesAt(item, path.split('.'));
  const isThere = values.some((value) => (equals === undefined ? true : value === equals));
  if (!isThere || when === undefined) return isThere;
  // A patch may omit the type of the record it changes; its answer contains it.
  const own = valuesAt(item, when.path.split('.'));
  const known = own.length > 0 ? own : valuesAt(member(call.responseBody, 'result'), [when.path]);
  return known.includes(when.equals);
}

/** All values at a path; `name[]` means each item of a list. */
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
