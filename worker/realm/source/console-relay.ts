// Copies the console output of object code to a page.
//
// Invariant: the worker's own console still prints everything. At most 500 entries a second are sent to the page; a
// notice replaces the rest.

import type { ConsoleEntry, ConsoleLevel } from '../../../src/shared/contract/source.ts';

const LEVELS: readonly ConsoleLevel[] = ['debug', 'log', 'info', 'warn', 'error'];

const TEXT_CHARS_MAX = 4000;

/** The most entries sent in one second, including the notice that entries were left out. */
export const ENTRIES_PER_SECOND_MAX = 500;

type Write = (...values: unknown[]) => void;

/** Wraps the console's methods. `now` returns the system's time, in milliseconds since the epoch. */
export function relayConsole(
  target: Record<ConsoleLevel, Write>,
  now: () => number,
  sendEntry: (entry: ConsoleEntry) => void,
): void {
  let second = 0;
  let count = 0;
  for (const level of LEVELS) {
    const write = target[level].bind(target);
    target[level] = (...values) => {
      write(...values);
      const timeMs = now();
      if (Math.floor(timeMs / 1000) !== second) {
        second = Math.floor(timeMs / 1000);
        count = 0;
      }
      count += 1;
      if (count < ENTRIES_PER_SECOND_MAX) sendEntry({ level, text: formatValues(values), timeMs });
      if (count === ENTRIES_PER_SECOND_MAX) {
        const text = `More than ${count - 1} entries in one second: the rest of them is left out.`;
        sendEntry({ level: 'warn', text, timeMs });
      }
    };
  }
}

function formatValues(values: readonly unknown[]): string {
  const text = values.map(formatValue).join(' ');
  return text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX - 1)}…` : text;
}

function formatValue(value: unknown): string {
  try {
    if (typeof value === 'string') return value;
    if (value instanceof Error)
      return value.stack?.includes(value.message) ? value.stack : `${value}`;
    if (typeof value !== 'object' || value === null) return String(value);
    return JSON.stringify(value, toJsonValue) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value); // the value is circular, or one of its getters throws
  }
}

function toJsonValue(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  if (value instanceof Map) return { Map: [...value] };
  if (value instanceof Set) return { Set: [...value] };
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}(${value.byteLength} bytes)`;
  return value;
}
