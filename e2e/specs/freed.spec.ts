// Objects that a page no longer refers to can be collected, in the files of the package as they are published, and after a
// user's minifier: minifiers move functions into other scopes, and a function keeps all that its scope keeps.
//
// Chromium has a flag that gives pages a function that collects. In Firefox, garbage is made until everything is gone.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from '../browsers/fixtures.ts';
import { REST } from '../browsers/tags.ts';
import { installPacked, serveFolder } from '../package/installed.ts';

const DIST = 'node_modules/ctx-storage/dist';

const WORKER = `
  import { DurableObject, RpcTarget, serve } from '/${DIST}/objects.js';
  class Answer extends RpcTarget {
    give() { return 42; }
  }
  export class Room extends DurableObject {
    answer() { return new Answer(); }
    async ask(callback) { return callback(2); }
  }
  serve({ Room });`;

/** Each way makes one object, uses it and forgets all but the result. */
const PAGE = `
  import { connect, openStorage } from 'ctx-storage';
  const storage = await openStorage('freed');
  const start = () => new Worker('/objects.js', { type: 'module' });
  const { env } = await connect(start, { directory: 'freed' });
  const room = env.Room.getByName('a');
  const ROWS = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) SELECT i FROM n';
  await storage.sql.exec('CREATE TABLE IF NOT EXISTS t (i)').ready;
  await storage.sql.exec('INSERT INTO t ' + ROWS).ready;
  const query = () => storage.sql.exec('SELECT i FROM t');
  const ways = {
    async 'cursor read to its end'() {
      const cursor = query();
      await cursor.toArray();
      return cursor;
    },
    async 'cursor whose loop was left'() {
      const cursor = query();
      for await (const row of cursor) break;
      return cursor;
    },
    async 'cursor that was closed'() {
      const cursor = query();
      await cursor.next();
      await cursor.close();
      return cursor;
    },
    async 'cursor of an earlier moment'() {
      const moment = await storage.at(new Date());
      const cursor = moment.sql.exec('SELECT i FROM t');
      await cursor.next();
      await moment.close();
      return cursor;
    },
    async 'earlier moment'() {
      const moment = await storage.at(new Date());
      await moment.close();
      return moment;
    },
    async 'live read'() {
      const live = storage.sql.live('SELECT count(*) AS n FROM t');
      await new Promise((resolve) => {
        const stop = live.subscribe((rows) => {
          if (rows === undefined) return;
          resolve();
          queueMicrotask(() => stop());
        });
      });
      return live;
    },
    async 'closed handle'() {
      const handle = await openStorage('freed');
      await handle.get('a');
      await handle.close();
      return handle;
    },
    async 'closed early handle'() {
      const prepare = (opened) => opened.get('a');
      const handle = await openStorage('freed', { early: true, prepare });
      await handle.get('a');
      await handle.close();
      return handle;
    },
    async 'closed branch'() {
      const branch = await storage.fork();
      await branch.put('a', 1);
      await branch.close();
      return branch;
    },
    async 'stub of a target'() {
      const answer = await room.answer();
      if ((await answer.give()) !== 42) throw new Error('wrong answer');
      return answer;
    },
    async 'function that was passed'() {
      const double = (value) => value * 2;
      if ((await room.ask(double)) !== 4) throw new Error('wrong answer');
      return double;
    },
  };
  const COUNT = 20;
  const ROUNDS = 20;
  // Where the engine cannot be told to collect, it does for want of memory. What is made is kept for a while, as
  // otherwise an optimizing compiler does not make it.
  let litter = [];
  const collectNow = () => {
    if (globalThis.gc !== undefined) return gc();
    litter = Array.from({ length: 40 }, (_, i) => new Array(20_000 + i).fill({ litter: litter.length + i }));
  };
  const turn = () => new Promise((resolve) => setTimeout(resolve));
  // What a WeakRef has returned is kept until the end of its task, and by a collection that has begun.
  const collect = async () => {
    for (let times = 0; times < (globalThis.gc === undefined ? 100 : 3); times++) {
      await turn();
      collectNow();
    }
    await turn();
  };
  /** How many objects of each way no garbage can displace. */
  async function left() {
    const forgotten = new Map();
    for (const [name, way] of Object.entries(ways)) {
      const all = [];
      for (let i = 0; i < COUNT; i++) all.push(new WeakRef(await way()));
      forgotten.set(name, all);
    }
    const count = () => Object.fromEntries(
      Array.from(forgotten, ([name, all]) => [name, all.filter((one) => one.deref() !== undefined).length]),
    );
    for (let round = 0; round < ROUNDS && Object.values(count()).some((some) => some > 1); round++) {
      await collect();
    }
    return count();
  }
  /** True if the table can be dropped at last: SQLite refuses it while a cursor of it is open in the worker. */
  async function isDropped() {
    for (let i = 0; i < COUNT; i++) await ways['cursor whose loop was left']();
    for (let round = 0; round < ROUNDS; round++) {
      const dropped = await storage.sql.exec('DROP TABLE t').ready.then(() => true, () => false);
      if (dropped) return true;
      await collect();
    }
    return false;
  }
  window.freed = { left, isDropped };`;

interface FreedPage {
  readonly freed: {
    left(): Promise<Record<string, number>>;
    isDropped(): Promise<boolean>;
  };
}

let directory: string;
let server: Server;

test.beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'ctx-storage-freed-'));
  await installPacked(directory);
  const files = {
    'objects.js': WORKER,
    'packed.html': pageOf(`/${DIST}/index.js`, PAGE),
    'minified.html': pageOf(`/${DIST}/index.js`, `import '/${DIST}/minified.js';`),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  // Write the bundle beside the files whose addresses it contains.
  await build({
    stdin: { contents: PAGE, resolveDir: directory },
    outfile: join(directory, DIST, 'minified.js'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'error',
  });
  server = await serveFolder(directory);
});

test.afterAll(() => {
  server.close();
  server.closeAllConnections();
  rmSync(directory, { recursive: true, force: true });
});

function pageOf(address: string, script: string): string {
  const map = JSON.stringify({ imports: { 'ctx-storage': address } });
  return `<script type="importmap">${map}</script><script type="module">${script}</script>`;
}

for (const [name, tag] of [['packed'], ['minified', REST]] as const) {
  test(`[PAGE13] objects that a page forgets are collected, ${name}`, { tag: tag ?? [] }, async ({
    profile,
  }) => {
    const page = await (await profile.launch(['--js-flags=--expose-gc'])).newPage();
    const { port } = server.address() as AddressInfo;
    await page.goto(`http://localhost:${port}/${name}.html`);
    await page.waitForFunction(() => 'freed' in window);
    const left = await page.evaluate(() => (window as unknown as FreedPage).freed.left());
    expect(Object.keys(left).length).toBeGreaterThan(10);
    // An engine may keep the last one of a loop.
    expect(Object.entries(left).filter(([, count]) => count > 1)).toEqual([]);
    expect(await page.evaluate(() => (window as unknown as FreedPage).freed.isDropped())).toBe(
      true,
    );
  });
}
