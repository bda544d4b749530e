import { describe, expect, test } from 'vitest';
import type { ChangeCounts, StorageChange } from '../../src/shared/contract/changes.ts';
import { compare, excerpts, sizeOf } from './compared.ts';

const none = { added: 0, changed: 0, removed: 0 };

function rows(table: string, count: number): StorageChange[] {
  return Array.from({ length: count }, (_, id) => ({
    kind: 'row',
    table,
    key: { id },
    before: null,
    after: { id },
  }));
}

/** Makes a diff of these changes, which counts how many of them were read. */
function diffOf(changes: readonly StorageChange[], counts: Partial<ChangeCounts>) {
  const diff = {
    read: 0,
    count: async () => ({ schema: 0, alarm: 0, keys: none, tables: {}, unnamed: [], ...counts }),
    async *[Symbol.asyncIterator]() {
      for (const change of changes) {
        diff.read += 1;
        yield change;
      }
    },
  };
  return diff;
}

describe('compared moments', () => {
  test('[INSP5] changes come in groups, with exact counts and the first of each table', async () => {
    const alarm = { kind: 'alarm', before: null, after: 5 } as const;
    const key = { kind: 'key', key: 'theme', before: 'light', after: 'dark' } as const;
    const diff = diffOf([alarm, key, ...rows('big', 3000), ...rows('small', 2)], {
      alarm: 1,
      keys: { ...none, changed: 1 },
      tables: { big: { ...none, added: 3000 }, small: { ...none, added: 2 } },
      unnamed: ['search'],
    });
    const compared = await compare(diff, () => false);
    expect(compared.other).toEqual([alarm]);
    expect(compared.keys.shown).toEqual([key]);
    expect(compared.tables.get('big')?.shown).toEqual(rows('big', 100));
    expect(compared.tables.get('small')?.shown).toEqual(rows('small', 2));
    expect(sizeOf(compared)).toBe(3005);
  });

  test('[INSP5] a table after many changes is shown with its counts alone', async () => {
    const diff = diffOf([...rows('a', 9000), ...rows('b', 1)], {
      tables: { a: { ...none, added: 9000 }, b: { ...none, added: 1 } },
    });
    const { tables } = await compare(diff, () => false);
    expect(tables.get('b')).toEqual({ count: { ...none, added: 1 }, shown: [] });
    expect(diff.read).toBeLessThan(6000);
  });

  test('[INSP5] nothing is read after the last change that is shown', async () => {
    const diff = diffOf(rows('a', 9000), { tables: { a: { ...none, added: 9000 } } });
    await compare(diff, () => false);
    expect(diff.read).toBe(100);
  });

  test.for([
    ['short texts stay', 'Plan A', 'Plan B', 'Plan A', 'Plan B'],
    [
      'a long common beginning is left out',
      `${'x'.repeat(500)}old`,
      `${'x'.repeat(500)}new`,
      `…${'x'.repeat(24)}old`,
      `…${'x'.repeat(24)}new`,
    ],
    [
      'a character stays whole',
      `${'x'.repeat(99)}😀${'y'.repeat(23)}1`,
      `${'x'.repeat(99)}😀${'y'.repeat(23)}2`,
      `…😀${'y'.repeat(23)}1`,
      `…😀${'y'.repeat(23)}2`,
    ],
  ] as const)('[INSP5] %s', ([, before, after, ...shown]) => {
    expect(excerpts(before, after)).toEqual(shown);
  });
});
