import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type CatalogEntry, MemoryCatalog, type ObjectCatalog } from './catalog.ts';
import { NodeCatalog } from './node-catalog.ts';

const directory = () => mkdtempSync(join(tmpdir(), 'ctx-storage-catalog-'));
let path: string;
beforeEach(() => {
  path = join(directory(), 'catalog');
});
afterEach(() => rmSync(join(path, '..'), { recursive: true }));

const entry = (id: string, more: Partial<CatalogEntry> = {}): CatalogEntry => ({
  key: `Counter.${id}`,
  className: 'Counter',
  id,
  wakeMs: null,
  ...more,
});

const catalogs: Record<string, () => ObjectCatalog> = {
  memory: () => new MemoryCatalog(),
  file: () => new NodeCatalog(path),
};

describe.each(Object.keys(catalogs))('catalog in %s', (kind) => {
  test('[CAT1] lists the objects of a class by key, with names once they are known', async () => {
    const catalog = catalogs[kind]!();
    expect(await catalog.isEmpty()).toBe(true);
    await catalog.add(entry('b', { name: 'second' }));
    await catalog.add(entry('a'));
    await catalog.add(entry('c', { className: 'Room', key: 'Room.c' }));
    await catalog.add(entry('b'));
    expect(await catalog.list('Counter')).toEqual([entry('a'), entry('b', { name: 'second' })]);
    await catalog.remove('Counter.a');
    expect((await catalog.list('Counter')).map(({ id }) => id)).toEqual(['b']);
    expect(await catalog.isEmpty()).toBe(false);
    catalog.close();
  });

  test('[CAT2] tells which objects are to be looked at, and when', async () => {
    const catalog = catalogs[kind]!();
    await catalog.add(entry('a', { wakeMs: 0 }));
    await catalog.add(entry('b', { wakeMs: 0 }));
    await catalog.rest('Counter.a', 5000);
    await catalog.rest('Counter.b', null);
    await catalog.rest('Counter.unknown', 1);
    expect(await catalog.wakes()).toEqual([entry('a', { wakeMs: 5000 })]);
    catalog.close();
  });
});

describe('catalog in a file', () => {
  test('[CAT3] outlives its process; a torn line is left out; what was overtaken is dropped', async () => {
    const first = new NodeCatalog(path);
    for (let i = 0; i < 100; i++) await first.add(entry('a', { wakeMs: i, name: 'n' }));
    await first.add(entry('b'));
    await first.add(entry('gone'));
    await first.remove('Counter.gone');
    first.close();
    appendFileSync(path, '{"key":"Counter.torn","className":"Cou');
    const second = new NodeCatalog(path);
    expect(await second.list('Counter')).toEqual([
      entry('a', { wakeMs: 99, name: 'n' }),
      entry('b'),
    ]);
    expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(2);
    second.close();
  });
});
