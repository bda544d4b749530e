// Whether what is stored equals what a test expects: as `toEqual`, with `expect.any(…)` and its like at any depth.

import { isDeepStrictEqual } from 'node:util';

interface Asymmetric {
  asymmetricMatch(actual: unknown): boolean;
}

export function areEqual(actual: unknown, expected: unknown): boolean {
  if (isAsymmetric(expected)) return expected.asymmetricMatch(actual);
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    return expected.every((part, at) => areEqual(actual[at], part));
  }
  if (!isPlain(expected) || !isPlain(actual)) return isDeepStrictEqual(actual, expected);
  const names = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  return [...names].every((name) => areEqual(actual[name], expected[name]));
}

function isAsymmetric(value: unknown): value is Asymmetric {
  return typeof (value as Asymmetric | null | undefined)?.asymmetricMatch === 'function';
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
