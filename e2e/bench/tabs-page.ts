// A tab whose calls are timed, and which waits for the tab that leads to go away.

import { connect, openStorage } from '../../src/index.ts';
import type { Counter } from './tabs-worker.ts';

declare global {
  interface Window {
    tabBench: typeof bench;
  }
}

const connection = () => {
  const address = new URL('./objects-worker.js', import.meta.url);
  return connect<{ Counter: Counter }>(() => new Worker(address, { type: 'module' }));
};

/** The measured calls; each promise is awaited before the next call. */
const CALLS = {
  get: async () => {
    const storage = await openStorage('bench');
    await storage.put('key', 1);
    return () => storage.get('key');
  },
  method: async () => {
    const counter = (await connection()).env.Counter.getByName('bench');
    return async () => await counter.echo(1);
  },
  put: async () => {
    const storage = await openStorage('bench');
    let n = 0;
    return () => storage.put('key', n++);
  },
} satisfies Record<string, () => Promise<() => Promise<unknown>>>;

export type CallName = keyof typeof CALLS;

/** Moves from the tab that closes to the other; `lock` is a lock of a bare worker, without the package. */
export type Moving = 'storage' | 'objects' | 'lock';

/** A worker that says every few milliseconds that it holds the lock. */
const LOCK_WORKER = `
  const beats = new BroadcastChannel('bench');
  navigator.locks.request('bench', () => {
    postMessage('held');
    beats.postMessage(performance.timeOrigin + performance.now());
    setInterval(() => beats.postMessage(performance.timeOrigin + performance.now()), 4);
    return new Promise(() => {});
  });`;

interface Gap {
  readonly beforeMs: number;
  readonly afterMs: number;
}

let gap: Promise<Gap> = Promise.reject('not watched');
gap.catch(() => {});
let isWatching = false;
let isHolding = false;

const bench = {
  /** The tab that calls this first leads. */
  async open(moving: Moving): Promise<void> {
    if (moving === 'storage') await (await openStorage('bench')).put('key', 0);
    if (moving === 'objects') await (await connection()).env.Counter.getByName('bench').add();
    if (moving !== 'lock') return;
    const code = URL.createObjectURL(new Blob([LOCK_WORKER], { type: 'text/javascript' }));
    new Worker(code, { type: 'module' }).onmessage = () => {
      isHolding = true;
    };
  },

  /** Milliseconds of one call, on average. */
  async time(name: CallName, count: number): Promise<number> {
    const call = await CALLS[name]();
    await call();
    const begunMs = performance.now();
    for (let i = 0; i < count; i++) await call();
    return (performance.now() - begunMs) / count;
  },

  /** Looks for the longest time between two answers, until `watched` is asked for it. */
  async watch(moving: Moving): Promise<void> {
    isWatching = true;
    gap = moving === 'lock' ? longestSilence() : longestWait(await writer(moving));
  },

  async watched(): Promise<Gap> {
    isWatching = false;
    return await gap;
  },

  async state(moving: Moving): Promise<string> {
    if (moving === 'lock') return isHolding ? 'leading' : 'following';
    return moving === 'storage' ? (await openStorage('bench')).state : (await connection()).state;
  },
};

async function writer(moving: Moving): Promise<() => Promise<unknown>> {
  const write = moving === 'storage' ? await CALLS.put() : await addsOne();
  await write();
  return write;
}

async function addsOne(): Promise<() => Promise<unknown>> {
  const counter = (await connection()).env.Counter.getByName('bench');
  return async () => await counter.add();
}

/** Writes one after the other. */
async function longestWait(write: () => Promise<unknown>): Promise<Gap> {
  let longest: Gap = { beforeMs: 0, afterMs: 0 };
  let beforeMs = performance.timeOrigin + performance.now();
  while (isWatching) {
    const isAnswered = await write().then(
      () => true,
      (error: { retryable?: boolean }) => {
        if (error.retryable !== true) throw error;
        return false;
      },
    );
    if (!isAnswered) continue;
    const afterMs = performance.timeOrigin + performance.now();
    if (afterMs - beforeMs > longest.afterMs - longest.beforeMs) longest = { beforeMs, afterMs };
    beforeMs = afterMs;
  }
  return longest;
}

/** Between two beats of whoever holds the lock. */
async function longestSilence(): Promise<Gap> {
  let longest: Gap = { beforeMs: 0, afterMs: 0 };
  let beforeMs = performance.timeOrigin + performance.now();
  const beats = new BroadcastChannel('bench');
  beats.onmessage = ({ data: afterMs }: MessageEvent<number>) => {
    if (afterMs - beforeMs > longest.afterMs - longest.beforeMs) longest = { beforeMs, afterMs };
    beforeMs = afterMs;
  };
  while (isWatching) await new Promise((resolve) => setTimeout(resolve, 10));
  beats.close();
  return longest;
}

window.tabBench = bench;
