// The script of a run, as its failure shows it.

import { inspect } from 'node:util';

const TEXT_LENGTH_MAX = 80;

/** A step, as it has happened. */
export interface ScriptLine {
  readonly ms: number;
  text: string;
  readonly notes: string[];
}

/** Writes a line such as `12 ms Bank/b.transfer('a', 'c', 40) → true · again …`. */
export function scriptLine({ ms, text, notes }: ScriptLine): string {
  return [`${ms} ms ${text}`, ...notes].join(' · ');
}

/** Writes a value in a short form. */
export function textOf(value: unknown): string {
  if (value instanceof Error) return value.message.split('\n')[0]!.slice(0, TEXT_LENGTH_MAX);
  if (value instanceof Request) return `${value.method} ${value.url}`;
  if (value instanceof Response) return `a response ${value.status}`;
  const text = inspect(value, { depth: 3, breakLength: Number.POSITIVE_INFINITY, sorted: true });
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX - 1)}…` : text;
}
