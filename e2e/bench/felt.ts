// The speed that is felt on a page, each way beside another one in the same rounds: many rows at once and how long
// they stall the page, a transaction of ten, a commit beside many live reads.
//
//   npx tsx e2e/bench/felt.ts [-- --rounds 7] [--only rows]

import { parseArgs } from 'node:util';
import type { Page } from '@playwright/test';
import { median } from '../../demo/bench/median.ts';
import { openBlank } from '../browsers/blank-page.ts';
import { requireBrowser } from '../browsers/browser.ts';
import { Profile } from '../browsers/profile.ts';
import { startServer } from '../browsers/server.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    only: { type: 'string', default: '' },
  },
});
const rounds = Number(options.rounds);

const server = await startServer();
const profile = new Profile(requireBrowser('chromium'));
try {
  await profile.launch();
  const blank = await profile.newPage();
  await blank.addInitScript('globalThis.__name = (named) => named'); // which tsx adds to functions
  const page = await openBlank(blank, server);
  await page.bringToFront();
  if ('rows'.includes(options.only)) await manyRows(page, 50_000);
  if ('ten'.includes(options.only)) await tens(page);
  if ('live'.includes(options.only)) await besideLiveReads(page, 1000, 100_000);
} finally {
  await profile.remove();
  await server.close();
}

async function manyRows(page: Page, count: number): Promise<void> {
  const ways = ['execMany', 'exec in transaction', 'json_each'] as const;
  const times: Record<string, { ms: number; stallMs: number }[]> = {};
  for (let round = 0; round <= rounds; round++) {
    for (const way of ways) {
      const measured = await page.evaluate(
        async ({ way, count, round }) => {
          const storage = await window.api.openStorage(`rows ${way} ${round}`);
          const { sql } = storage;
          await sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b REAL, c INTEGER)').ready;
          const salt = Math.random();
          const rows = Array.from({ length: count }, (_, i) => [
            i + 1,
            `row ${i} ${salt}`,
            i * 1.5,
            i,
          ]);
          const insert = 'INSERT INTO t VALUES (?, ?, ?, ?)';
          let stallMs = 0;
          let lastMs = performance.now();
          const seen = () => {
            const nowMs = performance.now();
            stallMs = Math.max(stallMs, nowMs - lastMs);
            lastMs = nowMs;
          };
          const timer = setInterval(seen, 1);
          const beginMs = performance.now();
          if (way === 'execMany') {
            await sql.execMany(insert, rows);
          } else if (way === 'json_each') {
            const select = 'SELECT value->>0, value->>1, value->>2, value->>3 FROM json_each(?)';
            await sql.exec(`INSERT INTO t ${select}`, JSON.stringify(rows)).ready;
          } else {
            await storage.transaction(async () => {
              for (let from = 0; from < count; from += 10_000) {
                const part = rows.slice(from, from + 10_000);
                await Promise.all(part.map((row) => sql.exec(insert, ...row).ready));
              }
            });
          }
          const ms = performance.now() - beginMs;
          seen();
          clearInterval(timer);
          await storage.close();
          return { ms, stallMs };
        },
        { way, count, round },
      );
      if (round > 0) (times[way] ??= []).push(measured);
    }
  }
  print(
    `${count.toLocaleString('en')} rows of a page`,
    ways.map((way) => [
      way,
      median(times[way]!.map(({ ms }) => ms)),
      median(times[way]!.map(({ stallMs }) => stallMs)),
    ]),
    ['ms', 'longest stall of the page, ms'],
  );
}

async function tens(page: Page): Promise<void> {
  const times = await page.evaluate(async (rounds) => {
    const storage = await window.api.openStorage('tens');
    await storage.sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)').ready;
    const insert = 'INSERT INTO t(a) VALUES (?)';
    const ten = () => Array.from({ length: 10 }, () => [insert, `text ${Math.random()}`] as const);
    const ways = {
      batch: () => storage.batch(ten()),
      transaction: () =>
        storage.transaction(() => Promise.all(ten().map(([q, a]) => storage.sql.exec(q, a).ready))),
    };
    const times: Record<string, number[]> = { batch: [], transaction: [] };
    for (let round = 0; round <= rounds; round++) {
      for (const [way, run] of Object.entries(ways)) {
        const beginMs = performance.now();
        for (let i = 0; i < 50; i++) await run();
        if (round > 0) times[way]!.push((performance.now() - beginMs) / 50);
      }
    }
    return times;
  }, rounds);
  print('ten inserts of a page, all or nothing', [
    ['batch', median(times.batch!)],
    ['transaction', median(times.transaction!)],
  ]);
}

async function besideLiveReads(page: Page, reads: number, rows: number): Promise<void> {
  const times = await page.evaluate(
    async ({ reads, rows, rounds }) => {
      const open = async (name: string) => {
        const storage = await window.api.openStorage(name);
        await storage.sql.exec(
          'CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE o(id INTEGER PRIMARY KEY, v TEXT)',
        ).ready;
        await storage.sql.exec(
          "INSERT INTO t SELECT value, 'text ' || value FROM json_each(?)",
          JSON.stringify(Array.from({ length: rows }, (_, i) => i + 1)),
        ).ready;
        await storage.sql.exec("INSERT INTO o VALUES (1, '')").ready;
        return storage;
      };
      const alone = await open('alone');
      const followed = await open('followed');
      let results = 0;
      let seen = (_value: unknown) => {};
      for (let id = 1; id <= reads; id++) {
        followed.sql.live<{ v: string }>('SELECT * FROM t WHERE id = ?', id).subscribe((found) => {
          results += 1;
          seen(found?.[0]?.v);
        });
      }
      while (results < 2 * reads) await new Promise((resolve) => setTimeout(resolve, 20));
      const update = 'UPDATE t SET v = ? WHERE id = ?';
      const commits = 20;
      const times: Record<string, number[]> = { without: [], other: [], concerned: [], seen: [] };
      for (let round = 0; round <= rounds; round++) {
        const measure = async (way: string, commit: (i: number) => Promise<unknown>) => {
          let sumMs = 0;
          for (let i = 0; i < commits; i++) {
            const beginMs = performance.now();
            await commit(i);
            sumMs += performance.now() - beginMs;
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
          if (round > 0) times[way]!.push(sumMs / commits);
        };
        await measure('without', (i) => alone.sql.exec(update, `a ${round} ${i}`, i + 1).ready);
        await measure(
          'other',
          (i) => followed.sql.exec('UPDATE o SET v = ?', `${round} ${i}`).ready,
        );
        await measure(
          'concerned',
          (i) => followed.sql.exec(update, `c ${round} ${i}`, i + 1).ready,
        );
        await measure('seen', (i) => {
          const value = `s ${round} ${i}`;
          const shown = new Promise<void>((resolve) => {
            seen = (found) => found === value && resolve();
          });
          void followed.sql.exec(update, value, i + 1).ready;
          return shown;
        });
      }
      return times;
    },
    { reads, rows, rounds },
  );
  print(`a commit beside ${reads} live reads by id of ${rows} rows, until its promise`, [
    ['without live reads', median(times.without!)],
    ['of another table', median(times.other!)],
    ['of a row that one of them shows', median(times.concerned!)],
    ['the same, until the new value is shown', median(times.seen!)],
  ]);
}

function print(
  title: string,
  lines: readonly (readonly [string, ...number[]])[],
  units: readonly string[] = ['ms'],
): void {
  const first = lines[0]![1]!;
  console.log(
    `\n| ${title} | ${units.join(' | ')} | ratio |\n| --- | ${units.map(() => '---').join(' | ')} | --- |`,
  );
  for (const [name, ...numbers] of lines) {
    const cells = numbers.map((number) => number.toFixed(2));
    console.log(`| ${name} | ${cells.join(' | ')} | ${(numbers[0]! / first).toFixed(2)} |`);
  }
}
