// What a leader that steps down asks of its host: whether something runs, and to close.

import { afterEach, expect, test, vi } from 'vitest';
import { turns } from '../../src/testing/turns.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import { MemoryMedium } from '../file/medium.ts';
import { ClassRegistry } from '../instance/object-class.ts';
import { DurableObject } from '../library/library.ts';
import { PageSessions } from '../sessions/page-sessions.ts';
import { loadSqliteInNode } from '../testing/sqlite.ts';
import { type RunningHost, startHost } from './start-host.ts';

let transactions = 0;
/** The beginning of another transaction. */
const begin = () => ({ op: 'begin', number: ++transactions }) as const;

let endEvent = () => {};
let alarmsBegun = 0;

class Room extends DurableObject {
  async work(): Promise<string> {
    await this.ctx.storage.put('before', 1);
    await new Promise<void>((resolve) => {
      endEvent = resolve;
    });
    await this.ctx.storage.put('after', 1);
    return 'done';
  }

  async remind(atMs: number): Promise<void> {
    await this.ctx.storage.setAlarm(atMs);
  }

  async alarm(): Promise<void> {
    alarmsBegun += 1;
    await this.work();
  }

  async stored(): Promise<string[]> {
    return [...(await this.ctx.storage.list()).keys()];
  }
}

const medium = new MemoryMedium();
const catalog = new MemoryCatalog();
const hosts: RunningHost[] = [];

async function start(): Promise<RunningHost> {
  const sqlite = await loadSqliteInNode();
  const platform = { sqlite, medium, catalog, isDedicated: false };
  const running = await startHost(platform, new ClassRegistry({ Room }, {}), {});
  hosts.push(running);
  return running;
}

afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close().catch(() => {});
});

type Rooms = { Room: { getByName(name: string): Room } };
const roomOf = ({ namespaces }: RunningHost, name: string) =>
  (namespaces.outsideEnv as Rooms).Room.getByName(name);

test('[BUILD5] a host is quiet once its events have ended; the next one in the thread goes on', async () => {
  const old = await start();
  const { host } = old;
  expect(host.isQuiet).toBe(true);
  const working = roomOf(old, 'a').work();
  await turns(5);
  expect(host.isQuiet).toBe(false);
  host.rest();
  endEvent();
  expect(await working).toBe('done');
  await vi.waitUntil(() => host.isQuiet);
  await old.close('build 2 has taken over');
  const next = await start();
  expect(await roomOf(next, 'a').stored()).toEqual(['after', 'before']);
});

test('[BUILD5] what still runs is reset with the reason, and what it has written is kept', async () => {
  const old = await start();
  const working = roomOf(old, 'b').work();
  working.catch(() => {});
  await turns(5);
  await old.close('build 2 has taken over');
  await expect(working).rejects.toMatchObject({
    code: 'OBJECT_RESET',
    retryable: true,
    message: expect.stringContaining('build 2 has taken over'),
  });
  endEvent();
  await turns(5);
  const next = await start();
  expect(await roomOf(next, 'b').stored()).toEqual(['before']);
});

test('[BUILD5] an alarm that runs may end; one that is due while the host rests is left to the next one', async () => {
  const old = await start();
  const { host } = old;
  await roomOf(old, 'c').remind(Date.now());
  await vi.waitUntil(() => alarmsBegun === 1);
  await roomOf(old, 'd').remind(Date.now() + 30);
  host.rest();
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect([alarmsBegun, host.isQuiet]).toEqual([1, false]);
  endEvent();
  await vi.waitUntil(() => host.isQuiet);
  await old.close();
  await start();
  await vi.waitUntil(() => alarmsBegun === 2);
  endEvent();
});

test('[BUILD5] an open transaction of a page is not quiet', async () => {
  const { host } = await start();
  const sessions = new PageSessions(host, () => () => {});
  const opened = await sessions.open('plain');
  const session = 'ok' in opened ? opened.ok : -1;
  const [begun] = await sessions.execute(session, [begin()]);
  const txn = (begun as { ok: number }).ok;
  await vi.waitUntil(() => host.isQuiet);
  expect(sessions.isInTransaction).toBe(true);
  await sessions.execute(session, [{ op: 'commit', txn }]);
  expect(sessions.isInTransaction).toBe(false);
});
