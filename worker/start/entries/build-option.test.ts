import { expect, test } from 'vitest';
import { serve } from './objects.ts';

test.for<[string, unknown]>([
  ['a number that is not finite', { build: Number.NaN }],
  ['an empty string', { build: '' }],
  ['a string that is too long', { build: 'x'.repeat(201) }],
  ['an object', { build: {} }],
  ['null', { build: null }],
  ['a comparison that is not a function', { build: 1, compareBuilds: 'greater' }],
])('[BUILD10] %s is INVALID_ARGUMENT', ([, options]) => {
  expect(() => serve({}, options as object)).toThrow(
    expect.objectContaining({
      name: 'TypeError',
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/^serve: (?:build|compareBuilds) is a/),
    }),
  );
});
