// The lists of regular expressions are of the source as it is. Which ones take more than linear time is found by
// `slow-expressions.long.test.ts`, which takes minutes.

import { describe, expect, test } from 'vitest';
import { MADE_EXPRESSIONS, SLOW_EXPRESSIONS } from './exceptions.ts';
import { LARGE_EXPRESSIONS } from './large-expressions.ts';
import { productExpressions } from './regular-expressions.ts';

const found = productExpressions();

describe('regular expressions', () => {
  test('that are made of a text are listed', () => {
    const made = found.flatMap(({ file, made }) => made.map((code) => `${file} ${code}`));
    expect(made.sort()).toEqual(Object.keys(MADE_EXPRESSIONS).sort());
  });

  test('that are listed as large are in the product', () => {
    const literals = new Set(
      found.flatMap(({ literals }) => literals.map(({ source, flags }) => `/${source}/${flags}`)),
    );
    expect(LARGE_EXPRESSIONS.map(String).filter((listed) => !literals.has(listed))).toEqual([]);
  });

  test('that are listed as slow stand in their file', () => {
    const literals = new Set(
      found.flatMap(({ file, literals }) =>
        literals.map(({ source, flags }) => `${file} /${source}/${flags}`),
      ),
    );
    expect(literals.size).toBeGreaterThan(100);
    expect(Object.keys(SLOW_EXPRESSIONS).filter((listed) => !literals.has(listed))).toEqual([]);
  });
});
