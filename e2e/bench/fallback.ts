// The speed of a put on IndexedDB, beside what it cannot do without: one strict transaction of `idb` that puts
// the same bytes. Both from the same page, in turns, so that the machine's load affects both.
//
//   npx tsx e2e/bench/fallback.ts [--rounds 20] [--browser chromium|firefox|webkitgtk]
//
// Ratios are the result; times depend on the machine and its load.

import { parseArgs } from 'node:util';
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
const PUTS = 20;

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
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round <= Number(options.rounds); round++) {
    const here = await tab.evaluate((count) => window.fallback.puts(count), PUTS);
    const there = await tab.evaluate((count) => window.fallback.barePuts(count), PUTS);
    if (round === 0) continue; // the first one warms both up
    ours.push(...here);
    bare.push(...there);
  }
  const [a, b] = [median(ours), median(bare)];
  console.log(
    '| median, ms | put on IndexedDB | bare strict put | ratio |\n| --- | --- | --- | --- |',
  );
  console.log(
    `| 100 bytes, ${browser} | ${a.toFixed(2)} | ${b.toFixed(2)} | ${(a / b).toFixed(2)} × |`,
  );
} finally {
  await tabs.remove();
  await server.close();
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
