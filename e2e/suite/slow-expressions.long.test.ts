// No regular expression of the product takes more than linear time, or it is listed with the reason why none of
// its inputs is long. An input from outside that takes quadratic time stops a page, a worker or a server.

import recheck from 'recheck/lib/browser.js';
import { describe, expect, test } from 'vitest';
import { SLOW_EXPRESSIONS } from './exceptions.ts';
import { type Expression, productExpressions } from './regular-expressions.ts';

/** Decided without clocks, so that a busy machine changes nothing. */
const BY_STEPS = {
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
  timeout: null,
  randomSeed: 1,
};

function isSlow({ source, flags }: Expression): boolean {
  const { status, error } = recheck.checkSync(source, flags.replace('v', 'u'), BY_STEPS);
  if (status === 'unknown') throw new Error(`/${source}/${flags}: ${error?.kind}`);
  return status === 'vulnerable';
}

describe('regular expressions', () => {
  test('take linear time, or are listed', () => {
    const known = new Map<string, boolean>();
    const slow = productExpressions().flatMap(({ file, literals }) =>
      literals
        .map((literal) => ({ literal, text: `/${literal.source}/${literal.flags}` }))
        .filter(({ literal, text }) => {
          if (!known.has(text)) known.set(text, isSlow(literal));
          return known.get(text);
        })
        .map(({ text }) => `${file} ${text}`),
    );
    expect(known.size).toBeGreaterThan(100);
    expect(slow.sort()).toEqual(Object.keys(SLOW_EXPRESSIONS).sort());
  });

  test('a slow one is found', () => {
    expect(isSlow({ source: '\\s*([(),])\\s*', flags: 'g' })).toBe(true);
    expect(isSlow({ source: ' ?([(),]) ?', flags: 'g' })).toBe(false);
  });
});
