// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references in files of variables look like templates.

// Compares the parsing of `.env` files with the package `dotenv`, of which Playwright has a copy.

import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expandVariables, parseDotEnv } from './dot-env.ts';

const { dotenv } = createRequire(import.meta.url)('playwright-core/lib/utilsBundle') as {
  readonly dotenv: { parse(text: string): Record<string, string> };
};

/** The contents of single files. */
const FILES = [
  '',
  'A=1',
  'A=1\nB=2',
  'A=1\r\nB=2\r\n',
  'A=1\rB=2',
  '\uFEFFA=1\nB=2',
  '\n\n  A=1',
  '# comment\nA=1',
  'A=1 # comment',
  'A=1#comment',
  'A="1 # text" # comment',
  "A='1 # text'",
  'A=`1 # text`',
  'A=# empty',
  'A=',
  'A= ',
  'A=\nB=2',
  'A=""',
  "A=''\nB=2",
  'A="',
  "A='",
  'A="open\nB=2',
  'A="open\nB="2"',
  'A="two\nlines"\nB=2',
  "A='two\nlines'",
  'A=`two\nlines`',
  'A="a\\nb"',
  "A='a\\nb'",
  'A=a\\nb',
  'A="a\\rb\\tc"',
  'A="{\\"k\\":1}"',
  "A='it's'",
  "A='it\\'s'",
  'A="a" b',
  'A="a"b"',
  'A="a" "b"',
  'A="a\\"',
  'A="a\\"\nB=2',
  'A=\\"a\\"',
  'A="a\'b`c"',
  "A='a\"b`c'",
  'A=`a"b\'c`',
  'A = 1',
  'A\t=\t1\t',
  'A  =  " 1 "',
  'A: 1',
  'A:1',
  'A : 1',
  'A:\nB=2',
  'A: "1"',
  'export A=1',
  'export  A = 1',
  'export A',
  'export=1',
  'export\nA=1',
  'exportA=1',
  'A B=1',
  'A.B-C_1=1',
  '1=1',
  'Ä=1',
  'a=1\nA=2\na=3',
  '=1',
  'A',
  'A\n=1',
  'A=\n"1"',
  'A=1=2==',
  'A= 1 2  3 ',
  'A=https://x.example/?a=1&b=2',
  'A=a\u2028B=2',
  'A=\u00A01\u00A0',
  '__proto__=1\nA=2',
  'A="\'1\'"\nB="\\n\\\\n"',
];

test.each(FILES)('[DEV37] the file %j has the variables that dotenv reads', (file) => {
  expect(parseDotEnv(file)).toEqual(dotenv.parse(file));
});

/** The parts from which random files are made. Many of their orders are not valid lines. */
const PARTS = [
  ...[
    'A',
    'B',
    'KEY',
    'export',
    'export ',
    ' ',
    '\t',
    '\n',
    '\n\n',
    '\r\n',
    '\r',
    '=',
    '=',
    ':',
    ': ',
    '#',
  ],
  ...[
    '"',
    "'",
    '`',
    '\\',
    '\\n',
    '\\"',
    "\\'",
    '\\r',
    '$',
    'x',
    'y z',
    '\u2028',
    '\uFEFF',
    'é',
    '.',
    '-',
  ],
  ...['"a"', "'b'", '=1\n', '="', "='", '\n#', '# c\n', '__proto__'],
];

test('[DEV37] random files have the variables that dotenv reads', () => {
  const file = fc
    .array(fc.constantFrom(...PARTS), { maxLength: 14 })
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(file, (text) => {
      expect(parseDotEnv(text)).toEqual(dotenv.parse(text));
    }),
    { numRuns: 20_000 },
  );
});

test.each([
  ['a key without a sign', 'A\n'],
  ['blank lines', '\n \n'],
  ['open quotes', "A='\\'"],
  ['one long word', 'a'],
  ['quotes that begin lines', '"a\n'],
])('[DEV37] a megabyte of %s is read in linear time', (_, part) => {
  expect(parseDotEnv(part.repeat(1e6 / part.length))).toBeTypeOf('object');
});

// The expected values are those of dotenv-expand 12.0.2, of which wrangler has a copy.
describe('references', () => {
  const values = { A: 'a', EMPTY: '' };
  test.each([
    ['$A-${A}', 'a-a'],
    ['\\$A \\${A}', '$A ${A}'],
    ['${B:-x} ${B-y} ${EMPTY:-z} ${A:-w}', 'x y z a'],
    ['${A:+x} ${B:+y} ${A+z}', 'x  z'],
    ['${B:-$A}', 'a'],
    ['${B:-${A}}', 'a'],
    ['$B.', '.'],
    ['$1 $ ${} ${', '$1 $ ${} ${'],
    ['$ITSELF', ''],
    ['$LATER', ''],
  ])('[DEV37] the value %j is %j', (text, value) => {
    const file = { ...values, ITSELF: text, LATER: 'later' };
    expect(expandVariables(file, {}).ITSELF).toBe(value);
  });

  test('[DEV37] variables of the process override those of the file, unless they are empty', () => {
    const file = { A: 'file', B: '$A $C', D: 'file', E: '$A' };
    expect(expandVariables(file, { A: 'process', C: 'c', D: '', E: '$A' })).toEqual({
      A: 'process',
      B: 'process c',
      D: 'file',
      E: 'process',
    });
  });

  test('[DEV37] references without an end are an error that names the variable', () => {
    expect(() => expandVariables({ A: '$&', B: '\\$A $A' }, {})).toThrow(/^B: its references/);
  });
});
