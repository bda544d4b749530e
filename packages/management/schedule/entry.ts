// An entry of the deprecation schedule describes a change of the interface on one day, and the replacement.
//
// The schedule is data: routing, headers, the HTML page, the calendar and the report are derived from it.

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

/**
 * The kind of change. `removed` means that nothing replaces the operation, `replaced` that a replacement
 * exists.
 */
export type ChangeKind = (typeof KINDS)[number];

export const OPERATION_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** A method and the shape of a path. `*` as the last segment matches any rest of a path, even an empty one. */
export interface Operation {
  readonly method: (typeof OPERATION_METHODS)[number];
  readonly path: string;
  /** Whether the operation is not in the provider's published description, but follows from it. @default false */
  readonly inferred?: boolean;
}

/** A field whose presence in a body shows that the client still uses the old form. */
export interface FieldRule {
  /** Where the field is: in the request's body, in `result`, or in each item of `errors`. */
  readonly in: 'request' | 'result' | 'errors';
  /**
   * The path to the field: names separated by dots. `items[].id` reads each item of a list. If the body is a list, each of its items is read.
   */
  readonly path: string;
  /** If present, only a field with this value counts. */
  readonly equals?: string;
  /** If present, only an object whose field `path` has this value counts. */
  readonly when?: { readonly path: string; readonly equals: string };
}

export interface Replacement {
  /** A few words that name the replacement for readers. */
  readonly text: string;
  /**
   * The new operations. Their parameters have the names of the old operation's, so that a concrete path can be filled
   * in.
   */
  readonly operations?: readonly Operation[];
  readonly fields?: readonly string[];
}

/** A date that was once announced for the same change. */
export interface EarlierDate {
  readonly date: string;
  /** The first day on which this date was published, if known. */
  readonly seen?: string;
  readonly source?: string;
}

export interface ScheduleEntry {
  /** The name of the entry: lower-case words with hyphens, unique in a schedule. */
  readonly id: string;
  readonly title: string;
  /** The first day, in UTC, on which the new form applies: `YYYY-MM-DD`. */
  readonly date: string;
  /** The day on which the old form was deprecated; not after `date`. Absent if unknown. */
  readonly announced?: string;
  readonly kind: ChangeKind;
  /** Operations that end on the date. */
  readonly operations: readonly Operation[];
  /** Operations that continue, but change on the date. */
  readonly affected?: readonly Operation[];
  readonly fields?: readonly FieldRule[];
  readonly replacement?: Replacement;
  readonly note?: string;
  /** Earlier dates of the change, the oldest first, without the present date. */
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

/** Returns the checked entry, or the first invalid field and its problem. */
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
