import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RunningHost, startHost } from '../boot/start-host.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import { MemoryMedium } from '../file/medium.ts';
import { ClassRegistry } from '../instance/object-class.ts';
import { DurableObject } from '../library/library.ts';
import { loadSqliteInNode } from '../testing/sqlite.ts';

class Reminder extends DurableObject {
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
  alarm(): void {}
}

let running: RunningHost;
let room: (name: string) => Reminder & { readonly id: { toString(): string } };

beforeEach(async () => {
  const sqlite = await loadSqliteInNode();
  const platform = { sqlite, medium: new MemoryMedium(), catalog: new MemoryCatalog() };
  const classes = new ClassRegistry({ Reminder });
  running = await startHost({ ...platform, isDedicated: false }, classes, {});
  const env = running.namespaces.outsideEnv as {
    Reminder: { getByName(name: string): ReturnType<typeof room> };
  };
  room = (name) => env.Reminder.getByName(name);
});

afterEach(() => running.close());

function addressOf(name: string) {
  return { className: 'Reminder', id: running.host.classes.get('Reminder').ids.fromName(name) };
}

test('[CONN10] the objects of a class are listed, with size, name and alarm', async () => {
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

test('[CONN10] a deleted object is gone; what it had not answered rejects', async () => {
  const { manager } = running;
  await room('a').remind(60_000);
  const pending = expect(room('a').wait()).rejects.toMatchObject({ code: 'OBJECT_RESET' });
  await room('a').text();
  await manager.delete(addressOf('a'));
  await pending;
  expect(await manager.list('Reminder')).toEqual([]);
  expect(await room('a').text()).toBe(undefined);
});
