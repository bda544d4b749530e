// Checks the values in the messages of a sandbox: texts, numbers and lists, each of bounded size.
//
// Invariant: another shape, or one out of bounds, is an Overrun, never cut or converted.

/** A message that the code of this package does not send. */
export class Overrun extends Error {}

/** @throws Overrun, as all below */
export function readText(value: unknown, lettersMax: number): string {
  if (typeof value !== 'string') throw unknownMessage();
  if (value.length <= lettersMax) return value;
  throw new Overrun(`It sent a text of ${value.length} letters; at most ${lettersMax} are read.`);
}

export function readNumber(value: unknown): number {
  if (typeof value !== 'number') throw unknownMessage();
  return value;
}

/** Reads a list. Gaps are refused, so that reading takes no more work than the list has items. */
export function readList(value: unknown, itemsMax: number): unknown[] {
  if (!Array.isArray(value)) throw unknownMessage();
  if (value.length <= itemsMax) return Array.from(value);
  throw new Overrun(`It sent a list of ${value.length}; at most ${itemsMax} are read.`);
}

export function readMap<T>(
  value: unknown,
  entriesMax: number,
  lettersMax: number,
  read: (value: unknown) => T,
): ReadonlyMap<string, T> {
  if (!(value instanceof Map)) throw unknownMessage();
  const entries = readList(Array.from(value), entriesMax) as [unknown, unknown][];
  return new Map(entries.map(([key, entry]) => [readText(key, lettersMax), read(entry)]));
}

export function fieldsOf(value: unknown): Partial<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw unknownMessage();
  return value as Record<string, unknown>;
}

export function unknownMessage(): Overrun {
  return new Overrun('It sent a message that the sandbox does not know.');
}

export function readTime(value: unknown): number {
  const timeMs = readNumber(value);
  if (Number.isNaN(new Date(timeMs).getTime())) throw unknownMessage();
  return timeMs;
}
