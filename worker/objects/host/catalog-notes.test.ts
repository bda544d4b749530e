// A host whose disk has no room for the notes in its catalog.

import { expect, test } from 'vitest';
import { createTestHost } from '../../../packages/testing/worker/test-host.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import { DurableObject } from '../../realm/library/library.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';

class Clock extends DurableObject {
  alarm() {}
}

/** A catalog in memory on a disk that can be full. */
class FullCatalog extends MemoryCatalog {
  isFull = false;

  override async add(...parameters: Parameters<MemoryCatalog['add']>): Promise<boolean> {
    this.#needsRoom();
    return super.add(...parameters);
  }

  override async rest(...parameters: Parameters<MemoryCatalog['rest']>): Promise<void> {
    this.#needsRoom();
    return super.rest(...parameters);
  }

  override async leaving(...parameters: Parameters<MemoryCatalog['leaving']>): Promise<void> {
    this.#needsRoom();
    return super.leaving(...parameters);
  }

  #needsRoom(): void {
    if (this.isFull) throw storageError('DISK_FULL', 'The test has filled the disk.');
  }
}

const SET_MS = 4_000_000_000_000;

test('[FULL4] on a full disk, stored objects are opened, read, closed and deleted; only their alarms wait for room', async () => {
  const catalog = new FullCatalog();
  const host = await createTestHost({}, { Clock }, undefined, {
    medium: new MemoryMedium(),
    catalog,
  });
  for (const name of ['a', 'b']) await host.run(({ storage }) => storage.put('key', name), name);
  for (const name of ['a', 'b']) await host.host.evict(host.address(name));
  catalog.isFull = true;
  const read = (name: string) => host.run(({ storage }) => storage.get('key'), name);
  expect(await read('a')).toBe('a');
  await expect(read('new')).rejects.toMatchObject({ code: 'DISK_FULL' });
  const setAlarm = () => host.run(({ storage }) => storage.setAlarm(SET_MS), 'a');
  await expect(setAlarm()).rejects.toMatchObject({ code: 'DISK_FULL' });
  const before = await catalog.find(`Clock.${host.address('a').id}`);
  expect(before).toMatchObject({ wakeMs: null, isStored: true });
  await host.host.evict(host.address('a'));
  expect(await read('a')).toBe('a');
  await host.host.erase(host.address('b'));

  catalog.isFull = false;
  await setAlarm().catch(() => {}); // tells the catalog
  await setAlarm();
  expect(await catalog.find(`Clock.${host.address('a').id}`)).toMatchObject({ wakeMs: 0 });
  expect(await read('b')).toBe(undefined);
  await host.close();
});

test('[FULL4] an import and a restore, which may bring an alarm, wait until the catalog knows that the object is live', async () => {
  const catalog = new FullCatalog();
  const host = await createTestHost({}, { Clock }, undefined, {
    medium: new MemoryMedium(),
    catalog,
  });
  const address = host.address('a');
  await host.run(({ storage }) => storage.setAlarm(SET_MS), 'a');
  const file = await host.host.exportDatabase(address);
  const bookmark = await host.run(({ storage }) => storage.getCurrentBookmark(), 'a');
  await host.run(({ storage }) => storage.deleteAlarm(), 'a');
  const changes = {
    import: () => host.host.importDatabase(address, file),
    restore: () => host.host.restore(address, bookmark),
  };
  const alarm = () => host.run(({ storage }) => storage.getAlarm(), 'a');
  for (const change of Object.values(changes)) {
    await host.host.evict(address);
    catalog.isFull = true;
    await expect(change()).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect(await alarm()).toBe(null);
    catalog.isFull = false;
    await expect(change()).rejects.toMatchObject({ code: 'DISK_FULL' }); // tells the catalog
    await change();
    expect(await alarm()).toBe(SET_MS);
    expect(await catalog.find(`Clock.${address.id}`)).toMatchObject({ wakeMs: 0 });
    await host.run(({ storage }) => storage.deleteAlarm(), 'a');
  }
  await host.close();
});
