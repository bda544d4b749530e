import { expect, test } from 'vitest';
import { registryReadme } from './registry-readme.ts';

const PACKAGE = { name: 'ctx-storage', version: '1.2.3' };
const isPacked = (file: string) => /^docs\/[\w-]+\.md$|^CHANGELOG\.md$/.test(file);

test('[PKG11] links of the packed README are addresses, headings of its own, or gone', () => {
  const text =
    'a [b](docs/live.md#react) [c](#here) [d](CONTRIBUTING.md) [e](https://e.example) `[f](docs/x.md)`';
  expect(registryReadme('README.md', PACKAGE, isPacked, text)).toBe(
    'a [b](https://unpkg.com/ctx-storage@1.2.3/docs/live.md#react) [c](#here) d [e](https://e.example) `[f](docs/x.md)`',
  );
});

test.each(['README.md', 'docs/management.md'])(
  '[PKG11] %s has no link to a file left when it is packed',
  (document) => {
    const packed = registryReadme(document, PACKAGE, isPacked);
    expect([...packed.matchAll(/\]\((?!https:|#)[^)]*\)/g)].map(String)).toEqual([]);
  },
);
