// The behaviour of every catalog, as steps with their outcome: Vitest tests the catalogs of Node,
// Playwright tests the catalog in IndexedDB, in a page.
//
// Knows nothing of test runners.

import type { CatalogEntry, ObjectCatalog } from '../../../worker/objects/catalog/catalog.ts';

export interface CatalogCase {
  /** Begins with the rule ID. */
  readonly title: string;
  /** Uses an empty catalog and returns its observations. */
  observe(catalog: ObjectCatalog): Promise<unknown>;
  readonly expected: unknown;
}

export function entry(id: string, more: Partial<CatalogEntry> = {}): CatalogEntry {
  return { key: `Counter.${id}`, className: 'Counter', id, wakeMs: null, ...more };
}

export const CATALOG_CASES: readonly CatalogCase[] = [
  {
    title: '[CAT5] is built from the found folders',
    async observe(catalog) {
      await catalog.build([entry('b', { wakeMs: 0 }), entry('a', { wakeMs: 0 })]);
      const ids = (await catalog.wakes()).map(({ id }) => id).sort();
      return [ids, await catalog.isEmpty(), await catalog.add(entry('a', { wakeMs: 0 }))];
    },
    expected: [['a', 'b'], false, false],
  },
  {
    title: '[CAT1] lists the objects of a class by key, with names once they are known',
    async observe(catalog) {
      const seen: unknown[] = [await catalog.isEmpty()];
      await catalog.add(entry('b', { name: 'second' }));
      await catalog.add(entry('a'));
      await catalog.add(entry('c', { className: 'Room', key: 'Room.c' }));
      await catalog.add(entry('b'));
      seen.push(await catalog.list('Counter'), await catalog.list('Unknown'));
      await catalog.remove('Counter.a');
      await catalog.remove('Counter.unknown');
      seen.push(
        (await catalog.list('Counter')).map(({ id }) => id),
        await catalog.isEmpty(),
      );
      return seen;
    },
    expected: [true, [entry('a'), entry('b', { name: 'second' })], [], ['b'], false],
  },
  {
    title: '[MANY6] lists a part of the objects of a class, after an id and up to a count',
    async observe(catalog) {
      for (const id of ['d', 'b', 'a', 'c']) await catalog.add(entry(id));
      await catalog.add(entry('b', { className: 'Count', key: 'Count.b' }));
      await catalog.add(entry('b', { className: 'Counters', key: 'Counters.b' }));
      const parts = [
        { after: null, limit: 3 },
        { after: 'c', limit: 3 },
        { after: 'd', limit: 3 },
        { after: 'bb', limit: 1 },
        { after: null, limit: Number.POSITIVE_INFINITY },
      ];
      const seen = [];
      for (const part of parts) {
        seen.push((await catalog.list('Counter', part)).map(({ id }) => id).join());
      }
      return seen;
    },
    expected: ['a,b,c', 'd', '', 'c', 'a,b,c,d'],
  },
  {
    title:
      '[CARE7] knows which objects were stored, whatever else changes, until their files are to be removed',
    async observe(catalog) {
      const seen: unknown[] = [await catalog.add(entry('a', { wakeMs: 0 }))];
      await catalog.stored('Counter.a');
      await catalog.stored('Counter.unknown');
      await catalog.rest('Counter.a', 7);
      seen.push(await catalog.add(entry('a', { wakeMs: 0, name: 'n' })));
      seen.push(await catalog.add(entry('a', { wakeMs: 0 })), await catalog.list('Counter'));
      await catalog.rest('Counter.a', 7);
      await catalog.leaving('Counter.a');
      await catalog.leaving('Counter.unknown');
      seen.push(await catalog.wakes(), await catalog.add(entry('a', { wakeMs: 0 })));
      await catalog.stored('Counter.a');
      await catalog.remove('Counter.a');
      seen.push(await catalog.add(entry('a')));
      return seen;
    },
    expected: [
      false,
      true,
      true,
      [entry('a', { wakeMs: 0, name: 'n', isStored: true })],
      [entry('a', { wakeMs: 0, name: 'n' })],
      false,
      false,
    ],
  },
  {
    title: '[CAT1] tells which objects are to be looked at, the first one first',
    async observe(catalog) {
      for (const id of ['a', 'b', 'c']) await catalog.add(entry(id, { wakeMs: 0 }));
      await catalog.rest('Counter.a', 5000);
      await catalog.rest('Counter.b', null);
      await catalog.rest('Counter.c', 900);
      await catalog.rest('Counter.unknown', 1);
      const resting = await catalog.wakes();
      await catalog.add(entry('a', { wakeMs: 0 }));
      return [resting, (await catalog.wakes()).map(({ id }) => id)];
    },
    expected: [
      [entry('c', { wakeMs: 900 }), entry('a', { wakeMs: 5000 })],
      ['a', 'c'],
    ],
  },
];
