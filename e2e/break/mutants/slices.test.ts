// The slices name files that are there: a glob of none would pass without a single mutant.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { braceExpand, minimatch } from 'minimatch';
import { expect, test } from 'vitest';
import { listFiles } from '../../suite/source-files.ts';
import type { EqualMutant } from './score.ts';
import { SLICES } from './slices.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');

const FILES = listFiles(['src', 'worker', 'packages'], /./);

const filesOf = (glob: string) => FILES.filter((file) => minimatch(file, glob));

test.each(Object.entries(SLICES))('every glob of the slice %s has a file', (_name, slice) => {
  const { mutate, tests, caches = [] } = slice;
  const changed = new Set(mutate.filter((glob) => !glob.startsWith('!')).flatMap(filesOf));
  const idle = mutate.flatMap((glob) => {
    const isLeftOut = glob.startsWith('!');
    return braceExpand(isLeftOut ? glob.slice(1) : glob).filter((one) => {
      const files = filesOf(one);
      // Excluded files must be among the changed files.
      return !(isLeftOut ? files.some((file) => changed.has(file)) : files.length > 0);
    });
  });
  expect(idle).toEqual([]);
  expect(tests.filter((path) => !existsSync(join(REPOSITORY, path)))).toEqual([]);
  expect(caches.filter((file) => !changed.has(file))).toEqual([]);
});

test('every mutant that is noted as equal is in a file', () => {
  const path = join(import.meta.dirname, 'equal-mutants.json');
  const equals: EqualMutant[] = JSON.parse(readFileSync(path, 'utf8'));
  const gone = equals.filter(({ file }) => !existsSync(join(REPOSITORY, file)));
  expect(gone).toEqual([]);
});
