// Rooms of pages that follow one in workerd: two devices, each with a directory and a worker of its own.

import type { Page } from '@playwright/test';
import { mixedCall } from '../../packages/follow/testing/mixed-class.ts';
import { Random } from '../../packages/testing/simulate/world/random.ts';
import { openBlank, whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { FollowedServer } from '../browsers/followed-server.ts';
import { LONG, RELEASE } from '../browsers/tags.ts';

const ROOM = `
  import { roomClass } from '../specs/pages/follow-room.ts';
  class OwnRoom extends roomClass(DurableObject) {}
  export const Room = followable(OwnRoom, { authorize: () => 'someone', origins: () => true, methods: ['add', 'names'], version: 1 });`;

const MIXED = `
  import { MIXED_METHODS, mixedClass } from '../../packages/follow/testing/mixed-class.ts';
  class Mixed extends mixedClass(DurableObject) {}
  export const Room = followable(Mixed, { authorize: () => 'someone', origins: () => true, methods: MIXED_METHODS, version: 1 });`;

const LARGE = `
  import { roomClass } from '../specs/pages/follow-room.ts';
  class Large extends roomClass(DurableObject) {
    fill(count) {
      for (let i = 0; i < count; i++) {
        this.note((i + ' ').padEnd(1_000_000, 'x'));
      }
    }
    note(name) {
      this.ctx.storage.sql.exec('INSERT INTO item (name) VALUES (?)', name);
    }
  }
  const limits = { objectBytes: 2 ** 30 };
  export const Room = followable(Large, { authorize: () => 'someone', origins: () => true, methods: ['add'], version: 1, limits });`;

interface Device {
  readonly room: Record<'add' | 'names', (...args: unknown[]) => Promise<string[]>>;
  readonly seen: string[][];
}

/** A device whose calls are random. */
interface MixedDevice {
  readonly mixed: Record<string, (...args: unknown[]) => Promise<unknown>>;
  readonly clock: { advance(durationMs: number): Promise<unknown>; resume(): Promise<unknown> };
  /** The notes of calls that were acknowledged and not yet read by the test. */
  acknowledged: string[];
}

declare global {
  interface Window {
    devices?: Record<string, Device>;
    mixed?: Record<string, MixedDevice>;
  }
}

/** Connects the page as two devices, whose live reads are noted. */
function connectDevices(page: Page, port: number): Promise<void> {
  return page.evaluate(async (port) => {
    window.devices = {};
    for (const name of ['phone', 'laptop']) {
      const start = () =>
        new Worker(`/e2e/specs/pages/follow-worker.ts?port=${port}&device=${name}`, {
          type: 'module',
        });
      const { env } = await window.api.connect<{ Room: never }>(start, { directory: name });
      const room = (env.Room as { getByName(name: string): never }).getByName('a');
      const seen: string[][] = [];
      const { names } = window.api.live(room) as unknown as {
        names(): { subscribe(told: (names: string[] | undefined) => void): void };
      };
      names().subscribe((shown) => {
        if (shown !== undefined) seen.push(shown);
      });
      window.devices[name] = { room, seen };
    }
  }, port);
}

/** Returns the notes that the device shows now. */
function shown(page: Page, device: string): Promise<string[] | undefined> {
  return page.evaluate((name) => window.devices![name]!.seen.at(-1), device);
}

test('[FOLP11] two devices of one page work offline, outlive a reload, meet on workerd, and one is told of a refused call', {
  tag: LONG,
}, async ({ context, server }) => {
  const remote = await FollowedServer.of(ROOM);
  try {
    const page = await openBlank(await context.newPage(), server);
    await connectDevices(page, remote.port);
    const offline = await page.evaluate(async () => {
      const { phone, laptop } = window.devices!;
      return [await phone!.room.add('milk'), await laptop!.room.add('bread')];
    });
    expect(offline).toEqual([['milk'], ['bread']]);
    await page.reload();
    await whenLoaded(page);
    await connectDevices(page, remote.port);
    await expect.poll(() => shown(page, 'phone')).toEqual(['milk']);
    await expect.poll(() => shown(page, 'laptop')).toEqual(['bread']);

    // The server is there again: each device sends its own note and receives the other one.
    await remote.start();
    await expect
      .poll(async () => (await shown(page, 'phone'))?.toSorted(), { timeout: 60_000 })
      .toEqual(['bread', 'milk']);
    await expect
      .poll(async () => (await shown(page, 'laptop'))?.toSorted(), { timeout: 60_000 })
      .toEqual(['bread', 'milk']);
    const settled = await page.evaluate(async () => {
      const { phone } = window.devices!;
      return window.api.settled(phone!.room.add('eggs'));
    });
    expect(settled).toHaveLength(3);
    await expect.poll(() => shown(page, 'laptop')).toEqual(settled);

    // Both devices add the same note while they are offline: the server refuses the call that reaches it second.
    await remote.stop();
    await page.evaluate(async () => {
      const { phone, laptop } = window.devices!;
      await phone!.room.add('butter');
      await laptop!.room.add('butter');
    });
    await remote.start();
    const refused = () =>
      page.evaluate(async () => {
        const { phone, laptop } = window.devices!;
        const both = [phone!, laptop!].map(({ room }) => window.api.followed(room));
        const states = await Promise.all(both.map((status) => status.read()));
        if (states.some(({ state, pending }) => state !== 'current' || pending > 0)) return null;
        const lists = await Promise.all(both.map((status) => status.refusals()));
        return lists.flat().map(({ method, args, reason }) => [method, args, String(reason)]);
      });
    await expect
      .poll(refused, { timeout: 60_000 })
      .toEqual([['add', ['butter'], expect.stringMatching(/UNIQUE/)]]);
    for (const device of ['phone', 'laptop']) {
      await expect.poll(() => shown(page, device)).toEqual([...settled, 'butter']);
    }
    await page.close();
  } finally {
    await remote.end();
  }
});

test('[FOLP19] a call that was made offline is sent by the next page, which does not use its object', {
  tag: [LONG, RELEASE],
}, async ({ context, server }) => {
  const remote = await FollowedServer.of(ROOM);
  try {
    const page = await openBlank(await context.newPage(), server);
    await connectDevices(page, remote.port);
    await page.evaluate(() => window.devices!.phone!.room.add('milk'));
    await page.close();
    await remote.start();
    const next = await openBlank(await context.newPage(), server);
    await next.evaluate(async (port) => {
      const start = () =>
        new Worker(`/e2e/specs/pages/follow-worker.ts?port=${port}&device=phone`, {
          type: 'module',
        });
      const { env } = await window.api.connect<{ Room: never }>(start, { directory: 'phone' });
      await (env.Room as { getByName(name: string): Device['room'] }).getByName('other').names();
    }, remote.port);
    await expect.poll(() => remote.call('names'), { timeout: 60_000 }).toEqual(['milk']);
  } finally {
    await remote.end();
  }
});

/**
 * Follows a room until more than this share of its copy has arrived, or all of it. Returns every reported share; if the
 * copy is complete, also the length of its texts.
 */
function watchCopy(page: Page, port: number, until = 1): Promise<[seen: number[], units: unknown]> {
  return page.evaluate(
    async ([port, until]) => {
      const start = () =>
        new Worker(`/e2e/specs/pages/follow-worker.ts?port=${port}`, { type: 'module' });
      const options = { directory: 'large' };
      const { env, storage } = await window.api.connect<{ Room: never }>(start, options);
      const room = (env.Room as { getByName(name: string): never }).getByName('a');
      const status = window.api.followed(room);
      const seen: number[] = [];
      await new Promise<void>((resolve) => {
        status.addEventListener('change', () => {
          const { state, progress } = status;
          if (progress !== null) seen.push(progress);
          if (state === 'current' || (progress ?? 0) > until) resolve();
        });
      });
      if (status.state !== 'current') return [seen, null];
      const { sql } = await storage(room);
      const units = await sql.exec('SELECT count(*), sum(length(name)) FROM item').raw().toArray();
      return [seen, units];
    },
    [port, until] as const,
  );
}

test('[FOLP31] a copy of an object of 80 MB goes on in the next page, after the server was killed', {
  tag: [LONG, RELEASE],
}, async ({ context, server }) => {
  const remote = await FollowedServer.of(LARGE);
  try {
    await remote.start();
    await remote.call('fill', 80);
    const page = await openBlank(await context.newPage(), server);
    const [before] = await watchCopy(page, remote.port, 0.3);
    await remote.stop();
    await page.close();
    expect(before.at(-1)).toBeLessThan(0.9);
    await remote.start();
    await remote.call('note', 'last');
    const next = await openBlank(await context.newPage(), server);
    const [after, units] = await watchCopy(next, remote.port);
    expect(after[0]).toBeGreaterThan(0.3);
    expect(after).toEqual(after.toSorted((one, other) => one - other));
    expect(units).toEqual([[81, 80_000_004]]);
  } finally {
    await remote.end();
  }
});

/** Connects the page as two devices that make random calls. */
function connectMixed(page: Page, port: number): Promise<void> {
  return page.evaluate(async (port) => {
    window.mixed = {};
    for (const name of ['phone', 'laptop']) {
      const start = () =>
        new Worker(`/e2e/specs/pages/mixed-worker.ts?port=${port}&device=${name}`, {
          type: 'module',
        });
      const { env, clock } = await window.api.connect<{ Mixed: never }>(start, { directory: name });
      const mixed = (env.Mixed as { getByName(name: string): never }).getByName('a');
      window.mixed[name] = { mixed, clock, acknowledged: [] };
    }
  }, port);
}

/** Makes the call, and waits for it a little: only the server may be able to answer. */
function makeCall(page: Page, device: string, call: readonly unknown[]): Promise<string[]> {
  return page.evaluate(
    async ([name, [method, ...args]]) => {
      const device = window.mixed![name]!;
      const made = device.mixed[method as string]!(...args).then(
        () => void device.acknowledged.push(String(args[0])),
        () => {}, // it has failed on its forecast
      );
      await Promise.race([made, new Promise((resolve) => setTimeout(resolve, 30))]);
      return device.acknowledged.splice(0);
    },
    [device, call] as const,
  );
}

interface MixedDump {
  readonly done: readonly string[];
}

/** Returns the content of the device's copy and the ids of its refused calls; null while calls wait. */
function mixedState(page: Page, device: string) {
  return page.evaluate(async (name) => {
    const { mixed } = window.mixed![name]!;
    const status = window.api.followed(mixed);
    const { state, pending } = await status.read();
    if (state !== 'current' || pending > 0) return null;
    const refused = (await status.refusals()).map(({ args }) => String(args[0]));
    return { dump: (await mixed.dump!()) as object, refused };
  }, device);
}

const ROUNDS = Number(process.env.ROUNDS ?? 40);
const SEED = Number(process.env.SEED ?? 1);

test(`[FOLP26] random calls of two devices, while workerd is killed and pages are loaded again, make equal copies: seed ${SEED}`, {
  tag: LONG,
}, async ({ context, server }) => {
  test.setTimeout(60_000 + ROUNDS * 2000);
  const random = new Random(SEED);
  const pick = (below: number) => random.below(below);
  const remote = await FollowedServer.of(MIXED);
  const acknowledged = { phone: [] as string[], laptop: [] as string[] };
  try {
    const page = await openBlank(await context.newPage(), server);
    await connectMixed(page, remote.port);
    for (let round = 0; round < ROUNDS; round++) {
      const chance = pick(100);
      if (chance < 3) await remote.stop();
      else if (chance < 7) {
        if (!remote.isRunning) await remote.start();
      } else if (chance < 9) {
        await page.reload();
        await whenLoaded(page);
        await connectMixed(page, remote.port);
      } else if (chance < 11 && !remote.isRunning) {
        await page.evaluate(async () => {
          for (const { clock } of Object.values(window.mixed!)) {
            await clock.advance(3_600_000);
            await clock.resume();
          }
        });
      } else if (chance < 16 && remote.isRunning) {
        await remote.call(...mixedCall(`server ${round}`, pick)).catch(() => {}); // refused
      } else {
        const device = random.pick(['phone', 'laptop'] as const);
        const call = mixedCall(`${device} ${round}`, pick);
        acknowledged[device].push(...(await makeCall(page, device, call)));
      }
    }
    if (!remote.isRunning) await remote.start();
    const states = async () => ({
      phone: await mixedState(page, 'phone'),
      laptop: await mixedState(page, 'laptop'),
    });
    await expect
      .poll(
        async () => {
          const { phone, laptop } = await states();
          const theirs = JSON.stringify(await remote.call('dump'));
          return [phone, laptop].map((state) => state && JSON.stringify(state.dump) === theirs);
        },
        { timeout: 60_000 },
      )
      .toEqual([true, true]);
    const { phone, laptop } = await states();
    const done = ((await remote.call('dump')) as MixedDump).done.map(
      (row) => JSON.parse(row)[1] as string,
    );
    expect(new Set(done).size).toBe(done.length);
    const answered = new Set([...done, ...phone!.refused, ...laptop!.refused]);
    const all = [...acknowledged.phone, ...acknowledged.laptop];
    expect(all.length).toBeGreaterThan(ROUNDS / 4);
    expect(all.filter((id) => !answered.has(id))).toEqual([]);
    await page.close();
  } finally {
    await remote.end();
  }
});
