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
  if (expected instanceof Map) return actual instanceof Map && areMapsEqual(actual, expected);
  // An error's stack names the place that made it, which is never the same twice.
  if (expected instanceof Error) {
    if (!(actual instanceof Error)) return false;
    return actual.name === expected.name && actual.message === expected.message;
  }
  if (!isPlain(expected) || !isPlain(actual)) return isDeepStrictEqual(actual, expected);
  const names = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  return [...names].every((name) => areEqual(actual[name], expected[name]));
}

function areMapsEqual(
  actual: ReadonlyMap<unknown, unknown>,
  expected: ReadonlyMap<unknown, unknown>,
): boolean {
  if (actual.size !== expected.size) return false;
  return [...expected].every(([key, value]) => {
    if (actual.has(key)) return areEqual(actual.get(key), value);
    return [...actual].some(([own, part]) => areEqual(own, key) && areEqual(part, value));
  });
}

function isAsymmetric(value: unknown): value is Asymmetric {
  return typeof (value as Asymmetric | null | undefined)?.asymmetricMatch === 'function';
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
