// No regular expression of the product takes more than linear time, or it is listed with the reason why none of
// its inputs is long. An input from outside that takes quadratic time stops a page, a worker or a server.

import recheck from 'recheck/lib/browser.js';
import { describe, expect, test } from 'vitest';
import { SLOW_EXPRESSIONS } from './exceptions.ts';
import { LARGE_EXPRESSIONS } from './large-expressions.ts';
import { type Expression, productExpressions } from './regular-expressions.ts';

/**
 * Decided without clocks, so that a busy machine changes nothing. A small expression is analysed as an automaton, which is
 * exact. To build the automaton of a large one takes up to 30 s, so it is run on generated inputs of up to 30,000
 * characters: a quadratic one takes more steps than the limit.
 */
const BY_STEPS = {
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
  timeout: null,
  randomSeed: 1,
  maxNFASize: 5000,
  maxAttackStringSize: 30_000,
  attackLimit: 10_000_000,
};

/** Quadratic and worse, with the linear forms beside them. Some have an automaton that is too large. */
const KNOWN: readonly { readonly slow: RegExp; readonly linear: RegExp }[] = [
  { slow: /\s*([(),])\s*/g, linear: / ?([(),]) ?/g },
  { slow: /^\s+|\s+$/g, linear: /^\s+/g },
  { slow: /<!--[\s\S]*?-->/g, linear: /^<!--[\s\S]*?-->/g },
  { slow: /^(.*)=(.*);$/, linear: /^([^=]*)=([^=;]*);$/ },
  { slow: /a*b?a*c/, linear: /^a*b?c/ },
  { slow: /^(?:[a-z0-9]+-?)+$/i, linear: /^[a-z0-9-]+$/i },
  { slow: /https?:\/\/[^\s]+\.(?:png|jpe?g)/, linear: /^https?:\/\/[^\s.]+\.(?:png|jpe?g)/ },
  {
    slow: /(?:inverted index for FTS5 table main\.|fts5: .* for table ")([^:"]*)/,
    linear: /(?:inverted index for FTS5 table main\.|^fts5: .* for table ")([^:"]*)/,
  },
  {
    slow: /CREATE VIRTUAL TABLE (?:"(?:[^"]|"")*"|'(?:[^']|'')*'|\[[^\]]*\]|[^\s"'[]+) USING/i,
    linear: /^CREATE VIRTUAL TABLE (?:"(?:[^"]|"")*"|'(?:[^']|'')*'|\[[^\]]*\]|[^\s"'[]+) USING/i,
  },
];

const LARGE: ReadonlySet<string> = new Set(LARGE_EXPRESSIONS.map(String));

function isSlow({ source, flags }: Expression): boolean {
  const { status, error } = recheck.checkSync(source, flags.replace('v', 'u'), BY_STEPS);
  if (status === 'unknown') throw new Error(`/${source}/${flags}: ${error?.kind}`);
  return status === 'vulnerable';
}

/** The product's expressions that are slow, each with its file, of those that are listed as large or of all others. */
function slowExpressions(areLarge: boolean): string[] {
  const known = new Map<string, boolean>();
  return productExpressions().flatMap(({ file, literals }) =>
    literals
      .map((literal) => ({ literal, text: `/${literal.source}/${literal.flags}` }))
      .filter(({ literal, text }) => {
        if (LARGE.has(text) !== areLarge) return false;
        if (!known.has(text)) known.set(text, isSlow(literal));
        return known.get(text);
      })
      .map(({ text }) => `${file} ${text}`),
  );
}

describe('regular expressions', () => {
  test('take linear time, or are listed', () => {
    expect(slowExpressions(false).sort()).toEqual(Object.keys(SLOW_EXPRESSIONS).sort());
  });

  test('that are listed as large take linear time', { tags: 'release' }, () => {
    expect(slowExpressions(true)).toEqual([]);
  });

  test('a slow one is found, a linear one is not', () => {
    const found = KNOWN.map(({ slow, linear }) => [slow, isSlow(slow), linear, isSlow(linear)]);
    expect(found).toEqual(KNOWN.map(({ slow, linear }) => [slow, true, linear, false]));
  });
});
