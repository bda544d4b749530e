// Objects that follow, as the user of a page meets them: in Chromium, on files, with workerd as the server, over a socket.
//
//   npx tsx e2e/bench/follow-page.ts [--rounds 5] [--note]
//
// With --note, the times go to results.json, from where `npm run figures` writes them into the documents.

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { startSite } from '../break/torture/site.ts';
import { requireBrowser } from '../browsers/browser.ts';
import { FollowedServer } from '../browsers/followed-server.ts';
import { Profile } from '../browsers/profile.ts';
import { noteTimes } from './note-times.ts';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, note: { type: 'boolean', default: false } },
});
const rounds = Number(options.rounds);

const CALLS = 100;
const ROWS = 100_000;
const COMMITS = 1000;

const ROOM = `
  import { listClass } from '../bench/follow-page/list.ts';
  class List extends listClass(DurableObject) {}
  export const Room = followable(List, { authorize: () => 'someone', origins: () => true, methods: ['add', 'count'], version: 1 });`;

const site = await startSite({
  page: 'e2e/bench/follow-page/page.ts',
  'objects-worker': 'e2e/bench/follow-page/worker.ts',
});
const server = await FollowedServer.of(ROOM);
await server.start();
const network = await networkTo(server.port);
const profile = new Profile(requireBrowser('chromium'));
try {
  await profile.launch();
  const page = await profile.newPage();
  page.on('pageerror', (error) => console.error(String(error)));
  await page.goto(site.origin);
  await page.waitForFunction(() => 'followBench' in window);
  const call = (name: string) =>
    page.evaluate(([port, name, count]) => window.followBench.calls(port, name, count), [
      network.port,
      name,
      CALLS,
    ] as const);
  const settle = (name: string) =>
    page.evaluate(([port, name]) => window.followBench.untilCurrent(port, name), [
      network.port,
      name,
    ] as const);

  const ratios: Record<'offline' | 'connected', number[]> = { offline: [], connected: [] };
  const timesMs: Record<'offline' | 'connected', number[]> = { offline: [], connected: [] };
  await call('calls');
  await settle('calls');
  for (let round = 0; round <= rounds; round++) {
    for (const state of ['connected', 'offline'] as const) {
      if (state === 'offline') network.cut();
      const { own, plain } = await call('calls');
      if (round > 0) {
        ratios[state].push(own / plain);
        timesMs[state].push(own);
      }
      network.restore();
      await settle('calls');
    }
  }

  // `call` of the server reaches the object of this name.
  await server.call('fill', ROWS);
  const copyMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    copyMs.push(
      await page.evaluate(
        ([port, device, count]) => window.followBench.copy(port, device, 'a', count),
        [network.port, `copy-${round}`, ROWS] as const,
      ),
    );
  }

  const againMs: number[] = [];
  let notes = ROWS;
  for (let round = 0; round < rounds; round++) {
    network.cut();
    for (let n = 0; n < COMMITS; n++) await server.call('add', `${n}`);
    notes += COMMITS;
    network.restore();
    againMs.push(
      await page.evaluate(([device, count]) => window.followBench.again(device, count), [
        'copy-0',
        notes,
      ] as const),
    );
  }

  const times = {
    'a call that follows, page, connected': `${range(timesMs.connected, 'ms')}, ${range(ratios.connected, '×')}`,
    'a call that follows, page, offline': `${range(timesMs.offline, 'ms')}, ${range(ratios.offline, '×')}`,
    'a copy of 100,000 rows, page': range(
      copyMs.map((ms) => ms / 1000),
      's',
    ),
    'connected again, page': range(againMs, 'ms'),
  };
  for (const [name, value] of Object.entries(times)) console.log(`${name}: ${value}`);
  if (options.note) noteTimes('npx tsx e2e/bench/follow-page.ts', times);
} finally {
  await profile.remove();
  network.close();
  await server.end();
  await site.close();
}

/** The way to a port, which can be cut. */
async function networkTo(port: number) {
  const open = new Set<Socket>();
  let isCut = false;
  const proxy = createServer((from) => {
    if (isCut) {
      from.destroy();
      return;
    }
    const to = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      open.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    port: (proxy.address() as AddressInfo).port,
    cut() {
      isCut = true;
      for (const socket of open) socket.destroy();
    },
    restore() {
      isCut = false;
    },
    close() {
      this.cut();
      proxy.close();
    },
  };
}

/** The median of the rounds, with the quarter below and above, in two digits. */
function range(values: readonly number[], unit: string): string {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (part: number) => {
    const value = sorted[Math.floor((sorted.length - 1) * part)]!;
    return `${Number(value.toPrecision(2))}`;
  };
  return `${at(0.5)} ${unit} (${at(0.25)} to ${at(0.75)})`;
}
