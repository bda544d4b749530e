// Random values of every sort that can be stored, and bytes that stand for costly ones.

import type { Draws } from '../../../packages/testing/page/draws.ts';

const KEYS = [
  'a',
  '__proto__',
  'constructor',
  'toString',
  'length',
  '0',
  '4294967295',
  '',
  'é',
  '€',
];

export function randomValue(draws: Draws, depth: number): unknown {
  const inner = () => randomValue(draws, depth - 1);
  const leaves = [
    () => draws.pick([0, 1, -1, 0.5, -0, 2 ** 31, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]),
    () => draws.pick(['', 'x', 'é', '€', '\ud800', 'y'.repeat(draws.below(300))]),
    () => draws.pick([true, false, null, undefined]),
    () => BigInt(draws.below(2 ** 30)) ** BigInt(draws.below(6)) * (draws.chance(0.5) ? 1n : -1n),
    () => new Date(draws.pick([0, Number.NaN, -1e15, 1e12])),
    () => draws.pick([/x/g, /\p{L}/v, /(a)|b/dsy]),
    () => Object(draws.pick<number | string | boolean | bigint>([1, 's', true, 7n])),
    () => randomView(draws),
    () => new Headers({ 'x-a': 'b', accept: '*/*' }),
    () => new DOMException('m', 'AbortError'),
  ];
  if (depth === 0) return draws.pick(leaves)();
  const containers = [
    () => draws.times(draws.below(5), inner),
    () => Object.fromEntries(draws.times(draws.below(5), () => [draws.pick(KEYS), inner()])),
    () => new Map(draws.times(draws.below(4), () => [inner(), inner()])),
    () => new Set(draws.times(draws.below(4), inner)),
    () => Object.assign([], { [draws.below(50)]: inner(), [draws.pick(['x', 'y'])]: inner() }),
    () => Object.assign(new TypeError('m', { cause: inner() }), { code: 'C' }),
    () => {
      const circular: unknown[] = [inner()];
      circular.push(circular, circular[0]);
      return circular;
    },
  ];
  return draws.pick(draws.chance(0.6) ? containers : leaves)();
}

function randomView(draws: Draws): ArrayBufferView {
  const length = 8 * draws.below(5);
  const buffer = draws.chance(0.5)
    ? new ArrayBuffer(length)
    : new ArrayBuffer(length, { maxByteLength: length + 8 * draws.below(9) });
  return draws.pick([
    () => new Uint8Array(buffer),
    () => new Float64Array(buffer),
    () => new BigInt64Array(buffer, 0, length / 8),
    () => new DataView(buffer),
  ])();
}

/** A value that asks for much work or memory, in about as many bytes. */
export function expensiveBytes(draws: Draws, sizeBytes: number): Uint8Array {
  const claimed = draws.pick([2 ** 20, 2 ** 30, 2 ** 31, 2 ** 32 - 1, 2 ** 40, 2 ** 48]);
  const count = Math.floor(sizeBytes / 8);
  const repeated = (...element: number[]) => new Array(count).fill(element).flat();
  const forms: (() => number[])[] = [
    // Regular expressions in Unicode mode: one, and many.
    () => repeatedPattern(draws, sizeBytes),
    () => repeatedPattern(draws, sizeBytes),
    () => [0x41, ...varint(64), ...items(64, () => repeatedPattern(draws, sizeBytes / 64))],
    // A bigint, and keys of a set that have one hash.
    () => [0x5a, ...varint(2 * (sizeBytes * 64)), ...repeated(0xab)],
    () => [0x27, ...items(count / 3, (i) => [0x5a, 32, 7, 0, 0, 0, 0, 0, 0, 0, ...word(i), 0, 0])],
    // Lengths that nothing follows.
    () => [draws.pick([0x41, 0x61, 0x22, 0x63, 0x53, 0x42, 0x5a]), ...varint(claimed)],
    () => [0x7e, 0, ...varint(claimed)],
    () => [0x41, ...varint(count), ...repeated(0x7e, 0, ...varint(claimed))],
    // Deep, wide and sparse.
    () => repeated(draws.pick([0x6f, 0x3b, 0x27, 0x3f, 0x00]), 1),
    () => repeated(0x41, 1),
    () => [
      0x61,
      ...varint(2 ** 32 - 1),
      ...items(count, (i) => [0x55, ...varint(4e9 - i * 997), 0x30]),
    ],
    // Many errors, views of one buffer, references.
    () => [0x41, ...varint(count), ...repeated(0x72, 0x2e)],
    () => [
      0x41,
      ...varint(count),
      0x42,
      ...varint(count),
      ...repeated(1),
      ...repeated(0x5e, 1, 0x56, 0x42, 0, 1, 0),
    ],
  ];
  return Uint8Array.from([0xff, 15, ...draws.pick(forms)()]);
}

const UNITS: readonly (readonly [source: string, flagBits: number])[] = [
  ['[\\p{RGI_Emoji}]', 256],
  ['\\p{RGI_Emoji}', 256],
  ['[\\p{L}--\\p{Lu}]', 257],
  ['\\P{L}', 16],
  ['[\\W]', 258],
  ['(?:a{1,9}){1,9}', 0],
  ['(a|', 0],
];

function repeatedPattern(draws: Draws, sizeBytes: number): number[] {
  const [unit, flagBits] = draws.pick(UNITS);
  // A number at the end makes each another, which no cache of the engine has.
  const source = unit.repeat(Math.max(1, sizeBytes / (unit.length + 1))) + draws.below(1000);
  return pattern(source, flagBits);
}

function pattern(source: string, flagBits: number): number[] {
  return [
    0x52,
    0x22,
    ...varint(source.length),
    ...Buffer.from(source, 'latin1'),
    ...varint(flagBits),
  ];
}

function items(count: number, make: (index: number) => readonly number[]): number[] {
  return Array.from({ length: Math.floor(count) }, (_, i) => make(i)).flat();
}

function word(value: number): number[] {
  return [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff).concat(0, 0, 0, 0);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
  return [...bytes, value];
}
