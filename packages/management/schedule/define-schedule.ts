// Makes a custom schedule: the built-in one with entries added or replaced.

import { storageError } from '@ctx-storage/core/errors';
import { checkEntry, type Schedule, type ScheduleEntry } from './entry.ts';

/**
 * Returns the entries of `base` and `extra` in the order of their dates.
 *
 * An extra entry replaces a base entry with the same id, so that a date can be moved or an announcement added. `extra`
 * is checked as if it came from a file.
 *
 * @throws StorageError `INVALID_ARGUMENT` that names the entry and the field
 */
export function defineSchedule(base: Schedule, extra: readonly unknown[]): Schedule {
  if (!Array.isArray(extra)) {
    throw storageError('INVALID_ARGUMENT', 'defineSchedule(): the entries must be an array.');
  }
  const added = new Map<string, ScheduleEntry>();
  for (const [index, value] of extra.entries()) {
    const checked = checkEntry(value);
    if ('problem' in checked)
      throw invalidEntry(nameOf(value, index), checked.field, checked.problem);
    const { entry } = checked;
    if (added.has(entry.id)) throw invalidEntry(entry.id, 'id', 'is used by another added entry');
    added.set(entry.id, entry);
  }
  const kept = base.filter(({ id }) => !added.has(id));
  return [...kept, ...added.values()].sort((a, b) =>
    a.date < b.date ? -1 : a.date > b.date ? 1 : 0,
  );
}

function nameOf(value: unknown, index: number): string {
  const id = (value as { readonly id?: unknown } | null | undefined)?.id;
  return typeof id === 'string' ? id : `number ${index}`;
}

function invalidEntry(entry: string, field: string, problem: string): Error {
  const subject = field === '' ? 'it' : field;
  return storageError('INVALID_ARGUMENT', `Schedule entry ${entry}: ${subject} ${problem}.`);
}
