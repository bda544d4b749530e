// The notices of a host: space is short, and history was given up.

import { afterEach, expect, test } from 'vitest';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import type { FileDirectory } from '../../engine/file/file.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import type { MemoryDirectory } from '../../engine/file/memory-file.ts';
import { completeLimits } from '../../engine/sql/query-limits.ts';
import { objectRealm } from '../../realm/globals/object-realm.ts';
import { DurableObject } from '../../realm/library/library.ts';
import { type Platform, startHost } from '../../start/boot/start-host.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import { ClassRegistry } from '../instance/object-class.ts';
import type { HostNotice } from './host-notices.ts';

const MIB = 1024 * 1024;

class Store extends DurableObject {
  /** Replaces the content by other bytes. */
  async fill(byteCount: number): Promise<void> {
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, x)');
    this.ctx.storage.sql.exec('INSERT OR REPLACE INTO t VALUES (1, randomblob(?))', byteCount);
    await this.ctx.storage.sync();
  }

  bookmark(): Promise<string> {
    return this.ctx.storage.getCurrentBookmark();
  }

  goBackTo(bookmark: string): Promise<string> {
    return this.ctx.storage.onNextSessionRestoreBookmark(bookmark);
  }
}

class SmallMedium extends MemoryMedium {
  capacityBytes = Number.POSITIVE_INFINITY;
  override async directory(key: string): Promise<FileDirectory> {
    const directory = (await super.directory(key)) as MemoryDirectory;
    directory.capacityBytes = this.capacityBytes;
    return directory;
  }
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function start(platform: Partial<Platform>) {
  const sqlite = await loadSqliteInNode();
  const medium = new SmallMedium();
  const all = {
    sqlite,
    medium,
    catalog: new MemoryCatalog(),
    realm: objectRealm,
    isDedicated: false,
    ...platform,
  };
  const { host, namespaces, close } = await startHost(all, new ClassRegistry({ Store }), {});
  ends.push(close);
  const notices: HostNotice[] = [];
  const unsubscribe = host.notices.subscribe((notice) => void notices.push(notice));
  const env = namespaces.outsideEnv as { Store: { getByName(name: string): Store } };
  return { medium, notices, unsubscribe, store: (name: string) => env.Store.getByName(name) };
}

test('[CARE3] with less free than limits.lowSpaceBytes, a listener is told once', {
  tags: 'long',
}, async () => {
  // 15 MiB are free: less than the default, and more than the limit.
  let usage = 85 * MIB;
  const { store, notices } = await start({
    estimate: async () => ({ usage, quota: 100 * MIB }),
    limits: completeLimits({ lowSpaceBytes: 10 * MIB }),
  });
  await store('a').fill(1000);
  expect(notices).toEqual([]);
  usage = 95 * MIB;
  for (let n = 0; n < 30; n++) await store('a').fill(MIB);
  expect(notices).toEqual([{ type: 'storagelow', space: { usage, quota: 100 * MIB } }]);
});

test('[CARE4] history that is given up because the disk is full is told, with the object', {
  tags: 'long',
}, async () => {
  const { store, notices, medium, unsubscribe } = await start({});
  medium.capacityBytes = 40 * MIB;
  for (let n = 0; n < 24; n++) await store('full').fill(2 * MIB);
  expect(new Set(notices.map(({ type }) => type))).toEqual(new Set(['historypruned']));
  const [first] = notices;
  expect(first?.type === 'historypruned' && first.address.id.name).toBe('full');
  const count = notices.length;
  unsubscribe();
  for (let n = 0; n < 12; n++) await store('full').fill(2 * MIB);
  expect(notices).toHaveLength(count);
});

test('[CARE4] history that is given up beyond its bounds, without a full disk, is not told', async () => {
  const { store, notices } = await start({ history: { bytes: 4 * MIB } });
  const first = await store('a').bookmark();
  for (let n = 0; n < 12; n++) await store('a').fill(2 * MIB);
  const refused = store('a').goBackTo(first);
  await expect(refused).rejects.toMatchObject({ code: 'BOOKMARK_UNAVAILABLE' });
  expect(notices).toEqual([]);
});
