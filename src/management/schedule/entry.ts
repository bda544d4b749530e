// An entry of the deprecation schedule: what changes in the interface on one day, and what replaces it.
//
// The schedule is data. Routing, headers, the documentation page, the calendar and the report are
// derived from it; an entry holds no behaviour and knows nothing of who reads it.

import * as v from 'valibot';
import { dayOf } from './day.ts';
import { normalPath } from './paths.ts';

export const KINDS = [
  'removed',
  'replaced',
  'field-removed',
  'field-refused',
  'value-moved',
  'path-renamed',
  'error-shape',
  'transport',
] as const;

/** What kind of change it is. `removed` has no replacement operation, `replaced` has. */
export type ChangeKind = (typeof KINDS)[number];

export const OPERATION_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** A method and the shape of a path; a last segment `*` stands for any rest, also none. */
export interface Operation {
  readonly method: (typeof OPERATION_METHODS)[number];
  readonly path: string;
  /** Whether the description does not list it, and it follows from what it lists. @default false */
  readonly inferred?: boolean;
}

/** A field by which a body shows that the client still uses the old form. */
export interface FieldRule {
  /** Where it stands: in the body sent, in `result`, or in each item of `errors`. */
  readonly in: 'request' | 'result' | 'errors';
  /** Names with dots between; `items[].id` looks into each item. A list is looked into item by item. */
  readonly path: string;
  /** Only a field of this value counts. */
  readonly equals?: string;
  /** Only an object whose own field has this value counts. */
  readonly when?: { readonly path: string; readonly equals: string };
}

export interface Replacement {
  /** A few words for people. */
  readonly text: string;
  /** With the parameter names of the old operation, so that a concrete path can be written. */
  readonly operations?: readonly Operation[];
  readonly fields?: readonly string[];
}

/** A date that was given for the same change at another time. */
export interface EarlierDate {
  readonly date: string;
  /** The first day on which this date is known to have been published. */
  readonly seen?: string;
  readonly source?: string;
}

export interface ScheduleEntry {
  /** Lower-case words with hyphens; unique in a schedule. */
  readonly id: string;
  readonly title: string;
  /** The first day, in UTC, on which the new form applies: `YYYY-MM-DD`. */
  readonly date: string;
  /** Since when the old form is deprecated; not after `date`. Unknown when absent. */
  readonly announced?: string;
  readonly kind: ChangeKind;
  /** Operations that end on the date. */
  readonly operations: readonly Operation[];
  /** Operations that live on and change on the date. */
  readonly affected?: readonly Operation[];
  readonly fields?: readonly FieldRule[];
  readonly replacement?: Replacement;
  readonly note?: string;
  /** Oldest first, without the date that holds. */
  readonly history?: readonly EarlierDate[];
}

/** Entries in the order of their dates, the earliest first. */
export type Schedule = readonly ScheduleEntry[];

const text = v.pipe(v.string(), v.nonEmpty('must not be empty'));

const day = v.pipe(
  v.string('must be a day, YYYY-MM-DD'),
  v.check((value) => value.length === 10 && dayOf(value) === value, 'must be a day, YYYY-MM-DD'),
);

const operation = v.strictObject({
  method: v.picklist(OPERATION_METHODS, `must be one of ${OPERATION_METHODS.join(', ')}`),
  path: v.pipe(
    text,
    v.check((path) => normalPath(path) === path, 'must begin with / and name parameters as :name'),
  ),
  inferred: v.exactOptional(v.boolean()),
});

const fieldRule = v.strictObject({
  in: v.picklist(['request', 'result', 'errors'], 'must be request, result or errors'),
  path: text,
  equals: v.exactOptional(text),
  when: v.exactOptional(v.strictObject({ path: text, equals: text })),
});

const entry = v.pipe(
  v.strictObject({
    id: v.pipe(v.string(), v.regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be words with hyphens')),
    title: text,
    date: day,
    announced: v.exactOptional(day),
    kind: v.picklist(KINDS, `must be one of ${KINDS.join(', ')}`),
    operations: v.array(operation),
    affected: v.exactOptional(v.array(operation)),
    fields: v.exactOptional(v.array(fieldRule)),
    replacement: v.exactOptional(
      v.strictObject({
        text,
        operations: v.exactOptional(v.array(operation)),
        fields: v.exactOptional(v.array(text)),
      }),
    ),
    note: v.exactOptional(text),
    history: v.exactOptional(
      v.array(
        v.strictObject({
          date: day,
          seen: v.exactOptional(day),
          source: v.exactOptional(text),
        }),
      ),
    ),
  }),
  v.forward(
    v.check(
      ({ announced, date }) => announced === undefined || announced <= date,
      'must not be after date',
    ),
    ['announced'],
  ),
) satisfies v.GenericSchema<unknown, ScheduleEntry>;

/** The entry, or what is wrong with which of its fields. */
export function checkEntry(
  value: unknown,
): { readonly entry: ScheduleEntry } | { readonly field: string; readonly problem: string } {
  const checked = v.safeParse(entry, value);
  if (checked.success) return { entry: checked.output };
  const [issue] = checked.issues;
  const field = (issue.path ?? []).map(({ key }) => String(key)).join('.');
  return { field, problem: problemOf(issue) };
}

function problemOf(issue: v.BaseIssue<unknown>): string {
  if (issue.type === 'strict_object' && issue.expected === 'never') return 'is not a known field';
  if (issue.received === 'undefined') return 'is missing';
  return issue.message;
}
