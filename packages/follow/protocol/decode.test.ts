// Tests the check of messages: each field is tried with values that are almost right.

import { describe, expect, test } from 'vitest';
import { decodeToFollower, decodeToServer } from './decode.ts';

const POSITION = { id: 3, life: 2 ** 32 - 1 };
const COPY = { from: POSITION, at: { id: 0, life: 0 }, parts: 1, next: { any: 'thing' } };
const OUTCOMES = [
  [1, { kind: 'value', value: { deep: true } }],
  [2, { kind: 'error', error: new RangeError('no') }],
  [3, { kind: 'failed', code: 'CALL_INTERRUPTED' }],
  [4, { kind: 'failed', code: 'CALL_ABANDONED' }],
];
const ANSWERS = { last: 4, outcomes: OUTCOMES };
const RANGE = { oldest: 1, newest: 2 };

const hello = {
  kind: 'hello',
  protocol: RANGE,
  client: 'c',
  position: POSITION,
  copy: COPY,
  ack: 0,
};
const next = { kind: 'next', copy: { ...COPY, next: null }, receipt: null };
const call = { kind: 'call', n: 1, mark: 0, method: 'm', args: 'any', again: true, ack: 9 };
const ack = { kind: 'ack', ack: 0, receipt: 2 ** 32 - 1 };
const welcome = { kind: 'welcome', protocol: 1, version: 0, received: { n: 4, mark: 3 } };
const rejected = { kind: 'rejected', reason: 'PROTOCOL', protocol: { oldest: 0, newest: 2 } };
const part = { kind: 'part', copy: COPY, progress: 0.5, changes: 'any', receipt: null };
const cut = {
  kind: 'cut',
  onto: { kind: 'position', position: POSITION },
  to: POSITION,
  ...ANSWERS,
  changes: 'any',
  receipt: 0,
};
const cutOnParts = { ...cut, onto: { kind: 'parts', from: POSITION, count: 1 } };
const ended = { kind: 'ended', ...ANSWERS, receipt: null };

const TO_SERVER = [hello, { ...hello, position: null, copy: null }, next, call, ack];
const TO_FOLLOWER = [
  ...[welcome, { ...welcome, received: { n: 0, mark: null } }],
  ...[rejected, part, cut, cutOnParts, ended],
];

/** Matches the error that names this field as wrong. */
const refusal = (field: string) =>
  expect.objectContaining({
    code: 'INVALID_ARGUMENT',
    message: expect.stringMatching(new RegExp(`: ${field}\\b.* is not \\w`)),
  });

const NOT_COUNTS = [-1, 0.5, 2 ** 53, Number.NaN, '1', 1n, null, undefined];
const NOT_UINT32 = [2 ** 32, ...NOT_COUNTS];
const NOT_RECEIPTS: [unknown, string][] = [2 ** 32, -1, 0.5, '1', 1n, undefined].map(
  (value): [unknown, string] => [value, 'receipt'],
);
const NOT_OBJECTS = ['text', 1, undefined];
const NOT_POSITIONS: [unknown, string][] = [
  ...NOT_COUNTS.map((id): [unknown, string] => [{ ...POSITION, id }, 'id']),
  ...NOT_COUNTS.map((life): [unknown, string] => [{ ...POSITION, life }, 'life']),
  [{ ...POSITION, life: 2 ** 32 }, 'life'],
];
const positions = (field: string): [unknown, string][] => [
  ...NOT_POSITIONS,
  ...[null, ...NOT_OBJECTS].map((value): [unknown, string] => [value, field]),
];
const within = (whole: object, field: string, wrong: readonly [unknown, string][]) =>
  wrong.map(([value, told]): [unknown, string] => [{ ...whole, [field]: value }, told]);
const all = (values: readonly unknown[], field: string) =>
  values.map((value): [unknown, string] => [value, field]);
const NOT_RANGES: [unknown, string][] = [
  ...all([null, ...NOT_OBJECTS], 'protocol'),
  ...within(RANGE, 'oldest', all(NOT_COUNTS, 'oldest')),
  ...within(RANGE, 'newest', all([0, ...NOT_COUNTS], 'newest')),
];
const NOT_COPIES: [unknown, string][] = [
  ...all(NOT_OBJECTS, 'copy'),
  ...within(COPY, 'from', positions('from')),
  ...within(COPY, 'at', positions('at')),
  ...within(COPY, 'parts', all([0, ...NOT_COUNTS], 'parts')),
];
const NOT_OUTCOMES: [unknown, string][] = [
  ...all([null, ...NOT_OBJECTS, { length: 0 }], 'outcomes'),
  ...all([[null], ['text'], [{ 0: 1 }], [[1, OUTCOMES[0]![1], 'more']]], 'outcome'),
  ...[0, ...NOT_COUNTS].map((n): [unknown, string] => [[[n, OUTCOMES[0]![1]]], 'n']),
  ...[
    null,
    'value',
    {},
    { kind: 'other', value: 1 },
    { kind: 'failed' },
    { kind: 'failed', code: 'OUTCOME_LOST' },
    { kind: 'other', code: 'CALL_ABANDONED' },
  ].map((outcome): [unknown, string] => [[[1, outcome]], 'outcome']),
];

/** For each message and field: wrong values, each with the field that the error must name. */
const WRONG_TO_SERVER: [object, string, readonly [unknown, string][]][] = [
  [hello, 'kind', all(['Hello', 'welcome', null, undefined], 'kind')],
  [hello, 'protocol', NOT_RANGES],
  [
    hello,
    'client',
    all(['', 'x'.repeat(65), 'é', 'a b', 'a\n', '\ud800', 1, null, undefined, ['c']], 'client'),
  ],
  [hello, 'position', [...NOT_POSITIONS, ...all(NOT_OBJECTS, 'position')]],
  [hello, 'copy', NOT_COPIES],
  [hello, 'ack', all(NOT_COUNTS, 'ack')],
  [next, 'copy', [...NOT_COPIES, ...all([null], 'copy')]],
  [next, 'receipt', NOT_RECEIPTS],
  [call, 'n', all([0, ...NOT_COUNTS], 'n')],
  [call, 'method', all(['', 'x'.repeat(257), 1, null, undefined], 'method')],
  [call, 'mark', all(NOT_UINT32, 'mark')],
  [call, 'again', all([0, 'true', null, undefined], 'again')],
  [call, 'ack', all(NOT_COUNTS, 'ack')],
  [ack, 'ack', all(NOT_COUNTS, 'ack')],
  [ack, 'receipt', all(NOT_UINT32, 'receipt')],
];
const WRONG_TO_FOLLOWER: typeof WRONG_TO_SERVER = [
  [welcome, 'kind', all(['Welcome', 'hello', null, undefined], 'kind')],
  [welcome, 'protocol', all(NOT_COUNTS, 'protocol')],
  [welcome, 'version', all(NOT_COUNTS, 'version')],
  [
    welcome,
    'received',
    [
      ...all([null, ...NOT_OBJECTS], 'received'),
      ...within({ n: 0, mark: null }, 'n', all(NOT_COUNTS, 'n')),
      ...within({ n: 1, mark: 1 }, 'mark', all([2 ** 32, -1, 0.5, '1', undefined], 'mark')),
    ],
  ],
  [rejected, 'reason', all(['CLIENT_TAKEN', '', null, undefined], 'reason')],
  [rejected, 'protocol', NOT_RANGES],
  [part, 'copy', [...NOT_COPIES, ...all([null], 'copy')]],
  [part, 'progress', all([-0.1, 1.1, Number.NaN, '0', null, undefined], 'progress')],
  [
    cut,
    'onto',
    [
      ...all([null, ...NOT_OBJECTS], 'onto'),
      ...all([{ kind: 'other' }, {}], 'onto.kind'),
      ...within({ kind: 'position' }, 'position', positions('position')),
      ...within({ kind: 'parts', count: 1 }, 'from', positions('from')),
      ...within({ kind: 'parts', from: POSITION }, 'count', all([0, ...NOT_COUNTS], 'parts')),
    ],
  ],
  [cut, 'to', positions('to')],
  [cut, 'last', all(NOT_COUNTS, 'last')],
  [cut, 'outcomes', NOT_OUTCOMES],
  [ended, 'last', all(NOT_COUNTS, 'last')],
  [ended, 'outcomes', NOT_OUTCOMES],
  [part, 'receipt', NOT_RECEIPTS],
  [cut, 'receipt', NOT_RECEIPTS],
  [ended, 'receipt', NOT_RECEIPTS],
];

describe('a message', () => {
  test('[FOLW11] of the right shape stays as it is, without further fields', () => {
    for (const message of TO_SERVER) {
      expect(decodeToServer({ ...message, more: 1 })).toEqual(message);
    }
    for (const message of TO_FOLLOWER) {
      expect(decodeToFollower({ ...message, more: 1 })).toEqual(message);
    }
    const copy = { ...COPY, from: { ...POSITION, more: 1 }, more: 1 };
    expect(decodeToServer({ ...next, copy })).toEqual({ ...next, copy: COPY });
    const outcome = { kind: 'failed', code: 'CALL_ABANDONED' };
    const outcomes = [[1, { ...outcome, more: 1 }]];
    expect(decodeToFollower({ ...ended, outcomes })).toEqual({
      ...ended,
      outcomes: [[1, outcome]],
    });
  });

  test('[FOLW11] may have values up to their bounds', () => {
    const largest = Number.MAX_SAFE_INTEGER;
    const names = { client: 'x'.repeat(64), ack: largest, position: { id: largest, life: 0 } };
    expect(decodeToServer({ ...hello, ...names })).toMatchObject(names);
    const named = { method: 'x'.repeat(256), n: largest };
    expect(decodeToServer({ ...call, ...named })).toMatchObject(named);
    for (const progress of [0, 1]) {
      expect(decodeToFollower({ ...part, progress })).toMatchObject({ progress });
    }
    const tooLarge = { ...rejected, reason: 'OBJECT_TOO_LARGE' };
    expect(decodeToFollower(tooLarge)).toEqual(tooLarge);
  });

  test('[FOLW7] a hello of another version of the protocol is read for its versions alone', () => {
    const other = { kind: 'hello', protocol: { oldest: 7, newest: 9 }, client: 5, more: [] };
    // The values of an empty hello: those of the message may mean something else in its version.
    const none = { client: '', position: null, copy: null, ack: 0 };
    const sent = { ...other, ack: 4, position: POSITION, copy: COPY };
    for (const message of [other, sent]) {
      expect(decodeToServer(message)).toEqual({
        kind: 'hello',
        protocol: other.protocol,
        ...none,
      });
    }
    expect(() => decodeToServer({ ...other, protocol: RANGE })).toThrow(refusal('client'));
  });

  test('[FOLW11] names a reason, and a failure, that there is; else the error lists them', () => {
    expect(() => decodeToFollower({ ...rejected, reason: 'OTHER' })).toThrow(
      /reason is not PROTOCOL or OBJECT_TOO_LARGE/,
    );
    expect(() => decodeToFollower({ ...ended, outcomes: [[1, { kind: 'failed' }]] })).toThrow(
      /\(CALL_INTERRUPTED, CALL_ABANDONED\)/,
    );
  });

  test('[FOLW11] [FOLW20] has a number of parts whose successor a follower can read', () => {
    const most = 2 ** 40;
    const of = (parts: number) => ({ ...COPY, parts });
    for (const message of [next, hello]) {
      expect(decodeToServer({ ...message, copy: of(most) })).toMatchObject({ copy: of(most) });
      expect(() => decodeToServer({ ...message, copy: of(most + 1) })).toThrow(refusal('parts'));
    }
    const answer = { ...part, copy: of(most + 1) };
    expect(decodeToFollower(answer)).toEqual(answer);
  });

  test('[FOLW11] has a bounded number of outcomes', () => {
    const outcomes = (count: number) =>
      Array.from({ length: count }, (_, i) => [i + 1, { kind: 'value', value: 1 }]);
    const many = { ...ended, outcomes: outcomes(10_000) };
    expect(decodeToFollower(many)).toEqual(many);
    const decode = () => decodeToFollower({ ...ended, outcomes: outcomes(10_001) });
    expect(decode).toThrow(refusal('outcomes'));
  });

  test.each([
    ['to the server', decodeToServer, WRONG_TO_SERVER],
    ['to a follower', decodeToFollower, WRONG_TO_FOLLOWER],
  ] as const)(
    '[FOLW11] %s of another shape is refused, and the error names the field',
    (_, decode, wrong) => {
      for (const [message, field, values] of wrong) {
        expect(() => decode(message)).not.toThrow();
        for (const [value, told] of values) {
          const changed = { ...message, [field]: value };
          expect(() => decode(changed), JSON.stringify(changed, plain)).toThrow(refusal(told));
        }
      }
      for (const value of [null, undefined, 1, 'hello']) {
        expect(() => decode(value)).toThrow(refusal('message'));
      }
    },
  );
});

/** Replaces the values that JSON cannot write (bigint, NaN), for the text of a failed test. */
function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' || typeof value === 'number' ? String(value) : value;
}
