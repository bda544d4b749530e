// Tests how a leader steps down, whatever its pages and objects do.

import { beforeEach, expect, test } from 'vitest';
import { FakeBrowser } from '../../../packages/testing/page/fake-browser.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { ChannelEndpoint } from '../../../src/shared/wire/channel-endpoint.ts';
import { namesOf } from '../../../src/shared/wire/control.ts';
import { PageEnd } from '../../../src/shared/wire/page-end.ts';
import type { StorageService } from '../../../src/shared/wire/protocol.ts';
import type { WorkerService } from '../../../src/shared/wire/worker-end.ts';
import { Leadership } from './leadership.ts';

// [BUILD5] states these times, so the tests do not read them from the code.
const PAUSE_MS = 2000;
const YIELD_MS = 3000;
const CLOSE_MS = 10_000;

let nowMs: number;
let timers: { dueMs: number; task: () => void }[];
let isWorkerClosed: boolean;
/** Counts the timers that the leader has set. */
let timersSet: number;

beforeEach(() => {
  timersSet = 0;
  nowMs = 0;
  timers = [];
  isWorkerClosed = false;
});

/** Moves the time in steps, so that events on the way happen in turns of their own. */
async function advance(durationMs: number): Promise<void> {
  const endMs = nowMs + durationMs;
  while (nowMs < endMs) {
    nowMs += 5;
    const due = timers.filter(({ dueMs }) => dueMs <= nowMs);
    timers = timers.filter(({ dueMs }) => dueMs > nowMs);
    for (const { task } of due) task();
    if (due.length > 0) await turns(1);
  }
}

const STORAGE: StorageService = {
  open: async () => ({ ok: 1 }),
  execute: async () => [],
  close: async () => {},
};

function lead(host: Partial<WorkerService>): { leadership: Leadership; port: MessagePort } {
  const agent = new FakeBrowser().agent();
  let given: MessagePort | undefined;
  const leadership = new Leadership(
    { storage: STORAGE, ...host },
    {
      locks: agent.locks,
      names: namesOf('d'),
      after: (delayMs, task) => {
        timersSet += 1;
        timers.push({ dueMs: nowMs + delayMs, task });
      },
      elapsed: () => nowMs,
      openChannel: agent.openChannel,
      openOwnChannel: () => {
        const { port1, port2 } = new MessageChannel();
        given = port2;
        return port1;
      },
      close: () => {
        isWorkerClosed = true;
      },
    },
  );
  leadership.connectOwnPage();
  return { leadership, port: given! };
}

/** Makes the leader step down. `tookMs` is how long that took; null means that it still leads. */
function steppingDown(leadership: Leadership): { tookMs: number | null } {
  const startMs = nowMs;
  const seen: { tookMs: number | null } = { tookMs: null };
  void leadership.yield('build 2 has taken over').then(() => {
    seen.tookMs = nowMs - startMs;
  });
  return seen;
}

test('[BUILD5] without anything that runs it steps down at once, and tells its page why', async () => {
  const { leadership, port } = lead({});
  const page = new PageEnd(new ChannelEndpoint(port));
  const seen = steppingDown(leadership);
  await turns(3);
  await advance(20);
  expect(seen.tookMs).toBeLessThan(50);
  expect(page.isYielding).toBe(true);
  await turns(3);
  expect(page.failure).toMatchObject({
    code: 'CONNECTION_CLOSED',
    message: expect.stringContaining('build 2 has taken over'),
  });
});

test('[BUILD5] a page that is suspended delays it only for a moment', async () => {
  const { leadership, port } = lead({});
  const seen = steppingDown(leadership);
  await advance(PAUSE_MS - 50);
  expect(seen.tookMs).toBe(null);
  await advance(100);
  expect(seen.tookMs).not.toBe(null);
  port.close();
});

test('[BUILD5] events that do not end are reset when their time is up', {
  tags: 'long',
}, async () => {
  let fact = '';
  let isClosed = false;
  const { leadership, port } = lead({
    get isQuiet() {
      return isClosed;
    },
    end: async (why) => {
      fact = why;
      isClosed = true;
    },
  });
  new PageEnd(new ChannelEndpoint(port));
  const seen = steppingDown(leadership);
  await advance(YIELD_MS - 100);
  expect([seen.tookMs, fact]).toEqual([null, '']);
  await advance(PAUSE_MS + 200);
  expect(fact).toBe('build 2 has taken over');
  expect(seen.tookMs).not.toBe(null);
  await advance(CLOSE_MS);
  expect(isWorkerClosed).toBe(false);
});

test('[BUILD5] timers that come late do not make their time longer', async () => {
  let fact = '';
  const { leadership, port } = lead({
    isQuiet: false,
    end: async (why) => {
      fact = why;
    },
  });
  const seen = steppingDown(leadership);
  // Each timer of a machine that has no time for this worker comes a second late.
  for (let late = 0; late < 10 && seen.tookMs === null; late++) {
    const [timer] = timers.splice(0, 1);
    nowMs += 1000;
    timer?.task();
    await turns(2);
  }
  expect(fact).toBe('build 2 has taken over');
  expect(timersSet).toBeLessThan(10);
  port.close();
});

test('[BUILD5] a call that was sent is answered before the connection ends', async () => {
  let answer = (_: { ok: number }) => {};
  const open = () =>
    new Promise<{ ok: number }>((resolve) => {
      answer = resolve;
    });
  const { leadership, port } = lead({ storage: { ...STORAGE, open } });
  const page = new PageEnd(new ChannelEndpoint(port));
  const opened = page.worker.open('object');
  const seen = steppingDown(leadership);
  await turns(3);
  await advance(500);
  expect(seen.tookMs).toBe(null);
  answer({ ok: 7 });
  await turns(3);
  await advance(50);
  expect(await opened).toEqual({ ok: 7 });
  expect(seen.tookMs).not.toBe(null);
});

test('[BUILD5] a call that only waits for something to happen delays nothing', async () => {
  const { leadership, port } = lead({
    live: {
      connect: () => ({
        openLive: async () => ({ ok: 1 }),
        nextLive: () => new Promise(() => {}),
        closeLive: async () => {},
        end: () => {},
      }),
    },
  });
  const page = new PageEnd(new ChannelEndpoint(port));
  page.worker.nextLive(1).catch(() => {});
  const seen = steppingDown(leadership);
  await turns(3);
  await advance(50);
  expect(seen.tookMs).not.toBe(null);
});

test('[BUILD5] a host that cannot close ends the worker, which frees its files', async () => {
  const { leadership, port } = lead({ end: () => new Promise(() => {}) });
  new PageEnd(new ChannelEndpoint(port));
  const seen = steppingDown(leadership);
  await advance(CLOSE_MS - 100);
  expect(isWorkerClosed).toBe(false);
  await advance(PAUSE_MS + YIELD_MS);
  expect([isWorkerClosed, seen.tookMs]).toEqual([true, null]);
});

test('[BUILD5] a flush that fails at the end does not keep the lock', async () => {
  const { leadership, port } = lead({ end: () => Promise.reject(new Error('disk')) });
  new PageEnd(new ChannelEndpoint(port));
  const seen = steppingDown(leadership);
  await turns(3);
  await advance(50);
  expect(seen.tookMs).not.toBe(null);
});
