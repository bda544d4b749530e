// Describes a finding of the report in one sentence, which is the same in every format.
//
// Addresses come from recordings, titles and notes from schedules; control characters in all of them are escaped here.

import { printable } from '@ctx-storage/command-line/printable';
import type { Finding } from './report.ts';

export function messageOf(finding: Finding): string {
  return printable([statement(finding), advice(finding)].join(' '));
}

/** Returns the operation, such as `GET /zones/:zone_id/filters`, with the field if the finding concerns one. */
export function subjectOf({ operation, field }: Finding): string {
  const call = `${operation.method} ${operation.path}`;
  return printable(field === undefined ? call : `${call} (${field.equals ?? field.path})`);
}

/** Returns how often the finding was seen: `once`, or `2 times`. */
export function timesOf({ count }: Finding): string {
  return count === 1 ? 'once' : `${count} times`;
}

/** Returns the first of the finding's calls, and where it was recorded. */
export function firstSeenOf({ first }: Finding): string {
  const call = `${first.method} ${first.url}`;
  return printable(first.where === undefined ? call : `${first.where}: ${call}`);
}

function statement(finding: Finding): string {
  const { entry, operation, field, daysLeft, isGuess, level } = finding;
  const call = `${operation.method} ${operation.path}`;
  const isPast = daysLeft <= 0;
  const when = isPast
    ? `since ${entry.date}`
    : `on ${entry.date}, in ${daysLeft} ${daysLeft === 1 ? 'day' : 'days'}`;
  if (isGuess) {
    return `${call} changes ${when} (${entry.title}); the recorded calls do not show whether this client is affected.`;
  }
  if (field === undefined) return `${call} ${isPast ? 'is gone' : 'ends'} ${when}.`;
  const name = field.equals ?? field.path;
  if (level === 'note') {
    return `Answers to ${call} had ${name}, which ${isPast ? 'is not there' : 'ends'} ${when}.`;
  }
  const refused = entry.kind === 'field-refused' ? 'is refused' : 'is no longer there';
  return `${call} was sent ${name}, which ${isPast ? refused : 'ends'} ${when}.`;
}

function advice({ entry }: Finding): string {
  const { replacement, note } = entry;
  if (replacement === undefined) return note ?? 'Nothing replaces it.';
  const paths = new Set((replacement.operations ?? []).map(({ path }) => path));
  const names = [...paths, ...(replacement.fields ?? [])].join(', ');
  return `Use ${replacement.text}${names === '' ? '' : ` (${names})`}.`;
}
