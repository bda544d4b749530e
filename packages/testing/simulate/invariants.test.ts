// Tests the ready invariants with given calls and objects.

import { expect, test } from 'vitest';
import type { CallOutcome, ClientCall } from './client-calls.ts';
import { conserved, exactlyOnce, linearizable, noAlarmLost } from './invariants.ts';
import type { InvariantTools } from './tools.ts';

type AnyInvariantTools = InvariantTools<Record<string, object>>;

function call(begin: number, end: number | undefined, fields: Partial<ClientCall>): ClientCall {
  const outcome: CallOutcome = { kind: 'answered', value: undefined };
  return {
    object: 'Cell/c',
    method: 'write',
    args: [],
    step: begin,
    attempt: 0,
    keys: [],
    outcome,
    begin,
    end,
    ...fields,
  };
}

const UNKNOWN: CallOutcome = { kind: 'unknown' };
const FAILED: CallOutcome = { kind: 'failed', error: new Error('no') };

function tools(fields: Partial<AnyInvariantTools>): AnyInvariantTools {
  return {
    run: {},
    env: {},
    each: () => [],
    calls: [],
    alarms: async () => [],
    givenUpAlarms: [],
    ...fields,
  };
}

test('[SIMU13] exactlyOnce tells a double effect from a lost one, and from one of a failed call', async () => {
  const check = (stored: string[], ...calls: ClientCall[]) =>
    exactlyOnce(() => stored)(tools({ calls }));
  const keys = ['k1'];
  await check(['k1'], call(0, 1, { keys }));
  await check([], call(0, 1, { keys, outcome: UNKNOWN }));
  await check(['k1'], call(0, 1, { keys, outcome: UNKNOWN }));
  await expect(
    check(['k1', 'k1'], call(0, 1, { keys, outcome: UNKNOWN }), call(2, 3, { keys })),
  ).rejects.toThrow(
    'Double effect: Cell/c.write() is stored 2 times; it was called 2 times: unknown, answered.',
  );
  await expect(check([], call(0, 1, { keys }))).rejects.toThrow('Lost effect');
  await expect(check(['k1'], call(0, 1, { keys, outcome: FAILED }))).rejects.toThrow(
    'Effect of a failed call',
  );
  await expect(check(['k2'])).rejects.toThrow('Unknown effect');
});

test('[SIMU13] conserved compares each sum with the first of its run', async () => {
  let sum = 300;
  const invariant = conserved(() => sum);
  const first = tools({});
  await invariant(first);
  await invariant(first);
  sum = 299;
  await expect(invariant(first)).rejects.toThrow('The sum is 299, not 300.');
  await invariant(tools({}));
  await expect(conserved(() => 1, 2)(tools({}))).rejects.toThrow('The sum is 1, not 2.');
});

test('[SIMU13] noAlarmLost finds alarms that are overdue, or were given up', async () => {
  const alarm = (lateMs: number) =>
    tools({ alarms: async () => [{ object: 'Cell/c', dueMs: 5, lateMs }] });
  await noAlarmLost()(alarm(100));
  await noAlarmLost(500)(alarm(500));
  await expect(noAlarmLost(500)(alarm(501))).rejects.toThrow('is 501 ms late.');
  await expect(noAlarmLost()(alarm(200_000))).rejects.toThrow(
    'The alarm of Cell/c is 200000 ms late.',
  );
  await expect(noAlarmLost()(tools({ givenUpAlarms: ['Cell/c'] }))).rejects.toThrow('was given up');
});

const cell = linearizable<number>({
  initial: 0,
  apply: (state, { method, args }) =>
    method === 'write' ? { state: args[0] as number, answer: undefined } : { state, answer: state },
});
const write = (begin: number, end: number | undefined, value: number, outcome?: CallOutcome) =>
  call(begin, end, { args: [value], ...(outcome && { outcome }) });
const read = (begin: number, end: number, value: number) =>
  call(begin, end, { method: 'read', outcome: { kind: 'answered', value } });

test('[SIMU14] linearizable accepts answers that some order explains', () => {
  cell(tools({ calls: [] }));
  cell(tools({ calls: [write(0, 1, 5), read(2, 3, 5)] }));
  cell(tools({ calls: [write(0, 5, 5), read(1, 2, 0), read(3, 4, 5)] })); // the write lies between
  cell(tools({ calls: [write(0, 1, 5, UNKNOWN), read(2, 3, 0), read(4, 5, 5)] })); // the write may happen late
  cell(tools({ calls: [write(0, 1, 5, UNKNOWN), read(2, 3, 0)] })); // or never
  cell(tools({ calls: [write(0, 1, 5, FAILED), read(2, 3, 0)] }));
});

test('[SIMU14] linearizable refuses answers that no order explains', () => {
  const refused = (...calls: ClientCall[]) =>
    expect(() => cell(tools({ calls }))).toThrow(/No order of the calls of Cell\/c explains/);
  refused(write(0, 1, 5), read(2, 3, 0));
  refused(write(0, 5, 5), read(1, 2, 5), read(3, 4, 0));
  refused(read(0, 1, 5), write(2, 3, 5));
  refused(write(0, 1, 5, FAILED), read(2, 3, 5));
  refused(write(0, 1, 5, UNKNOWN), read(2, 3, 5), read(4, 5, 0)); // a write that was read is not undone
});

test('[SIMU14] linearizable orders each object for itself, and only calls and objects of its model', () => {
  const on = (object: string, one: ClientCall): ClientCall => ({ ...one, object });
  const [a, b] = ['Cell/a', 'Cell/b'];
  cell(tools({ calls: [on(a, write(0, 1, 5)), on(b, read(2, 3, 0)), on(a, read(4, 5, 5))] }));
  expect(() => cell(tools({ calls: [on(a, write(0, 1, 5)), on(b, read(2, 3, 5))] }))).toThrow(
    /No order of the calls of Cell\/b explains/,
  );
  const model = linearizable<number>({
    initial: 0,
    concerns: (object) => object === a,
    apply: (state, { method, args }) => {
      if (method === 'other') return undefined;
      return method === 'write'
        ? { state: args[0] as number, answer: undefined }
        : { state, answer: state };
    },
  });
  const other = call(2, 3, { method: 'other', outcome: { kind: 'answered', value: 'anything' } });
  const wrong = [write(0, 1, 5), other, read(4, 5, 0)];
  model(tools({ calls: [...wrong.map((one) => on(b, one)), on(a, other)] }));
  expect(() => model(tools({ calls: wrong.map((one) => on(a, one)) }))).toThrow(/No order/);
});
