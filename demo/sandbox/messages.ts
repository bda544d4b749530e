// Defines the messages of the sandbox's worker to the page, and how the page reads them.
//
// Invariant: a stranger's code may send any message, at any rate. Reading one takes bounded work: its shape, its
// lengths and its rate are checked before it is used, and a message out of bounds is an Overrun, never cut or
// converted.
//
// This module does not depend on the port or the document.

import type { ConsoleEntry, ConsoleLevel } from '../../packages/entries/connect-source.ts';
import {
  type Answer,
  type Failure,
  LETTERS,
  LINES_MAX,
  type ObjectLine,
  type Target,
} from '../playground/calls.ts';
import type { Reading } from '../playground/object-time.ts';
import { readReading } from './reading.ts';
import {
  fieldsOf,
  Overrun,
  readList,
  readNumber,
  readText,
  readTime,
  unknownMessage,
} from './shape.ts';

export { Overrun } from './shape.ts';

/** A message from the worker to the page. */
export type SandboxMessage =
  | { readonly type: 'console'; readonly entry: ConsoleEntry }
  | { readonly type: 'socket'; readonly line: string }
  /** A new reading of the object that is followed. */
  | { readonly type: 'reading'; readonly reading: Reading }
  | { readonly type: 'unread'; readonly failure: Failure }
  /** The answer to the call with this id, whose caller checks `value`. */
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly failure: Failure };

/** A message from the page to the worker that calls one of its functions. */
export interface SandboxAsk {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

export const CLASSES_MAX = 100;

/** How many messages are accepted in a second: twice as many as the worker's console sends lines. */
const MESSAGES_PER_SECOND_MAX = 1000;

const LEVELS: readonly ConsoleLevel[] = ['debug', 'log', 'info', 'warn', 'error'];

/** Reads the messages of one sandbox. `now` returns milliseconds of any clock that runs evenly. */
export class Intake {
  readonly #now: () => number;
  #second = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** @throws Overrun */
  read(data: unknown): SandboxMessage {
    this.#countOne();
    const { type, entry, line, id, value, failure, reading } = fieldsOf(data);
    switch (type) {
      case 'console':
        return { type, entry: readEntry(entry) };
      case 'socket':
        return { type, line: readText(line, LETTERS.line) };
      case 'reading':
        return { type, reading: readReading(reading) };
      case 'unread':
        return { type, failure: readFailure(failure) };
      case 'answer':
        return { type, id: readNumber(id), value };
      case 'failed':
        return { type, id: readNumber(id), failure: readFailure(failure) };
      default:
        throw unknownMessage();
    }
  }

  #countOne(): void {
    const second = Math.floor(this.#now() / 1000);
    if (second !== this.#second) this.#count = 0;
    this.#second = second;
    this.#count += 1;
    if (this.#count > MESSAGES_PER_SECOND_MAX) {
      throw new Overrun(`It sent more than ${MESSAGES_PER_SECOND_MAX} messages in one second.`);
    }
  }
}

/** @throws Overrun, as all below */
export function readAnswer(value: unknown): Answer {
  const { kind, text, type, failure } = fieldsOf(value);
  if (kind === 'failed') return { kind, failure: readFailure(failure) };
  if (kind !== 'value') throw unknownMessage();
  return { kind, text: readText(text, LETTERS.value), type: readText(type, LETTERS.word) };
}

export function readLines(value: unknown): ObjectLine[] {
  return readList(value, LINES_MAX).map((line) => {
    const { id, sizeBytes, nextAlarm } = fieldsOf(line);
    const alarm = nextAlarm === null ? null : readTime(nextAlarm);
    const facts = { id: readText(id, LETTERS.word), sizeBytes: readNumber(sizeBytes) };
    return { ...readTarget(line), ...facts, nextAlarm: alarm };
  });
}

export function readClasses(value: unknown): string[] {
  return readList(value, CLASSES_MAX).map((name) => readText(name, LETTERS.word));
}

export function readTarget(value: unknown): Target {
  const { className, name } = fieldsOf(value);
  return { className: readText(className, LETTERS.word), name: readText(name, LETTERS.name) };
}

function readEntry(value: unknown): ConsoleEntry {
  const { level, text, timeMs } = fieldsOf(value);
  const known = LEVELS.find((one) => one === level);
  if (known === undefined) throw unknownMessage();
  return { level: known, text: readText(text, LETTERS.line), timeMs: readNumber(timeMs) };
}

function readFailure(value: unknown): Failure {
  const { code, message, stack } = fieldsOf(value);
  return {
    code: readText(code, LETTERS.word),
    message: readText(message, LETTERS.message),
    stack: readText(stack, LETTERS.message),
  };
}
