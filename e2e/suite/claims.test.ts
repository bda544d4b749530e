// The documents' promises: each names its rules, and each of these has a test.

import { expect, test } from 'vitest';
import { faultsOf, statementsOf } from './claims.ts';
import { listedRules, shownRules, testFiles } from './rules.ts';
import { readSource } from './source-files.ts';

/** The documents that promise, and those of which every item and row is a promise. */
const DOCUMENTS = ['README.md', 'docs/guarantees.md', 'docs/security.md', 'docs/offline.md'];
const STRICT = ['docs/guarantees.md', 'docs/security.md', 'docs/offline.md'];

test.each(DOCUMENTS)('[DOC8] each promise of %s names rules that tests show', (file) => {
  const listed = new Set(listedRules().map(({ section, number }) => `${section}${number}`));
  const rules = { listed, shown: shownRules(testFiles()) };
  expect(faultsOf(file, readSource(file), rules, STRICT.includes(file))).toEqual([]);
});

const RULES = { listed: new Set(['DUR1', 'DUR2']), shown: new Set(['DUR1']) };
const faults = (text: string, isStrict = false) =>
  faultsOf('a.md', `# A\n\n${text}\n`, RULES, isStrict).map((fault) => fault.split(':')[1]);

test.each([
  ['A write is never lost.', ['3 names no rule']],
  ['A write is never lost. <!-- DUR1 -->', []],
  ['A write is never lost (DUR1).', []],
  ['A write is never lost. <!-- DUR9 -->', ['3 names DUR9, which is no rule']],
  ['A write is never lost. <!-- DUR1 XYZ7 -->', ['3 names XYZ7, which is no rule']],
  ['A write is never lost (DUR2).', ['3 names DUR2, which no test shows']],
  ['A write is never lost. <!-- soon -->', ['3 names no rule']],
  ['A write is never lost. <!-- no rule: -->', ['3 names no rule']],
  ['A write is never lost. <!-- no rule: nobody can show it -->', []],
  ['It is fast.\n\n```ts\n// never lost\n```', []],
  ['* It is fast.\n* It survives.', ['4 names no rule']],
  ['* It is\n  durable.\n* It is fast. <!-- DUR1 -->', ['3 names no rule']],
  ['kept | by\n---|---\na | b <!-- DUR1 -->\nkept | b', ['6 names no rule']],
  ['kept | by <!-- DUR1 -->\n---|---\na | b\nkept | b', []],
])('[DOC8] %j has the faults %j', (text, found) => {
  expect(faults(text)).toEqual(found);
});

test('[DOC8] where all is promised, items and rows without such words name rules too', () => {
  expect(faults('It is fast.\n\n* It is fast.\n\na | b\n---|---\nc | d', true)).toEqual([
    '5 names no rule',
    '9 names no rule',
  ]);
  const admitted = '## What is not protected\n\n* It is slow.\n* It is never protected.';
  expect(faults(admitted, true)).toEqual(['6 names no rule']);
});

test('[DOC8] a statement has its line, heading and kind', () => {
  const text =
    '# A\n\nOne\ntwo.\n\n## B\n\n1. Three\n   four.\n\n| a | b |\n| --- | --- |\n| c | d |\n';
  expect(statementsOf(text).map(({ line, heading, kind }) => [line, heading, kind])).toEqual([
    [3, 'A', 'paragraph'],
    [8, 'B', 'item'],
    [13, 'B', 'row'],
  ]);
});
