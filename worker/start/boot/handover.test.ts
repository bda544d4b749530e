// Tests what a leader that steps down asks its host: whether something runs, and to close.

import { afterEach, expect, test, vi } from 'vitest';
import { turns } from '../../../packages/testing/page/turns.ts';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import { MemoryCatalog } from '../../objects/catalog/catalog.ts';
import { type SystemTime, systemTime } from '../../objects/clock/clock.ts';
import { ClassRegistry } from '../../objects/instance/object-class.ts';
import { PageSessions } from '../../objects/sessions/page-sessions.ts';
import { objectRealm } from '../../realm/globals/object-realm.ts';
import { DurableObject } from '../../realm/library/library.ts';
import { type RunningHost, startHost } from './start-host.ts';

let transactions = 0;
/** Returns the operation that begins another transaction. */
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

/** A clock that stands still until the test moves it. */
class DrivenTime implements SystemTime {
  readonly #timers = new Set<{ readonly dueMs: number; readonly task: () => void }>();
  #nowMs = Date.UTC(2030, 0, 1);

  now(): number {
    return this.#nowMs;
  }

  elapsed(): number {
    return this.#nowMs;
  }

  after(delayMs: number, task: () => void): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, task };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  pass(durationMs: number): void {
    this.#nowMs += durationMs;
    for (const timer of [...this.#timers].filter(({ dueMs }) => dueMs <= this.#nowMs)) {
      this.#timers.delete(timer);
      timer.task();
    }
  }
}

async function start(time: SystemTime = systemTime): Promise<RunningHost> {
  const sqlite = await loadSqliteInNode();
  const platform = { sqlite, medium, catalog, realm: objectRealm, isDedicated: false, time };
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

test('[BUILD5] an object that still runs is reset with the reason, and its writes are kept', async () => {
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

test('[BUILD5] an alarm that runs may end; an alarm due while the host rests is left to the next one', async () => {
  const time = new DrivenTime();
  const whenBegun = (count: number) =>
    vi.waitUntil(() => {
      time.pass(0);
      return alarmsBegun === count;
    });
  const old = await start(time);
  const { host } = old;
  await roomOf(old, 'c').remind(time.now());
  await whenBegun(1);
  await roomOf(old, 'd').remind(time.now() + 30);
  host.rest();
  time.pass(60);
  await turns(10);
  expect([alarmsBegun, host.isQuiet]).toEqual([1, false]);
  endEvent();
  await vi.waitUntil(() => host.isQuiet);
  await old.close();
  await start(time);
  await whenBegun(2);
  endEvent();
});

test("[BUILD5] a page's open transaction is reported while its object is quiet, until it commits", async () => {
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
