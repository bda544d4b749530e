// A worker whose thread is blocked, and a page that gives it up: whatever the order of events, a call that is told to
// be not done is never run.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  BlockableThread,
  channelBetween,
  DrivenThreads,
} from '../../../packages/testing/page/blockable-thread.ts';
import { Draws } from '../../../packages/testing/page/draws.ts';
import { storageError } from '../../shared/contract/errors.ts';
import { ChannelEndpoint, type WireChannel } from '../../shared/wire/channel-endpoint.ts';
import { connectionClosed } from '../../shared/wire/errors-on-wire.ts';
import { PageEnd } from '../../shared/wire/page-end.ts';
import { WorkerEnd } from '../../shared/wire/worker-end.ts';
import { Heartbeat } from './heartbeat.ts';

const NOT_DONE = storageError('WORKER_BUSY', 'not done');
const PERHAPS = connectionClosed('it was silent');

interface MadeCall {
  readonly madeMs: number;
  /** When the worker began with it. */
  begunMs?: number;
  outcome?: 'done' | 'not done' | 'perhaps done';
}

class World {
  readonly threads = new DrivenThreads();
  readonly page = new BlockableThread(this.threads, 7_000_000);
  readonly worker = new BlockableThread(this.threads, 100);
  readonly calls: MadeCall[] = [];
  /** The numbers of the calls that the worker began with, in that order. */
  readonly begun: number[] = [];
  readonly connection: PageEnd;
  /** When the page gave up. */
  givenUpMs: number | undefined;
  /** The types of the messages, and 'call', that the worker was sent. */
  readonly posted: unknown[] = [];

  constructor(transitMs: () => number = () => 1) {
    const [pageChannel, workerChannel] = channelBetween(this.page, this.worker, transitMs);
    const noted: WireChannel = {
      postMessage: (message, moved) => {
        const { messages = [message] } = message as { messages?: unknown[] };
        for (const each of messages) this.posted.push((each as { type?: string }).type ?? 'call');
        pageChannel.postMessage(message, moved);
      },
      addEventListener: (type, listener) => pageChannel.addEventListener(type, listener),
      close: () => pageChannel.close(),
    };
    this.connection = new PageEnd(new ChannelEndpoint(noted));
    new Heartbeat(this.connection, this.page, () => {
      this.givenUpMs = this.threads.nowMs;
      this.connection.giveUp(PERHAPS, NOT_DONE);
    });
    // A call is `open`, whose name is its number and how long it blocks the worker.
    const open = async (target: unknown) => {
      const [number, blocksMs] = String(target).split(' ').map(Number);
      this.calls[number!]!.begunMs = this.threads.nowMs;
      this.begun.push(number!);
      this.worker.block(blocksMs!);
      await new Promise<void>((resolve) => this.worker.after(0, resolve)); // answered once it has ended
      return { ok: 1 };
    };
    const storage = { open, execute: async () => [], close: async () => {} };
    const pace = {
      deliver: (task: () => void) => void this.worker.after(0, task),
      send: (task: () => void) => void this.worker.after(0, task),
    };
    new WorkerEnd({ storage }, new ChannelEndpoint(workerChannel, pace), this.worker.elapsed);
  }

  /** A call of the page now; the worker's thread is blocked for so long by it. */
  call(blocksMs = 0): MadeCall {
    const call: MadeCall = { madeMs: this.threads.nowMs };
    const number = this.calls.push(call) - 1;
    this.connection.worker.open(`${number} ${blocksMs}`).then(
      () => {
        call.outcome = 'done';
      },
      (error) => {
        call.outcome = error === NOT_DONE ? 'not done' : 'perhaps done';
      },
    );
    return call;
  }
}

test('[TAB16] a call that a blocked worker has not read is not done, and never begins; a call that it has read may be', async () => {
  const world = new World();
  const before = world.call();
  await world.threads.run(1000);
  const spin = world.call(60_000);
  await world.threads.run(100);
  const write = world.call();
  await world.threads.run(30_000);
  const late = world.call();
  await world.threads.run(20_000);
  expect(world.givenUpMs).toBeGreaterThanOrEqual(46_000);
  expect(world.givenUpMs).toBeLessThan(52_000);
  expect([before, spin, write, late].map(({ outcome }) => outcome)).toEqual([
    'done',
    'perhaps done',
    'not done',
    'not done',
  ]);
  await world.threads.run(60_000);
  expect([write.begunMs, late.begunMs]).toEqual([undefined, undefined]);
});

test('[TAB16] two calls of one turn, of which the first blocks the worker, are told apart', async () => {
  const world = new World();
  world.call();
  await world.threads.run(1000);
  const spin = world.call(60_000);
  const write = world.call();
  await world.threads.run(120_000);
  expect([spin.outcome, write.outcome]).toEqual(['perhaps done', 'not done']);
  expect(write.begunMs).toBe(undefined);
});

test('[TAB16] a worker that becomes free in time runs everything, in order, and nothing is given up', async () => {
  const world = new World();
  world.call();
  await world.threads.run(1000);
  world.call(40_000);
  await world.threads.run(100);
  const calls = [world.call(), world.call(), world.call()];
  await world.threads.run(60_000);
  expect(world.givenUpMs).toBe(undefined);
  expect(calls.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done']);
  expect(world.begun).toEqual([0, 1, 2, 3, 4]);
});

test('[TAB16] a worker that becomes free while the page gives it up begins nothing more', {
  tags: 'long',
}, async () => {
  const outcomes = new Set<unknown>();
  // Messages of 14 s are the slowest that the page allows for.
  for (const transitMs of [1, 4000, 14_000]) {
    // Free before, while and after the page gives up.
    for (let blocksMs = 15_000; blocksMs < 51_000; blocksMs += 250) {
      const world = new World(() => (world.threads.nowMs < 5000 ? 1 : transitMs));
      world.call();
      await world.threads.run(10_000);
      world.call(blocksMs);
      await world.threads.run(100);
      const write = world.call();
      await world.threads.run(200_000);
      const where = `blocked for ${blocksMs} ms, messages take ${transitMs}`;
      expect(write.begunMs === undefined, where).toBe(write.outcome === 'not done');
      outcomes.add(write.outcome);
    }
  }
  expect([...outcomes].sort()).toEqual(['done', 'not done']);
});

test('[TAB16] the first call after a long pause is run without asking the page, which may be gone', async () => {
  const world = new World();
  world.call();
  await world.threads.run(1000);
  await world.threads.run(3_600_000);
  const last = world.call();
  await world.threads.run(0); // it is posted
  world.page.block(1e9);
  await world.threads.run(10);
  expect(last.begunMs).not.toBe(undefined);
});

test('[TAB16] calls one after the other bring one ping in 10 s', async () => {
  const world = new World();
  for (let i = 0; i < 100; i++) {
    world.call();
    await world.threads.run(100);
  }
  expect(world.posted.filter((type) => type === 'call').length).toBe(100);
  // One of them answers the question by which the clocks are compared.
  expect(world.posted.filter((type) => type === 'ping').length).toBeLessThanOrEqual(3);
});

test('[TAB16] in random worlds, nothing begins that is said not to be done, nor anything after the page has given up', {
  tags: 'long',
}, async () => {
  const counts = { givenUp: 0, notDone: 0, late: 0 };
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (generate) => {
      const draws = new Draws(generate);
      const transitMax = draws.pick([2, 200, 5000]);
      const world = new World(() => draws.below(transitMax) + 1);
      for (let step = 0; step < 12; step++) {
        const count = draws.below(4);
        for (let i = 0; i < count; i++) {
          world.call(draws.pick([0, 0, 0, 10, 4000, 16_000, 29_000, 46_000, 70_000]));
          if (draws.chance(0.3)) await world.threads.run(draws.below(60));
        }
        if (draws.chance(0.2)) world.page.block(draws.below(4000));
        await world.threads.run(draws.pick([5, 1000, 12_000, 40_000]));
      }
      await world.threads.run(600_000);
      const { givenUpMs = Number.POSITIVE_INFINITY, calls } = world;
      for (const [number, { outcome, begunMs, madeMs }] of calls.entries()) {
        const where = `call ${number}, ${JSON.stringify({ outcome, begunMs, madeMs, givenUpMs })}`;
        expect(outcome, where).not.toBe(undefined);
        if (outcome === 'not done') expect(begunMs, where).toBe(undefined);
        if (outcome === 'done') expect(begunMs, where).not.toBe(undefined);
        if (begunMs !== undefined) expect(begunMs, where).toBeLessThan(givenUpMs);
        if (begunMs === undefined && madeMs < givenUpMs) counts.notDone += 1;
        if (begunMs !== undefined && begunMs - madeMs > 30_000) counts.late += 1;
      }
      if (world.givenUpMs !== undefined) counts.givenUp += 1;
    }),
    { numRuns: 150, unbiased: true },
  );
  // The worlds are not all alike.
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(10);
});
