// Objects whose files are gone although the catalog knows that they were stored.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import type { DurableObjectState } from '../instance/durable-object-state.ts';
import type { HostNotice } from './host-notices.ts';

class Note {
  readonly ctx: DurableObjectState;
  constructor(ctx: DurableObjectState) {
    this.ctx = ctx;
  }
  alarm(): void {}
}

const IDLE_MS = 10_000;

class CopiedCatalog extends MemoryCatalog {
  copy(): CopiedCatalog {
    const copy = new CopiedCatalog();
    for (const [key, entry] of this.entries) copy.entries.set(key, entry);
    return copy;
  }
}

let medium: MemoryMedium;
let catalog: CopiedCatalog;
let host: TestHost;
let notices: HostNotice[];

beforeEach(async () => {
  medium = new MemoryMedium();
  catalog = new CopiedCatalog();
  await start();
});
afterEach(() => host.close().catch(() => {}));

/** A new host on the stored data. */
async function start(): Promise<void> {
  host = await createTestHost({}, { Note }, undefined, { medium, catalog });
  notices = [];
  host.host.notices.subscribe((notice) => void notices.push(notice));
}

const keyOf = (name: string) => `Note.${host.address(name).id.toString()}`;
const lose = (name: string) => medium.remove(keyOf(name));
const put = (name: string) => host.run(({ storage }) => storage.put('text', 'x'), name);
const get = (name: string) => host.run(({ storage }) => storage.get('text'), name);
const deleteAll = (name: string) => host.run(({ storage }) => storage.deleteAll(), name);
const codeOf = (call: Promise<unknown>) => call.then(String, (error) => error.code);

/** `dead`: the catalog's note of the end is undone, as if the worker had died before. */
async function restart(how: 'closed' | 'dead'): Promise<void> {
  await host.turns(5);
  const before = catalog.copy();
  await host.close();
  if (how === 'dead') catalog = before;
  await start();
}

describe('an object whose files are gone', () => {
  test.for(['closed', 'dead'] as const)(
    '[CARE6] is OBJECT_MISSING after its host was %s, again and again, told once, and new after it is deleted',
    async (how) => {
      await put('a');
      await restart(how);
      await lose('a');
      expect(await codeOf(get('a'))).toBe('OBJECT_MISSING');
      await expect(put('a')).rejects.toThrow(
        /Note "a" was stored.*deleteObject\(stub\) accepts that/,
      );
      expect(notices).toEqual([{ type: 'objectmissing', address: host.address('a') }]);
      await restart('dead');
      expect(await codeOf(get('a'))).toBe('OBJECT_MISSING');
      await host.host.erase(host.address('a'));
      expect(await codeOf(get('a'))).toBe('undefined');
      await put('a');
      expect(await get('a')).toBe('x');
    },
  );

  test('[CARE6] is also noticed when it was only evicted', async () => {
    await put('a');
    await host.advance(IDLE_MS);
    await lose('a');
    expect(await codeOf(get('a'))).toBe('OBJECT_MISSING');
    expect(await codeOf(get('b'))).toBe('undefined');
  });

  test('[CARE6] harms no other object; an alarm of it that came due tells it too, once', async () => {
    await host.run(({ storage }) => storage.setAlarm(host.now() + 1000), 'a');
    await put('b');
    await host.turns(5);
    await host.close();
    await lose('a');
    await start();
    await host.advance(8000);
    expect(await get('b')).toBe('x');
    expect(await catalog.list('Note')).toHaveLength(2);
    expect(notices).toEqual([expect.objectContaining({ type: 'objectmissing' })]);
  });
});

describe('an object that was never stored, or was deleted, is not missing', () => {
  test('[CARE7] an object that was only read', async () => {
    await get('a');
    await restart('dead');
    await lose('a');
    expect(await codeOf(get('a'))).toBe('undefined');
  });

  test('[CARE7] an object whose first write was not durable', async () => {
    host.holdFlushes();
    const write = codeOf(put('a'));
    await host.turns(5);
    const before = catalog.copy();
    host.failHeldFlushes();
    expect(await write).toBe('IO');
    catalog = before;
    await restart('dead');
    await lose('a');
    expect(await codeOf(get('a'))).toBe('undefined');
  });

  test('[CARE7] a deletion that a crash ended, with or without the files', async () => {
    for (const isRemoved of [false, true]) {
      await put('a');
      await restart('closed');
      await catalog.leaving(keyOf('a'));
      if (isRemoved) await lose('a');
      await restart('dead');
      expect(await get('a')).toBe(isRemoved ? undefined : 'x');
      await host.host.erase(host.address('a'));
    }
    expect(notices).toEqual([]);
  });

  test('[CARE7] deleteAll and a restore leave files behind', async () => {
    await put('a');
    const bookmark = await host.run(({ storage }) => storage.getCurrentBookmark(), 'a');
    await deleteAll('a');
    await restart('dead');
    expect(await codeOf(get('a'))).toBe('undefined');
    await host.run(({ storage }) => storage.onNextSessionRestoreBookmark(bookmark), 'a');
    await restart('closed');
    expect(await get('a')).toBe('x');
  });

  test('[CARE7] in any order of writes, deletions, evictions and ends, only an object whose files were lost after a durable write is missing', {
    tags: 'long',
  }, async () => {
    const step = fc.record({
      name: fc.constantFrom('a', 'b'),
      kind: fc.constantFrom('put', 'get', 'erase', 'deleteAll', 'evict', 'closed', 'dead', 'lose'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        await host.close();
        medium = new MemoryMedium();
        catalog = new CopiedCatalog();
        await start();
        const stored = new Set<string>();
        const lost = new Set<string>();
        const call = async (name: string, act: (name: string) => Promise<unknown>) => {
          const code = await codeOf(act(name));
          expect(code === 'OBJECT_MISSING', `${name} ${code}`).toBe(lost.has(name));
          return !lost.has(name);
        };
        for (const { name, kind } of steps) {
          if (kind === 'put' && (await call(name, put))) stored.add(name);
          if (kind === 'get') await call(name, get);
          if (kind === 'deleteAll' && (await call(name, deleteAll))) stored.add(name);
          if (kind === 'erase') {
            await host.host.erase(host.address(name));
            stored.delete(name);
            lost.delete(name);
          }
          if (kind === 'evict') await host.advance(IDLE_MS);
          if (kind === 'closed' || kind === 'dead') await restart(kind);
          if (kind === 'lose') {
            await restart('closed');
            await lose(name);
            if (stored.has(name)) lost.add(name);
          }
          await host.turns(2);
        }
      }),
      {
        numRuns: 30,
        // A time that is past on the host's clock: it must not take the clock back with it.
        examples: [
          [
            [
              { name: 'b', kind: 'put' },
              { name: 'a', kind: 'dead' },
              { name: 'b', kind: 'lose' },
              { name: 'a', kind: 'evict' },
            ],
          ],
        ],
      },
    );
  });
});
