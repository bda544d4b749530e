// The speed of a put on IndexedDB, compared with its least cost: one strict transaction of `idb` that puts the
// same bytes. Both from the same page, in turns, so that the machine's load affects both; by one writer, and by
// several, each of whose puts is a transaction of its own where nobody shares them.
//
//   npx tsx e2e/bench/fallback.ts [--rounds 20] [--browser chromium|firefox|webkitgtk]
//
// Ratios are the result; times depend on the machine and its load.

import { parseArgs } from 'node:util';
import { median } from '../../demo/bench/median.ts';
import { requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import { startServer } from '../browsers/server.ts';
import { PlaywrightTabs, type TabBrowser } from '../browsers/tabs.ts';
import { WebKitBrowser } from '../browsers/webkit.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    browser: { type: 'string', default: 'chromium' },
  },
});
/** How many write at once, and how many puts each of them makes in a round. */
const WRITERS = [
  { writers: 1, puts: 20 },
  { writers: 15, puts: 5 },
] as const;

const { browser } = options;
const server = await startServer({ cache: browser });
const tabs: TabBrowser =
  browser === 'webkitgtk'
    ? new WebKitBrowser()
    : new PlaywrightTabs(new Profile(requireBrowser(browser as 'chromium' | 'firefox')));
try {
  const tab = await tabs.openTab(`${server.origin}/e2e/bench/page/fallback.html`);
  while (!(await tab.evaluate(() => 'fallback' in window, null))) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const times = WRITERS.map(() => ({ ours: [] as number[], bare: [] as number[] }));
  for (let round = 0; round <= Number(options.rounds); round++) {
    for (const [i, { writers, puts }] of WRITERS.entries()) {
      const how = { writers, puts };
      const here = await tab.evaluate((how) => window.fallback.puts(how.puts, how.writers), how);
      const there = await tab.evaluate(
        (how) => window.fallback.barePuts(how.puts, how.writers),
        how,
      );
      if (round === 0) continue; // the first one warms both up
      times[i]!.ours.push(...here);
      times[i]!.bare.push(...there);
    }
  }
  console.log(
    '| median, ms | put on IndexedDB | bare strict put | ratio |\n| --- | --- | --- | --- |',
  );
  for (const [i, { writers }] of WRITERS.entries()) {
    const [a, b] = [median(times[i]!.ours), median(times[i]!.bare)];
    const what = `100 bytes, ${browser}, ${writers} in flight`;
    console.log(`| ${what} | ${a.toFixed(2)} | ${b.toFixed(2)} | ${(a / b).toFixed(2)} × |`);
  }
} finally {
  await tabs.remove();
  await server.close();
}
