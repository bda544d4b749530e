import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { addressKey } from '../../../src/shared/contract/object-id.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import { KEPT_BRANCHES_NAME, KeptBranches } from '../../engine/log/kept-branches.ts';
import { objectRealm } from '../../realm/globals/object-realm.ts';
import { DurableObject } from '../../realm/library/library.ts';
import { type RunningHost, startHost } from '../../start/boot/start-host.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import { ClassRegistry } from '../instance/object-class.ts';

/** Names of objects whose constructor throws. */
const broken = new Set<string>();
/** The names of the instances that were constructed. */
let constructed: (string | undefined)[] = [];
/** The names of the objects whose alarms ran. */
let rung: (string | undefined)[] = [];

class Reminder extends DurableObject {
  constructor(...parameters: ConstructorParameters<typeof DurableObject>) {
    super(...parameters);
    constructed.push(this.ctx.id.name);
    if (broken.has(this.ctx.id.name ?? '')) throw new Error('The constructor fails.');
  }
  async remind(inMs: number): Promise<void> {
    await this.ctx.storage.put('text', 'x'.repeat(1000));
    await this.ctx.storage.setAlarm(Date.now() + inMs);
  }
  async text(): Promise<string | undefined> {
    return this.ctx.storage.get('text');
  }
  wait(): Promise<never> {
    return new Promise(() => {});
  }
  alarm(): void {
    rung.push(this.ctx.id.name);
  }
}

let running: RunningHost;
let medium: MemoryMedium;
let catalog: MemoryCatalog;
let room: (name: string) => Reminder & { readonly id: { toString(): string } };

beforeEach(async () => {
  const sqlite = await loadSqliteInNode();
  broken.clear();
  rung = [];
  medium = new MemoryMedium();
  catalog = new MemoryCatalog();
  const classes = new ClassRegistry({ Reminder });
  running = await startHost(
    { sqlite, medium, catalog, realm: objectRealm, isDedicated: false },
    classes,
    {},
  );
  const env = running.namespaces.outsideEnv as {
    Reminder: { getByName(name: string): ReturnType<typeof room> };
  };
  room = (name) => env.Reminder.getByName(name);
});

afterEach(() => running.close());

function addressOf(name: string) {
  return { className: 'Reminder', id: running.host.classes.get('Reminder').ids.fromName(name) };
}

test('[CONN1] the objects of a class are listed, with size, name and alarm', async () => {
  const { manager } = running;
  await manager.clock.set(1_000_000);
  expect(await manager.list('Reminder')).toEqual([]);
  await room('a').remind(5000);
  await room('b').text();
  const listed = await manager.list('Reminder');
  const byName = new Map(listed.map((object) => [object.address.id.name, object]));
  expect(byName.get('a')).toMatchObject({ nextAlarm: 1_005_000 });
  expect(byName.get('a')!.sizeBytes).toBeGreaterThan(1000);
  expect(byName.get('b')).toMatchObject({ nextAlarm: null });
  await expect(manager.list('Nope')).rejects.toMatchObject({ code: 'UNKNOWN_CLASS' });
});

test('[CONN1] a deleted object is gone, and its alarm; its unanswered calls reject', async () => {
  const { manager } = running;
  await manager.clock.set(1_000_000);
  for (const name of ['a', 'b']) await room(name).remind(60_000);
  const pending = expect(room('a').wait()).rejects.toMatchObject({ code: 'OBJECT_RESET' });
  await room('a').text();
  await manager.delete(addressOf('a'));
  await pending;
  constructed = [];
  await manager.clock.advance(70_000);
  expect(rung).toEqual(['b']);
  expect(constructed).not.toContain('a');
  const listed = await manager.list('Reminder');
  expect(listed.map(({ address }) => address.id.name)).toEqual(['b']);
  expect(await room('a').text()).toBe(undefined);
});

test('[CONN1] listing the objects during a deletion, or right after it, makes no object again', async () => {
  const { manager } = running;
  await room('a').remind(60_000);
  constructed = [];
  const sizes = medium.sizes.bind(medium);
  // The first list asks for the object while its files are removed, the second one when they are gone.
  const during = manager.list('Reminder');
  const deletion = manager.delete(addressOf('a'));
  vi.spyOn(medium, 'sizes').mockImplementation(async (key) => {
    await deletion;
    return sizes(key);
  });
  const after = manager.list('Reminder');
  await deletion;
  for (const listed of [await during, await after]) {
    expect(listed).toMatchObject([{ nextAlarm: null, error: null }]);
  }
  expect(constructed).toEqual([]);
  expect(await medium.keys()).toEqual([]);
});

test('[BRANCH11] the list names the branches that each object keeps, without opening it', async () => {
  const { manager, host } = running;
  const names = ['none', 'stored', 'open', 'damaged'];
  for (const name of names) await room(name).remind(60_000);
  const fork = (name: string, branch: string | null) =>
    host.deliver(addressOf(name), (origin) =>
      host.branches.fork(origin, { at: null, name: branch, isKept: branch !== null, sends: false }),
    );
  for (const name of names) await fork(name, null);
  const { id } = await fork('stored', 'being deleted');
  for (const branch of ['draft', 'an older one']) await fork('stored', branch);
  await fork('damaged', 'draft');
  for (const name of names) await host.evict(addressOf(name));
  await fork('open', 'draft');

  const stored = await medium.directory(addressKey(addressOf('stored')));
  await (await KeptBranches.open(stored, await stored.names())).leave(id);
  const damaged = await medium.directory(addressKey(addressOf('damaged')));
  const file = await damaged.open(KEPT_BRANCHES_NAME);
  file.write(new Uint8Array(file.sizeBytes()).fill(0xff), 0);
  file.close();

  const listed = await manager.list('Reminder');
  const byName = new Map(listed.map((object) => [object.address.id.name, object]));
  expect(byName.get('none')).toMatchObject({ branches: [], error: null });
  expect(byName.get('stored')).toMatchObject({ branches: ['draft', 'an older one'], error: null });
  expect(byName.get('open')).toMatchObject({ branches: ['draft'], error: null });
  expect(byName.get('damaged')).toMatchObject({ branches: [], error: { code: 'CORRUPT' } });
  const open = names.filter(
    (name) => host.instances.live(addressKey(addressOf(name))) !== undefined,
  );
  expect(open).toEqual(['open']);
});

test('[CONN13] an object that cannot be opened is listed with the reason, beside the others', async () => {
  const { manager, host } = running;
  const names = ['damaged', 'failing', 'sound'];
  for (const name of names) await room(name).remind(60_000);
  for (const name of names) {
    await host.evict(addressOf(name));
    // As a crash leaves it: the object has to be opened to be listed.
    await catalog.rest(addressKey(addressOf(name)), 0);
  }
  broken.add('failing');
  const directory = await medium.directory(addressKey(addressOf('damaged')));
  const file = await directory.open('checkpoint');
  file.write(new Uint8Array(file.sizeBytes()).fill(0xff), 0);
  file.close();

  const listed = await manager.list('Reminder');
  const byName = new Map(listed.map((object) => [object.address.id.name, object]));
  expect(byName.get('damaged')).toMatchObject({ nextAlarm: null, error: { code: 'CORRUPT' } });
  expect(byName.get('failing')).toMatchObject({
    nextAlarm: null,
    error: { message: 'The constructor fails.' },
  });
  expect(byName.get('sound')).toMatchObject({ nextAlarm: expect.any(Number), error: null });
  await manager.delete(addressOf('damaged'));
  expect(await manager.list('Reminder')).toHaveLength(2);
});
