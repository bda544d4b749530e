// Entry points and bindings, each beside the call of an object that does the same, in alternation, in Chromium.
//
//   npx tsx e2e/bench/entries.ts [-- --rounds 7]

import { parseArgs } from 'node:util';
import { median } from '../../demo/bench/median.ts';
import { startSite } from '../break/torture/site.ts';
import { requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } });
const rounds = Number(options.rounds);

const COUNT = 200;

/** Where it is timed, the row, its reference, and the bound of their ratio. */
const ROWS = [
  ['call', 'fetch of the worker', 'a method of an object', 1.3],
  ['call', 'fetch of the worker', 'fetch of an object', 1.3],
  ['work', 'kv get', 'kv.get of an object', 2],
  ['work', 'd1 first', 'sql.exec of an object', 1.3],
] as const;

const site = await startSite({
  page: 'e2e/bench/entries/page.ts',
  'objects-worker': 'e2e/bench/entries/worker.ts',
});
const profile = new Profile(requireBrowser('chromium'));
try {
  await profile.launch();
  const page = await profile.newPage();
  page.on('pageerror', (error) => console.error(String(error)));
  await page.goto(site.origin);
  await page.waitForFunction(() => 'entriesBench' in window);
  const time = (where: 'call' | 'work', name: string) =>
    page.evaluate(([where, name, count]) => window.entriesBench[where](name, count), [
      where,
      name,
      COUNT,
    ] as const);
  console.log('\n| row | µs | beside | µs | ratio | goal |\n| --- | --- | --- | --- | --- | --- |');
  for (const [where, row, reference, goal] of ROWS) {
    const times: { readonly own: number; readonly other: number }[] = [];
    for (let round = 0; round <= rounds; round++) {
      const pair = { own: await time(where, row), other: await time(where, reference) };
      if (round > 0) times.push(pair); // the first one warms both up
    }
    const own = median(times.map(({ own }) => own));
    const other = median(times.map(({ other }) => other));
    const ratio = median(times.map(({ own, other }) => own / other));
    const [ownText, otherText] = [own, other].map((ms) => (ms * 1000).toFixed(0));
    console.log(
      `| ${row} | ${ownText} | ${reference} | ${otherText} | ${ratio.toFixed(2)} | ${goal} |`,
    );
  }
} finally {
  await profile.remove();
  await site.close();
}
