// The files that a pattern of migrations finds. They are compared with a match of `minimatch` on all paths, which shows
// that folders that were not read have no matching file.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { Minimatch } from 'minimatch';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrationHint, migrationPlace, readMigrations } from './migration-files.ts';

const FILES = [
  ...[
    '0001_a.sql',
    '2_b.sql',
    '10_c.sql',
    '.0003_h.sql',
    'b.sql',
    'a.sql',
    'x.SQL',
    '1.5.sql',
    '-1.sql',
  ],
  ...['0001_a/migration.sql', '0002_b/migration.sql', '0002_b/snapshot.json', '3_b/.hidden.sql'],
  ...[
    '.git/migration.sql',
    'deep/1/2/z.sql',
    'deep/1/y.sql',
    'a{b}.sql',
    'a(b).sql',
    '[x].sql',
    'v1,2.sql',
  ],
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ctx-storage-migrations-'));
  for (const file of FILES) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `text of ${file}`);
  }
  symlinkSync(join(folder, '0001_a.sql'), join(folder, '0009_link.sql'));
  symlinkSync(join(folder, '0001_a'), join(folder, '0009_folder'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * The options for a pattern without its folder: `!` and `#` have no meaning at its beginning, which was inside the
 * pattern.
 */
const AS_WRITTEN = { nonegate: true, nocomment: true };

const found = (pattern: string) => Object.keys(readMigrations(folder, pattern));

test('[VITE29] migrations are found in their order, with their texts; hidden files and links are left out', () => {
  const order = ['-1.sql', '0001_a.sql', '1.5.sql', '2_b.sql', '10_c.sql'];
  const others = ['[x].sql', 'a(b).sql', 'a.sql', 'a{b}.sql', 'b.sql', 'v1,2.sql'];
  expect(found('*.sql')).toEqual([...order, ...others]);
  expect(readMigrations(folder, '*/migration.sql')).toEqual({
    '0001_a/migration.sql': 'text of 0001_a/migration.sql',
    '0002_b/migration.sql': 'text of 0002_b/migration.sql',
  });
  expect(found('deep/**/*.sql')).toEqual(['deep/1/2/z.sql', 'deep/1/y.sql']);
  expect(found('.*.sql')).toEqual(['.0003_h.sql']);
  expect(readMigrations(join(folder, 'nowhere'), '*.sql')).toEqual({});
});

test('[VITE29] a hint names folders of drizzle-kit that the pattern does not match', () => {
  expect(migrationHint(folder, '*.txt')).toMatch(/add \*\/migration\.sql as migrations_pattern\.$/);
  expect(migrationHint(folder, '*.sql')).toBe(undefined);
  expect(migrationHint(join(folder, 'deep'), '*.txt')).toBe(undefined);
});

const PARTS = [
  ...[
    '*',
    '*',
    '**',
    '**/',
    '?',
    '/',
    '.sql',
    '.sql',
    'migration',
    'a',
    'b',
    'deep',
    '0001_a',
    '.',
    ',',
  ],
  ...[
    '{a,b}',
    '{a,{b,c}}',
    '{0001_a,0002_b}',
    '[ab]',
    '[!a]',
    '[0-9]',
    '[^.]',
    '{',
    '}',
    '_',
    '1',
    '[',
    ']',
  ],
  ...['{x}', '+', '$', '^', '(', ')'],
  ...['!', '#', '@(', '!(', '*(', '|', '{1..3}', '[[:digit:]]', '\\'],
];

test.for(['d/[][!a]*', 'd/[]a]*', 'd/[!]a]*', 'd/[^]]*'])(
  '[VITE29] %s matches the files that minimatch matches',
  (given) => {
    const { pattern } = migrationPlace('d', given);
    const matcher = new Minimatch(pattern, AS_WRITTEN);
    const expected = FILES.filter((file) => matcher.match(file));
    expect(expected.length).toBeGreaterThan(0);
    expect(found(pattern).sort()).toEqual(expected.sort());
  },
);

test('[VITE29] random patterns match the files that minimatch matches', () => {
  const part = fc.constantFrom(...PARTS);
  /** The name of a file with a part in the place of some of its characters; most match one. */
  const named = fc
    .tuple(fc.constantFrom(...FILES), fc.nat(20), fc.nat(6), part)
    .map(([file, at, length, part]) => [file.slice(0, at), part, file.slice(at + length)]);
  const pattern = fc.oneof(fc.array(part, { minLength: 1, maxLength: 7 }), named);
  const counts = { compared: 0, matching: 0 };
  fc.assert(
    fc.property(pattern, (parts) => {
      const given = `d/${parts.join('')}`;
      let place: ReturnType<typeof migrationPlace>;
      try {
        place = migrationPlace('d', given);
      } catch {
        return; // the pattern names another folder, or is refused
      }
      const matcher = new Minimatch(place.pattern, AS_WRITTEN);
      const expected = FILES.filter((file) => matcher.match(file));
      expect(found(place.pattern).sort()).toEqual(expected.sort());
      counts.compared += 1;
      if (expected.length > 0) counts.matching += 1;
    }),
    { numRuns: 2000 },
  );
  expect(counts.compared).toBeGreaterThan(1000);
  expect(counts.matching).toBeGreaterThan(100);
});
