import { expect, test } from 'vitest';
import { withoutLastComments } from './last-comments.ts';

test.for([
  ['SELECT 1', 'SELECT 1'],
  ['SELECT 1;', 'SELECT 1'],
  ['-- a\nSELECT 1; SELECT 2; -- end\n', '-- a\nSELECT 1; SELECT 2'],
  ['SELECT 1; /* end */ ;\n;', 'SELECT 1'],
  ["SELECT '-- text'; --", "SELECT '-- text'"],
  [
    "SELECT 'it''s /*', \"a--b\", [c--d], `e--f` /* x */",
    "SELECT 'it''s /*', \"a--b\", [c--d], `e--f`",
  ],
  ['SELECT 2 - -1 / 3 -- end', 'SELECT 2 - -1 / 3'],
  ["SELECT 'open -- text", "SELECT 'open -- text"],
  ['SELECT 1 /* open', 'SELECT 1'],
  ['-- only\n/* comments */;', ''],
  ['', ''],
])('[BDB3] the comments after the last statement of %j are left out', ([sql, rest]) => {
  expect(withoutLastComments(sql!)).toBe(rest);
});

test('[BDB3] a long file takes little time', () => {
  const long = '--'.repeat(100_000) + '/*'.repeat(100_000) + "'".repeat(99_999);
  expect(withoutLastComments(long)).toBe('');
});
