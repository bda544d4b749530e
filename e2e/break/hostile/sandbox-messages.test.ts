// A stranger's messages, as the playground's page reads them.

import { expect, test } from 'vitest';
import {
  Intake,
  Overrun,
  readAnswer,
  readClasses,
  readLines,
} from '../../../demo/sandbox/messages.ts';
import { readPast, readReading } from '../../../demo/sandbox/reading.ts';
import { readTime } from '../../../demo/sandbox/shape.ts';

const entry = { level: 'log', text: 'x', timeMs: 1 };
const failure = { code: 'x', message: 'x', stack: 'x' };
const line = { className: 'A', name: 'a', id: '1', sizeBytes: 1, nextAlarm: null };
const intake = () => new Intake(() => 0);

test('[DEMO12] messages of the known shapes are read', () => {
  const messages = [
    { type: 'console', entry },
    { type: 'socket', line: 'x' },
    { type: 'answer', id: 1, value: 2 },
    { type: 'failed', id: 1, failure },
  ];
  const reader = intake();
  expect(messages.map((message) => reader.read({ ...message, more: 1 }))).toEqual(messages);
  expect(readAnswer({ kind: 'value', text: '1', type: 'number' })).toEqual({
    kind: 'value',
    text: '1',
    type: 'number',
  });
  expect(readLines([line, { ...line, nextAlarm: 5 }])).toEqual([line, { ...line, nextAlarm: 5 }]);
});

test('[DEMO12] a message of another shape, or over a length, is an overrun and is not converted', () => {
  // Converting this value to text would run code of the sender.
  const text = {
    toString() {
      throw new Error('converted');
    },
  };
  const long = 'x'.repeat(4001);
  for (const message of [
    null,
    1,
    'console',
    {},
    { type: 'proxy' },
    { type: 'console' },
    { type: 'console', entry: { ...entry, text } },
    { type: 'console', entry: { ...entry, text: long } },
    { type: 'console', entry: { ...entry, level: 'loud' } },
    { type: 'console', entry: { ...entry, timeMs: '1' } },
    { type: 'socket', line: text },
    { type: 'socket', line: long },
    { type: 'answer', id: text },
    { type: 'failed', id: 1, failure: { ...failure, stack: 'x'.repeat(10_001) } },
    { type: 'failed', id: 1, failure: { ...failure, code: text } },
  ]) {
    expect(() => intake().read(message), JSON.stringify(message)).toThrow(Overrun);
  }
  for (const value of [
    undefined,
    { kind: 'value', text: 'x'.repeat(100_001), type: 'string' },
    { kind: 'value', text, type: 'string' },
    { kind: 'failed' },
  ]) {
    expect(() => readAnswer(value)).toThrow(Overrun);
  }
  const sparse: unknown[] = [];
  sparse.length = 2 ** 32 - 1;
  for (const list of [
    { length: 1 },
    sparse,
    new Array(1001).fill(line),
    [{ ...line, name: text }],
  ]) {
    expect(() => readLines(list)).toThrow(Overrun);
  }
  expect(() => readClasses(new Array(101).fill('A'))).toThrow(Overrun);
  expect(() => readTime(8.64e15 + 1)).toThrow(Overrun);
});

test('[DEMO12] more messages in a second than the limit are an overrun; each second counts by itself', () => {
  let nowMs = 0;
  const reader = new Intake(() => nowMs);
  const read = () => reader.read({ type: 'socket', line: 'x' });
  for (const second of [0, 1, 7]) {
    for (let count = 0; count < 1000; count++) {
      nowMs = 1000 * second + count;
      read();
    }
  }
  expect(read).toThrow(Overrun);
});

test('[DEMO34] a reading of an object in a sandbox is read in its bounds; another shape or length is an overrun', () => {
  const row = { id: '1', texts: ['a'], prints: ['string a'] };
  const table = { name: 'note', columns: ['body'], rows: [row], count: 1 };
  const key = { key: 'a', text: '1', print: 'number 1' };
  const state = { keys: [key], hasMoreKeys: false, tables: [table] };
  const commit = { bookmark: '1', timeMs: 1, isRestore: false, label: 'add()' };
  const reading = { commits: [commit], state };
  expect(readReading({ ...reading, more: 1 })).toEqual(reading);
  const differences = {
    keys: new Map([['a', 'added']]),
    tables: new Map([['note', { columns: ['id'], rows: new Map([['1', 'changed']]) }]]),
    unnamed: ['x'],
  };
  expect(readPast({ state, differences })).toEqual({ state, differences });
  const long = 'x'.repeat(10_001);
  for (const wrong of [
    null,
    { ...reading, commits: new Array(201).fill(commit) },
    { ...reading, commits: [{ ...commit, timeMs: Number.NaN }] },
    { ...reading, commits: [{ ...commit, label: long }] },
    { ...reading, state: { ...state, keys: new Array(51).fill(key) } },
    { ...reading, state: { ...state, keys: [{ ...key, print: long }] } },
    { ...reading, state: { ...state, tables: [{ ...table, rows: new Array(51).fill(row) }] } },
    { ...reading, state: { ...state, tables: [{ ...table, columns: new Array(2001).fill('a') }] } },
    { ...reading, state: { ...state, tables: [{ ...table, rows: [{ ...row, id: long }] }] } },
  ]) {
    expect(() => readReading(wrong), JSON.stringify(wrong)).toThrow(Overrun);
  }
  for (const wrong of [
    { ...differences, keys: { a: 'added' } },
    { ...differences, keys: new Map([['a', 'stolen']]) },
    { ...differences, keys: new Map(Array.from({ length: 101 }, (_, at) => [`${at}`, 'added'])) },
    { ...differences, unnamed: [1] },
  ]) {
    expect(() => readPast({ state, differences: wrong })).toThrow(Overrun);
  }
});
