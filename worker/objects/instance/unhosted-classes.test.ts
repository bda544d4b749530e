import { expect, test } from 'vitest';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { DurableObjectId } from '../../../src/shared/contract/object-id.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import { objectRealm } from '../../realm/globals/object-realm.ts';
import { startHost } from '../../start/boot/start-host.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import { ClassRegistry } from './object-class.ts';
import { UnhostedClasses } from './unhosted-classes.ts';

const ADDRESS = { className: 'Room', id: new DurableObjectId('a'.repeat(64), 'lobby') };

test('[HARN2] a host without the classes stores for any, and leaves alarms to a host that has them', async () => {
  const runs: number[] = [];
  class Room {
    alarm(): void {
      runs.push(1);
    }
  }
  const [sqlite, medium, catalog] = [
    await loadSqliteInNode(),
    new MemoryMedium(),
    new MemoryCatalog(),
  ];
  // The catalog outlives the host, as in a browser.
  const platform = { sqlite, medium, catalog, realm: objectRealm, isDedicated: false };
  const first = await startHost(platform, new UnhostedClasses(), {});
  await first.host.deliver(ADDRESS, async ({ state: { storage } }) => {
    await storage.put('count', 5);
    await storage.setAlarm(1);
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  await expect(first.manager.list('no name')).rejects.toMatchObject({ code: 'UNKNOWN_CLASS' });
  expect(await first.manager.list('Room')).toMatchObject([
    { address: ADDRESS, nextAlarm: expect.any(Number) },
  ]);
  await first.close();
  expect(runs).toEqual([]);

  const second = await startHost(platform, new ClassRegistry({ Room }), {});
  await expect.poll(() => runs).toEqual([1]);
  const count = await second.host.deliver(ADDRESS, ({ state: { storage } }) =>
    storage.get('count'),
  );
  expect(count).toBe(5);
  await second.close();
});
