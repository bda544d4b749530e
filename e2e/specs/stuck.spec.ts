// A worker that is stuck in JavaScript: its tab ends it, another worker leads, and nothing stored is lost.
//
// In the package, a worker may be silent for 45 s; that the figure is so, a unit test says. Here the page is built
// with beats that are ten times as fast, and everything else as it is.

import type { Page } from '@playwright/test';
import { edited } from '../break/torture/broken.ts';
import { startSite } from '../break/torture/site.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, RELEASE } from '../browsers/tags.ts';
import type {} from './pages/stuck.ts';

const FAST_BEATS = edited('fast-beats', {
  file: /leader[\\/]heartbeat\.ts$/,
  from: 'HEARTBEAT_MS = 5000',
  to: `HEARTBEAT_MS = ${process.env.BEAT_MS ?? 500}`,
});

for (const caller of ['leads', 'follows'] as const) {
  test(
    `[TAB12] a method without end that a tab which ${caller} calls costs its worker, and both tabs go on`,
    { tag: caller === 'follows' ? LONG : [LONG, RELEASE] },
    async ({ profile }, info) => {
      const site = await startSite(
        { page: 'e2e/specs/pages/stuck.ts', 'objects-worker': 'e2e/specs/pages/stuck-worker.ts' },
        [FAST_BEATS],
      );
      const context = await profile.launch();
      const open = async (): Promise<Page> => {
        const page = await context.newPage();
        await page.goto(site.origin);
        await page.evaluate(() => window.stuck.follow());
        return page;
      };
      const leading = await open();
      expect(await leading.evaluate(() => window.stuck.addAtLast(1))).toBe(1);
      const following = await open();
      expect(await following.evaluate(() => window.stuck.addAtLast(1))).toBe(2);
      expect(await leading.evaluate(() => window.stuck.state())).toBe('leading');
      expect(await following.evaluate(() => window.stuck.state())).toBe('following');
      const stuck = await leading.evaluate(() => window.stuck.leader());

      const calling = caller === 'leads' ? leading : following;
      const begunMs = performance.now();
      const spun = await calling.evaluate(() => window.stuck.spin());
      const sums = await Promise.all(
        [leading, following].map((page) => page.evaluate(() => window.stuck.addAtLast(1))),
      );
      const figures = `rejected after ${spun.afterMs.toFixed(0)} ms, calls went on after ${(performance.now() - begunMs).toFixed(0)} ms`;
      info.annotations.push({ type: 'figures', description: figures });
      console.log(`  ${figures}`);
      expect(['WORKER_BUSY', 'CONNECTION_CLOSED']).toContain(spun.code);
      expect(sums.sort()).toEqual([3, 4]);
      expect(await leading.evaluate(() => window.stuck.leader())).not.toBe(stuck);
      for (const page of [leading, following]) {
        await expect.poll(() => page.evaluate(() => window.stuck.seen.at(-1))).toBe(4);
      }
      await site.close();
    },
  );
}
