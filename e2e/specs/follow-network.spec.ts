// A follower in a page whose network goes and comes back.

import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { FollowedServer } from '../browsers/followed-server.ts';
import { LONG } from '../browsers/tags.ts';

const ROOM = `
  import { roomClass } from '../specs/pages/follow-room.ts';
  class OwnRoom extends roomClass(DurableObject) {}
  export const Room = followable(OwnRoom, { authorize: () => 'someone', origins: () => true, methods: ['add', 'names'], version: 1 });`;

/** The pauses between attempts are longer than `CURRENT_MS_MAX` after this long (FOLP14). */
const OFFLINE_MS = 15_000;
const CURRENT_MS_MAX = 2000;
/** A silent server is doubted after 3 s and 2 s more (FOLP14); the rest is for a busy machine. */
const OFFLINE_MS_MAX = 6000;

/** What the page has seen, each with its time in milliseconds. */
type Seen = [what: string, atMs: number];

declare global {
  interface Window {
    network?: { readonly seen: Seen[]; add(name: string): Promise<unknown> };
  }
}

test('[FOLP14] [FOLP29] a copy is offline when the network goes, and current within 2 s of its return, with the calls made meanwhile', {
  tag: LONG,
}, async ({ context, server }) => {
  const remote = await FollowedServer.of(ROOM);
  try {
    await remote.start();
    const page = await openBlank(await context.newPage(), server);
    await page.evaluate(async (port) => {
      const start = () =>
        new Worker(`/e2e/specs/pages/follow-worker.ts?port=${port}&device=phone`, {
          type: 'module',
        });
      const { env } = await window.api.connect<{ Room: never }>(start, { directory: 'phone' });
      const room = (env.Room as { getByName(name: string): never }).getByName('a') as {
        add(name: string): Promise<unknown>;
      };
      const seen: Seen[] = [];
      const note = (what: string) => seen.push([what, performance.now()]);
      const status = window.api.followed(room as never);
      status.addEventListener('change', () => {
        if (status.state !== seen.at(-1)?.[0]) note(status.state);
      });
      window.addEventListener('online', () => note('online'));
      window.addEventListener('offline', () => note('gone'));
      window.network = { seen, add: (name) => room.add(name) };
    }, remote.port);
    const seen = () => page.evaluate(() => window.network!.seen);
    const last = async () => (await seen()).at(-1)?.[0];
    await expect.poll(last, { timeout: 60_000 }).toBe('current');

    await context.setOffline(true);
    await expect.poll(last, { timeout: 10_000 }).toBe('offline');
    await page.evaluate(() => window.network!.add('made offline'));
    // Chromium holds back what is sent on an open socket. So the connection is ended, and each new attempt fails.
    await remote.stop();
    await remote.start();
    await page.waitForTimeout(OFFLINE_MS); // time itself is tested: how far the pauses have grown
    expect(await last()).toBe('offline');

    await context.setOffline(false);
    // Playwright's offline mode tells pages of its end, and no worker; a network that really comes back tells both.
    const online = () => void self.dispatchEvent(new Event('online'));
    await Promise.all(page.workers().map((worker) => worker.evaluate(online)));
    await expect.poll(last, { timeout: 60_000 }).toBe('current');
    const all = await seen();
    const timeOf = (what: string, after = 0) =>
      all.find(([each, atMs]) => each === what && atMs > after)![1];
    const onlineAtMs = timeOf('online');
    expect(timeOf('offline', timeOf('gone')) - timeOf('gone')).toBeLessThan(OFFLINE_MS_MAX);
    expect(timeOf('current', onlineAtMs) - onlineAtMs).toBeLessThan(CURRENT_MS_MAX);
    await expect
      .poll(() => page.evaluate(async () => window.network!.add('later')))
      .toContain('made offline');
  } finally {
    await remote.end();
  }
});
