// The addresses in the manifest, as the demo's pages get them.

import { expect, test } from 'vitest';
import { siteNames } from '../../demo/ui/site-names.ts';

/** The tags of a page. */
function tagsOf(manifest: Parameters<typeof siteNames>[0]): unknown {
  return (siteNames(manifest).transformIndexHtml as () => unknown)();
}

test('[DEMO18] addresses that the manifest names are written into each page, others are not, and a wrong one fails the build', () => {
  const repository = { type: 'git', url: 'git+https://example.com/owner/name.git' };
  const meta = (name: string, content: string) => ({
    tag: 'meta',
    attrs: { name, content },
    injectTo: 'head',
  });
  expect(tagsOf({})).toEqual([]);
  expect(tagsOf({ repository, homepage: 'https://example.com/guide/' })).toEqual([
    meta('guide', 'https://example.com/guide/'),
    meta('repository', 'https://example.com/owner/name'),
  ]);
  expect(tagsOf({ repository: 'https://example.com/a' })).toEqual([
    meta('repository', 'https://example.com/a'),
  ]);
  expect(() => tagsOf({ homepage: 'javascript:alert(1)' })).toThrow('is not an https address');
  expect(() => tagsOf({ repository: 'owner/name' })).toThrow('is not an https address');
});
