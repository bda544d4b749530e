// The documents and the site made of them: links, navigation, code, and the reference of the entries.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ERRORS } from '../../../packages/management/call/error-codes.ts';
import { listFiles, ROOT, readSource } from '../../suite/source-files.ts';
import { apiEntries, apiItems } from './api-reference.ts';
import { anchorsIn, linksIn, replaceLinks, targetOf, withoutComments } from './links.ts';
import { MANAGEMENT_PAGES } from './management-pages.ts';
import { PAGES, SECTIONS } from './pages.ts';
import { searchBoost } from './search-boost.ts';

test('[DOC1] every link between documents leads to a file and a heading that exist', () => {
  const broken = PAGES.flatMap(({ file }) =>
    linksIn(readSource(file)).flatMap(({ target }) => {
      const to = targetOf(file, target);
      if (to === null) return [];
      if (!existsSync(join(ROOT, to.file))) return [`${file}: ${target}`];
      const isMissing = to.anchor !== '' && !anchorsIn(readSource(to.file)).has(to.anchor);
      return isMissing ? [`${file}: ${target}: no such heading`] : [];
    }),
  );
  expect(broken).toEqual([]);
});

/** The files of one example: they are read where they are copied. */
const IN_EXAMPLE = /^docs\/examples\/[^/]+\//;

test('[DOC2] every document is a page of the site, once, and every page is a document', () => {
  const documents = listFiles(['docs'], /\.md$/).filter((file) => !IN_EXAMPLE.test(file));
  const files = PAGES.map(({ file }) => file);
  expect(files.filter((file) => file.startsWith('docs/')).sort()).toEqual(documents.sort());
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  expect(new Set(PAGES.map(({ page }) => page)).size).toBe(PAGES.length);
  expect(SECTIONS.every(({ pages }) => pages.length > 0)).toBe(true);
  // The search shows Internals last.
  for (const { title, pages } of SECTIONS) {
    const boosts = pages.map(({ page }) => searchBoost(`/${page}.html#words`));
    expect(
      boosts.every((boost) => boost < 0.4 === (title === 'Internals')),
      title,
    ).toBe(true);
  }
});

test('[SCHED8] [MG40] the pages of the schedule and of its error codes are in the navigation', () => {
  const made = SECTIONS.flatMap(({ made = [] }) => made.map(({ page }) => page));
  expect(made).toEqual(Object.keys(MANAGEMENT_PAGES));
  const codes = MANAGEMENT_PAGES['management-errors']!();
  expect(new Set(Object.values(ERRORS).map(({ code }) => code)).size).toBe(
    Object.keys(ERRORS).length,
  );
  for (const { code, status, origin, meaning } of Object.values(ERRORS)) {
    expect(codes).toContain(`\n${code} | ${status} | ${origin} | ${meaning}\n`);
  }
});

test('[DOC1] links are replaced outside of code only', () => {
  const text = 'a [b](c.md#d) `[e](f)`\n```ts\n[g](h)\n```\n';
  expect(replaceLinks(text, ({ text, target }) => `${text}:${target}`)).toBe(
    'a b:c.md#d `[e](f)`\n```ts\n[g](h)\n```\n',
  );
});

test('[DOC8] [DOC10] comments of the documents are not on the site, but for those in code', () => {
  const text =
    'It is kept. <!-- DUR1 -->\nIt has <!-- figure: a -->1 kB<!-- /figure -->, `<!-- x -->`.\n```html\n<!-- b -->\n```\n';
  expect(withoutComments(text)).toBe(
    'It is kept.\nIt has 1 kB, `<!-- x -->`.\n```html\n<!-- b -->\n```\n',
  );
});

test('[DOC4] the reference has every name that an entry exports, with its declaration', () => {
  const entries = apiEntries();
  expect(entries.map(({ name }) => name)).toContain('ctx-storage/react');
  for (const { name, module } of entries) {
    const items = apiItems(module);
    expect(
      items.filter(({ declaration }) => declaration.trim() === ''),
      name,
    ).toEqual([]);
    expect(items.length, name).toBeGreaterThan(0);
  }
  const page = new Map(apiItems('src/index.ts').map((item) => [item.name, item]));
  expect(page.get('openStorage')?.prose).not.toBe('');
  expect(page.get('connect')?.declaration).toMatch(/^async function connect<[\s\S]*;$/);
  expect(page.get('RpcTarget')).toBeDefined();
});
