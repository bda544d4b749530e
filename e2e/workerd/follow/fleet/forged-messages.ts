// Messages of the right kinds with wrong content, from a seed.

import type { Random } from '../../../../packages/testing/simulate/world/random.ts';
import { serialize } from '../../../../src/shared/values/encode.ts';

const NUMBERS = [
  ...[0, 1, 2, 3, 63, 64, 65, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 2 ** 60],
  ...[-1, -(2 ** 53), 0.5, Number.NaN, Number.POSITIVE_INFINITY, -0],
];
const TABLES = ['entry', 'page', '_follow_client', '_follow_salt', 'sqlite_master', '', "x'--"];

const CYCLIC: unknown[] = [];
CYCLIC.push(CYCLIC);
/** Made once, because V8 takes a while for so many holes. A message names them in ten bytes. */
const HOLES: unknown[] = [];
HOLES.length = 1_000_000;
const STRANGE_VALUES: readonly unknown[] = [
  ...[null, undefined, true, '', '\ud800', 'x'.repeat(5000), [], {}, 1n, -(2n ** 200n), CYCLIC],
  ...[new Date(Number.NaN), /(a+)+$/, new Error('e'), new Uint8Array(9), new Map([[1, 2]]), HOLES],
  ...[new Set([1]), new Float64Array(3).subarray(1), ...NUMBERS],
  JSON.parse('{"__proto__":{"polluted":1},"then":1}'),
];

/** A value that few programs expect. */
export const strangeValue = (random: Random): unknown => random.pick(STRANGE_VALUES);

/** The mark of a snapshot that the server has not given. */
export function forgedCopy(random: Random): unknown {
  const odd = () => strangeValue(random);
  const position = () =>
    random.onceIn(5)
      ? odd()
      : { id: random.pick([0, 0, ...NUMBERS]), life: random.pick([0, 0, 7]) };
  const after = random.pick<unknown>([null, [], [1], ['k'], ['k'.repeat(5000)], [1, 2, 3], odd()]);
  const place = {
    table: random.pick<unknown>([null, ...TABLES]),
    after,
    sentBytes: random.pick([0, 1e15]),
  };
  return {
    from: position(),
    at: position(),
    parts: random.pick<unknown>([1, 2, 2 ** 53 - 1, odd()]),
    next: random.pick<unknown>([place, place, null, odd()]),
  };
}

/** A message of a right kind, whose fields are right or anything. */
export function randomMessage(random: Random): unknown {
  const some = (right: unknown) => (random.onceIn(4) ? strangeValue(random) : right);
  const args = serialize(some([strangeValue(random)]));
  return random.pick<unknown>([
    {
      kind: 'hello',
      protocol: some({ oldest: 2, newest: 2 }),
      client: some('x'),
      position: some(null),
    },
    { kind: 'next', copy: forgedCopy(random), receipt: some(null) },
    {
      ...{ kind: 'call', n: some(1), mark: some(5), method: some('echo'), args: some(args) },
      ...{ again: some(false), ack: some(0) },
    },
    { kind: 'ack', ack: some(0), receipt: some(random.uint32()) },
    { kind: some('cut') },
    strangeValue(random),
  ]);
}
