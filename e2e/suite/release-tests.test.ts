// The tests that only `npm run test:release` runs repeat others: each rule that one of them names has a test in `npm test`
// or in `npm run test:rest`, too.
//
// A tag that depends on the case counts as one of these two, because another case of the same test has none.

import { expect, test } from 'vitest';
import { RELEASE_ONLY } from './exceptions.ts';
import { testFiles } from './rules.ts';
import { isNode, parseModule, readSource, type SyntaxNode, walk } from './source-files.ts';

const IDS = /\[([A-Z]+\d+)\]/g;

/** Returns the rules in the titles of a file's tests that always have the tag of a release. */
function rulesBeforeRelease(file: string, text: string): string[] {
  const found: string[] = [];
  walk(parseModule(file, text), (node) => {
    const [title, options] = (node.arguments as SyntaxNode[] | undefined) ?? [];
    if (node.type !== 'CallExpression' || !isNode(title) || !isNode(options)) return;
    if (options.type !== 'ObjectExpression' || !isReleased(textOf(options))) return;
    found.push(...[...textOf(title).matchAll(IDS)].map(([, id]) => id!));
  });
  return found;

  function textOf(node: SyntaxNode): string {
    return text.slice(node.start as number, node.end as number);
  }
}

function isReleased(options: string): boolean {
  return /\btag: [^?]*\bRELEASE\b/.test(options) || /\btags: 'release'/.test(options);
}

function countOf(ids: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

test('a rule that a test before a release names is named by another test', () => {
  const texts = testFiles().map((file) => [file, readSource(file)] as const);
  const all = countOf(texts.flatMap(([, text]) => [...text.matchAll(IDS)].map(([, id]) => id!)));
  const released = countOf(texts.flatMap(([file, text]) => rulesBeforeRelease(file, text)));
  const only = [...released].filter(([id, count]) => all.get(id) === count).map(([id]) => id);
  expect(only.sort()).toEqual(Object.keys(RELEASE_ONLY).sort());
});

test.each([
  ["test('A1 one', { tag: [LONG, RELEASE] }, () => {});", ['A1']],
  ["test('A1 A2 two', { tag: [LONG, ONCE] }, () => {});", []],
  ["test('A1 of a case', { tag: isFirst ? LONG : [LONG, RELEASE] }, () => {});", []],
  ["test('A1 in Node', { tags: 'release' }, () => {});", ['A1']],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a test
  ['test(`A1 of ${name}`, { tag: [...tag, RELEASE] }, () => {});', ['A1']],
])('%s is found by its tag', (text, rules) => {
  // With brackets, these would be rules that this file names.
  const named = text.replace(/\bA\d\b/g, '[$&]');
  expect(rulesBeforeRelease('a.spec.ts', named)).toEqual(rules);
});
