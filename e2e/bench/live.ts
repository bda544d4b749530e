// The cost of live reads and the delay until a change is seen, each compared with the same without them, in
// one run: a commit with 1,000 live reads that it does not concern, in Node; a change that another tab
// follows, in a browser.
//
//   npx tsx e2e/bench/live.ts [-- --rounds 7]

import { parseArgs } from 'node:util';
import { median } from '../../demo/bench/median.ts';
import { createObjects, DurableObject, live } from '../../worker/start/entries/node-objects.ts';
import { openBlank } from '../browsers/blank-page.ts';
import { requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import { startServer } from '../browsers/server.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } });
const rounds = Number(options.rounds);

const COMMITS = 200;
const LIVE_READS = 1000;
const CHANGES = 200;

class Notes extends DurableObject {
  /** Milliseconds of a commit, on average. */
  async commit(): Promise<number> {
    const { storage } = this.ctx;
    const begunMs = performance.now();
    for (let i = 0; i < COMMITS; i++) {
      storage.kv.put(`other ${i % 10}`, i);
      await storage.sync();
    }
    return (performance.now() - begunMs) / COMMITS;
  }

  value(key: string): unknown {
    return this.ctx.storage.kv.get(key);
  }
}

await unconcerned();
await otherTab();

/** A commit without live reads, and with many that it does not concern, in alternation. */
async function unconcerned(): Promise<void> {
  const objects = await createObjects({ Notes });
  const alone = objects.env.Notes.getByName('alone');
  const followed = objects.env.Notes.getByName('followed');
  let results = 0;
  for (let i = 0; i < LIVE_READS; i++) {
    live(followed)
      .value(`key ${i}`)
      .subscribe(() => {
        results += 1;
      });
  }
  while (results < LIVE_READS * 2) await new Promise((resolve) => setTimeout(resolve, 10));
  const times = { without: [] as number[], with: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    const [without, withReads] = [await alone.commit(), await followed.commit()];
    if (round === 0) continue; // the first one warms both up
    times.without.push(without);
    times.with.push(withReads);
  }
  if (results !== LIVE_READS * 2)
    throw new Error('A commit ran a live read that it does not concern.');
  const [without, withReads] = [median(times.without), median(times.with)];
  print('a commit in Node, ms', [
    ['without live reads', without],
    [`with ${LIVE_READS} live reads that it does not concern`, withReads],
    ['difference', withReads - without],
  ]);
  await objects.close();
}

/** From `put` in the tab that leads to the value in another tab, beside the time that the `put` itself takes. */
async function otherTab(): Promise<void> {
  const server = await startServer();
  const profile = new Profile(requireBrowser('chromium'));
  try {
    const context = await profile.launch();
    const writer = await openBlank(await context.newPage(), server);
    const reader = await openBlank(await context.newPage(), server);
    await writer.evaluate(async () => {
      await (await window.api.openStorage('live')).put('n', 0);
    });
    const arrived = reader.evaluate(async (changes) => {
      const storage = await window.api.openStorage('live');
      const times: number[] = [];
      for await (const n of storage.live<number>({ key: 'n' })) {
        times[n!] = performance.timeOrigin + performance.now();
        if (n === 0) document.body.append('ready');
        if (n === changes) break;
      }
      return times;
    }, CHANGES);
    arrived.catch(() => {}); // reported below, unless something else has failed first
    await reader.getByText('ready').waitFor();
    const made = await writer.evaluate(async (changes) => {
      const storage = await window.api.openStorage('live');
      const { timeOrigin } = performance;
      const times: { begunMs: number; endMs: number }[] = [{ begunMs: 0, endMs: 0 }];
      for (let n = 1; n <= changes; n++) {
        const begunMs = timeOrigin + performance.now();
        await storage.put('n', n);
        times.push({ begunMs, endMs: timeOrigin + performance.now() });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return times;
    }, CHANGES);
    const times = await arrived;
    const seen = made.slice(1).flatMap((change, i) => {
      const at = times[i + 1];
      return at == null ? [] : [{ ...change, at }];
    });
    print(
      `a change seen in another tab (${seen.length} of ${CHANGES}, the others were skipped), ms`,
      [
        [
          'put, from the call to its promise',
          median(seen.map(({ begunMs, endMs }) => endMs - begunMs)),
        ],
        [
          'from the call of put to the value in the other tab',
          median(seen.map(({ begunMs, at }) => at - begunMs)),
        ],
        [
          'from the promise of put to the value in the other tab',
          median(seen.map(({ endMs, at }) => at - endMs)),
        ],
      ],
    );
  } finally {
    await profile.remove();
    await server.close();
  }
}

function print(title: string, rows: readonly (readonly [string, number])[]): void {
  console.log(`\n| ${title} | median |\n| --- | --- |`);
  for (const [name, ms] of rows) console.log(`| ${name} | ${ms.toFixed(3)} |`);
}
