// Tests the interface `Objects`, which must behave alike for a page's connection and in a Node process.

import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import { FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { MemoryMedium } from '../../../worker/engine/file/medium.ts';
import { MemoryCatalog } from '../../../worker/objects/catalog/catalog.ts';
import { ClassRegistry } from '../../../worker/objects/instance/object-class.ts';
import { PageSessions } from '../../../worker/objects/sessions/page-sessions.ts';
import { objectRealm } from '../../../worker/realm/globals/object-realm.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { startHost } from '../../../worker/start/boot/start-host.ts';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';
import type { DurableObjectStub } from '../../shared/contract/object.ts';
import type { Objects } from '../../shared/contract/object-management.ts';
import type { RemoteObjects } from './connect.ts';

class Room extends DurableObject {
  async add(by: number): Promise<number> {
    const sum = ((await this.ctx.storage.get<number>('sum')) ?? 0) + by;
    await this.ctx.storage.put('sum', sum);
    return sum;
  }
  async remind(at: number): Promise<void> {
    await this.ctx.storage.setAlarm(at);
  }
  async alarm(): Promise<void> {
    await this.ctx.storage.put('sum', -1);
  }
}

type Classes = { Room: Room };

/** Objects, and the function that ends their runtime. */
interface Started {
  readonly objects: Objects<Classes>;
  end(): Promise<void>;
}

async function onPage(): Promise<Started> {
  const platform = {
    sqlite: await loadSqliteInNode(),
    medium: new MemoryMedium(),
    catalog: new MemoryCatalog(),
    realm: objectRealm,
    isDedicated: false,
  };
  const { host, namespaces, close } = await startHost(platform, new ClassRegistry({ Room }), {});
  const sessions = new PageSessions(host, () => () => {});
  const tabs = new FakeTabs(runCandidate, () => namespaces.calls, sessions);
  const objects = await tabs.tab().connect<Classes>();
  const end = async () => {
    await tabs.close();
    await close();
  };
  return { objects, end };
}

async function inNode(): Promise<Started> {
  const objects = await createObjects({ Room });
  return { objects, end: () => objects.close() };
}

const codeOf = (call: Promise<unknown> | (() => unknown)) =>
  (async () => (typeof call === 'function' ? call() : call))().then(
    () => 'it succeeded',
    ({ code }) => code,
  );

describe.each([
  ['connect, on a page', onPage],
  ['createObjects, in Node', inNode],
])('%s', (_where, start) => {
  let started: Started;
  let objects: Objects<Classes>;
  beforeEach(async () => {
    started = await start();
    ({ objects } = started);
  });
  afterEach(() => started.end());

  test('[NODE23] destructured members work: calls, lists, storage, time, deletion', async () => {
    const {
      env,
      list,
      storage,
      deleteObject,
      clock,
      addEventListener,
      removeEventListener,
      close,
    } = objects;
    const room = env.Room.getByName('a');
    expect(await room.add(2)).toBe(2);
    expect(await list('Room', { limit: 1 })).toMatchObject([
      { className: 'Room', nextAlarm: null },
    ]);
    const handle = await storage(room);
    expect(await handle.get('sum')).toBe(2);
    await handle.put('sum', 5);
    expect(await room.add(1)).toBe(6);
    await clock.set(1000);
    await room.remind(2000);
    await clock.advance(1000);
    expect(await room.add(0)).toBe(-1);
    await deleteObject(room);
    expect(await list('Room')).toEqual([]);
    const listener = () => {};
    addEventListener('historypruned', listener);
    removeEventListener('historypruned', listener);
    const closing = close();
    expect(closing).toBeInstanceOf(Promise);
    await closing;
    expect(await codeOf(handle.get('sum'))).toBe('CONNECTION_CLOSED');
    await close();
  });

  test('[NODE23] the same errors', async () => {
    const { env, list, storage, deleteObject, clock } = objects;
    const noStub = {} as DurableObjectStub;
    expect({
      env: await codeOf(() => (env as unknown as { Rom: object }).Rom),
      list: await codeOf(list('Rom' as 'Room')),
      limit: await codeOf(list('Room', { limit: 0 })),
      storage: await codeOf(storage(noStub)),
      deleteObject: await codeOf(deleteObject(noStub)),
      set: await codeOf(clock.set('noon' as unknown as Date)),
      advance: await codeOf(clock.advance(-1)),
    }).toEqual({
      env: 'UNKNOWN_CLASS',
      list: 'UNKNOWN_CLASS',
      limit: 'INVALID_ARGUMENT',
      storage: 'INVALID_ARGUMENT',
      deleteObject: 'INVALID_ARGUMENT',
      set: 'INVALID_ARGUMENT',
      advance: 'INVALID_ARGUMENT',
    });
  });
});

test('[NODE23] a helper that is typed with `Objects` takes either', () => {
  expectTypeOf<RemoteObjects<Classes>>().toExtend<Objects<Classes>>();
  expectTypeOf<Awaited<ReturnType<typeof createObjects<{ Room: typeof Room }>>>>().toExtend<
    Objects<Classes>
  >();
});
