import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Licences, licenceOf } from './licences.ts';

const modules = mkdtempSync(join(tmpdir(), 'ctx-storage-licences-'));
afterAll(() => rmSync(modules, { recursive: true }));

function install(name: string, license: string, files: Readonly<Record<string, string>>): void {
  const folder = join(modules, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version: '1.0.0', license }));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
}

test('[PKG13] a package without a text of its licence fails the build; the text of Apache-2.0 is known', () => {
  install('with', 'MIT', { 'LICENCE.md': 'its own text\n' });
  install('without', 'MIT', { 'README.md': 'MIT' });
  install('known', 'Apache-2.0', {});
  expect(licenceOf('with', modules)).toBe('with 1.0.0 (MIT)\n\nits own text');
  expect(() => licenceOf('without', modules)).toThrow(
    'without 1.0.0 (MIT) is bundled and has no text of its licence.',
  );
  const known = licenceOf('known', modules);
  expect(known).toMatch(/^known 1\.0\.0 \(Apache-2\.0\)\n\n +Apache License/);
  expect(known).toMatch(/END OF TERMS AND CONDITIONS$/);
  // A copyright is its owner's alone.
  expect(known).not.toContain('Copyright 20');
});

test('[PKG13] a package is known by any of its files, also when it lies within another', () => {
  const licences = new Licences();
  for (const path of [
    '/project/node_modules/comlink/dist/esm/comlink.mjs',
    '../node_modules/a/node_modules/@noble/hashes/sha2.js?v=1',
    '\0virtual:of-none',
    '/project/src/index.ts',
  ]) {
    licences.add(path);
  }
  const names = [...licences.text().matchAll(/^(\S+) [\d.]+\S* \(/gm)].map(([, name]) => name);
  expect(names).toEqual(['@noble/hashes', '@sqlite.org/sqlite-wasm', 'comlink']);
});
