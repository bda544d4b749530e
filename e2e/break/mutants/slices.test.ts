// The slices name files that are there: a glob of none would pass without a single mutant.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { EqualMutant } from './score.ts';
import { SLICES } from './slices.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');

/** The files of a glob, whose braces may be anywhere and whose stars are in the name of the file. */
function filesOf(glob: string): string[] {
  return alternatives(glob).flatMap((one) => {
    const folder = dirname(one);
    if (!existsSync(join(REPOSITORY, folder))) return [];
    const [before, after] = basename(one).split('*') as [string, string?];
    return readdirSync(join(REPOSITORY, folder))
      .filter((name) =>
        after === undefined ? name === before : name.startsWith(before) && name.endsWith(after),
      )
      .map((name) => `${folder}/${name}`);
  });
}

/** Each of the globs that one with braces stands for. */
function alternatives(glob: string): string[] {
  const [, before, choices, after] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(glob) ?? [];
  if (choices === undefined) return [glob];
  return choices.split(',').flatMap((choice) => alternatives(`${before}${choice}${after}`));
}

test.each(Object.entries(SLICES))('every glob of the slice %s has a file', (_name, slice) => {
  const { mutate, tests, caches = [] } = slice;
  const changed = new Set(mutate.filter((glob) => !glob.startsWith('!')).flatMap(filesOf));
  const idle = mutate.flatMap((glob) => {
    const isLeftOut = glob.startsWith('!');
    return alternatives(isLeftOut ? glob.slice(1) : glob).filter((one) => {
      const files = filesOf(one);
      // What is left out must be among what is changed.
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
