// Sends object code's console output to a page.
//
// Invariant: the console of the worker prints everything as before; of endless output, a bounded part is sent,
// with a notice that some was left out.

import type { ConsoleEntry, ConsoleLevel } from '../../../src/shared/contract/source.ts';

const LEVELS: readonly ConsoleLevel[] = ['debug', 'log', 'info', 'warn', 'error'];

const TEXT_CHARS_MAX = 4000;

/** Most entries of one second. */
export const ENTRIES_PER_SECOND_MAX = 500;

type Write = (...values: unknown[]) => void;

/** Wraps the console's methods. `now`: milliseconds since the epoch, by the system's clock. */
export function relayConsole(
  target: Record<ConsoleLevel, Write>,
  now: () => number,
  tell: (entry: ConsoleEntry) => void,
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
      if (count < ENTRIES_PER_SECOND_MAX) tell({ level, text: textOf(values), timeMs });
      if (count === ENTRIES_PER_SECOND_MAX) {
        const text = `More than ${count - 1} entries in one second: the rest of them is left out.`;
        tell({ level: 'warn', text, timeMs });
      }
    };
  }
}

function textOf(values: readonly unknown[]): string {
  const text = values.map(wordOf).join(' ');
  return text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX - 1)}…` : text;
}

function wordOf(value: unknown): string {
  try {
    if (typeof value === 'string') return value;
    if (value instanceof Error)
      return value.stack?.includes(value.message) ? value.stack : `${value}`;
    if (typeof value !== 'object' || value === null) return String(value);
    return JSON.stringify(value, plain) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value); // it refers to itself, or one of its getters throws
  }
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  if (value instanceof Map) return { Map: [...value] };
  if (value instanceof Set) return { Set: [...value] };
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}(${value.byteLength} bytes)`;
  return value;
}
