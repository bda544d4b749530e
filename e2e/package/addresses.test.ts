// The package's own addresses: one place, no invented ones.

import { expect, test } from 'vitest';
import { listFiles, readSource } from '../suite/source-files.ts';
import { missingAddresses, unknownAddresses } from './addresses.ts';

const manifest = JSON.parse(readSource('package.json'));

test('[PKG24] no document shows an address of the package that package.json does not have', () => {
  const files = [
    ...listFiles(['docs', 'e2e/package/site'], /\.md$/),
    ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ];
  const unknown = files.flatMap((file) =>
    unknownAddresses(readSource(file), manifest).map((address) => `${file}: ${address}`),
  );
  expect(unknown).toEqual([]);
});

test('[PKG24] addresses that package.json lacks are named', () => {
  expect(missingAddresses({})).toEqual(['repository', 'homepage', 'bugs']);
  const url = 'https://bugs.example';
  expect(missingAddresses({ repository: 'a', homepage: 'b', bugs: { url } })).toEqual([]);
});

const OWN = {
  name: 'ctx-storage',
  repository: { type: 'git', url: 'git+https://github.com/owner/ctx-storage.git' },
};

test.each([
  ['https://github.com/owner/ctx-storage/issues', []],
  ['https://github.com/cloudflare/templates', []],
  ['http://localhost:8787/todo and wss://api.example, https://api.example/a', []],
  ['https://github.com/other/ctx-storage', ['https://github.com/other/ctx-storage']],
  ['See https://ctx-storage.dev.', ['https://ctx-storage.dev']],
])('[PKG24] of %j, the unknown addresses are %j', (text, unknown) => {
  expect(unknownAddresses(text, OWN)).toEqual(unknown);
});
