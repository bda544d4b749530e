// `npm run build:docs`: the guide as a static site, in dist/site.
//
// The documents lie in docs/ and at the top of the repository, and link one another as files. They are copied into
// one folder with links between pages, and with their images; links to other files become plain text.

import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vitepress';
import { ROOT, readSource } from '../../suite/source-files.ts';
import { apiEntries, apiPage } from './api-reference.ts';
import { replaceLinks, targetOf, withoutComments } from './links.ts';
import { MANAGEMENT_PAGES } from './management-pages.ts';
import { PAGES } from './pages.ts';

const SOURCE = join(ROOT, 'dist/site-source');
const IMAGES = 'docs/images/';

const pageOf = new Map(PAGES.map(({ file, page }) => [file, page]));

rmSync(SOURCE, { recursive: true, force: true });
mkdirSync(join(SOURCE, 'api'), { recursive: true });
for (const { file, page } of PAGES) {
  const text = replaceLinks(withoutComments(readSource(file)), ({ whole, text, target }) => {
    const to = targetOf(file, target);
    if (to === null) return whole;
    if (to.file.startsWith(IMAGES)) return `[${text}](./images/${to.file.slice(IMAGES.length)})`;
    const name = pageOf.get(to.file);
    if (name === undefined) return text;
    return `[${text}](./${name}.md${to.anchor === '' ? '' : `#${to.anchor}`})`;
  });
  writeFileSync(join(SOURCE, `${page}.md`), text);
}
writeFileSync(join(SOURCE, 'index.md'), readSource('e2e/package/site/home.md'));
for (const [page, text] of Object.entries(MANAGEMENT_PAGES)) {
  writeFileSync(join(SOURCE, `${page}.md`), text());
}
for (const entry of apiEntries()) {
  writeFileSync(join(SOURCE, `api/${entry.page}.md`), apiPage(entry));
}
cpSync(join(ROOT, IMAGES), join(SOURCE, 'images'), { recursive: true });
cpSync(join(ROOT, 'demo/public/icon.svg'), join(SOURCE, 'public/icon.svg'));
await build(import.meta.dirname);
rmSync(SOURCE, { recursive: true });
