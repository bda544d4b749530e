import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CATALOG_CASES, entry } from '../../../packages/testing/worker/catalog.suite.ts';
import { MemoryCatalog, type ObjectCatalog } from './catalog.ts';
import { NodeCatalog } from './node-catalog.ts';

const directory = () => mkdtempSync(join(tmpdir(), 'ctx-storage-catalog-'));
let path: string;
beforeEach(() => {
  path = join(directory(), 'catalog');
});
afterEach(() => rmSync(join(path, '..'), { recursive: true }));

const catalogs: Record<string, () => ObjectCatalog> = {
  memory: () => new MemoryCatalog(),
  file: () => new NodeCatalog(path),
};

describe.each(Object.keys(catalogs))('catalog in %s', (kind) => {
  test.each(CATALOG_CASES)('$title', async ({ observe, expected }) => {
    const catalog = catalogs[kind]!();
    expect(await observe(catalog)).toEqual(expected);
    catalog.close();
  });
});

describe('catalog in a file', () => {
  test('[CAT3] outlives its process; a torn line is left out; overtaken lines are dropped', async () => {
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
    expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(3); // the first names the format
    second.close();
  });

  test('[CAT3] a torn line harms no later one', async () => {
    const first = new NodeCatalog(path);
    await first.add(entry('a'));
    appendFileSync(path, '\n{"key":"Counter.torn","className":"Cou');
    await first.add(entry('b', { wakeMs: 0 }));
    appendFileSync(path, '\0\0\0\n5');
    first.close();
    const second = new NodeCatalog(path);
    expect(await second.list('Counter')).toEqual([entry('a'), entry('b', { wakeMs: 0 })]);
    second.close();
  });

  test('[CAT10] a catalog of a newer format is refused, and stays as it is', async () => {
    new NodeCatalog(path).close();
    const [first] = readFileSync(path, 'utf8').split('\n');
    expect(JSON.parse(first!)).toEqual({ format: 1 });
    const newer = '{"format":2}\n{"what":"is not known"}\n';
    writeFileSync(path, newer);
    expect(() => new NodeCatalog(path)).toThrow(
      expect.objectContaining({
        code: 'FORMAT_TOO_NEW',
        message: expect.stringMatching(/format 2;.* up to 1.*Update the package/),
      }),
    );
    expect(readFileSync(path, 'utf8')).toBe(newer);
  });

  test('[CAT7] overtaken lines do not make it grow without end', async () => {
    const catalog = new NodeCatalog(path);
    for (const id of ['a', 'gone']) await catalog.add(entry(id));
    for (let i = 0; i < 5000; i++) await catalog.rest('Counter.a', i);
    await catalog.remove('Counter.gone');
    for (let i = 0; i < 5000; i++) await catalog.rest('Counter.a', i);
    expect(readFileSync(path, 'utf8').match(/\{/g)?.length).toBeLessThan(2000);
    catalog.close();
    const again = new NodeCatalog(path);
    expect(await again.list('Counter')).toEqual([entry('a', { wakeMs: 4999 })]);
    again.close();
  });

  test('[CAT7] a file that cannot be written is an error with a code, and nothing counts as stored', async () => {
    expect(() => new NodeCatalog(join(path, 'no', 'folder'))).toThrow(
      expect.objectContaining({ code: 'IO' }),
    );
    const catalog = new NodeCatalog(path);
    catalog.close();
    await expect(catalog.add(entry('a'))).rejects.toMatchObject({ code: 'IO' });
    expect(await catalog.list('Counter')).toEqual([]);
  });
});
