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

/** What is called, each with its promise awaited before the next. */
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

let gap: Promise<{ beforeMs: number; afterMs: number }> = Promise.reject('not watched');
gap.catch(() => {});
let isWatching = false;

const bench = {
  /** Both leaders are in the tab that calls this first. */
  async open(): Promise<void> {
    await (await openStorage('bench')).put('key', 0);
    await (await connection()).env.Counter.getByName('bench').add();
  },

  /** Milliseconds of one call, on average. */
  async time(name: CallName, count: number): Promise<number> {
    const call = await CALLS[name]();
    await call();
    const begunMs = performance.now();
    for (let i = 0; i < count; i++) await call();
    return (performance.now() - begunMs) / count;
  },

  /** Writes one after the other, until `watched` is asked for the longest time between two answers. */
  async watch(kind: 'storage' | 'objects'): Promise<void> {
    const storage = await openStorage('bench');
    const counter = (await connection()).env.Counter.getByName('bench');
    let n = 0;
    const write = kind === 'storage' ? () => storage.put('key', n++) : () => counter.add();
    await write();
    isWatching = true;
    gap = (async () => {
      let longest = { beforeMs: 0, afterMs: 0 };
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
        if (afterMs - beforeMs > longest.afterMs - longest.beforeMs)
          longest = { beforeMs, afterMs };
        beforeMs = afterMs;
      }
      return longest;
    })();
  },

  async watched(): Promise<{ beforeMs: number; afterMs: number }> {
    isWatching = false;
    return await gap;
  },

  async state(): Promise<readonly string[]> {
    return [(await openStorage('bench')).state, (await connection()).state];
  },
};

window.tabBench = bench;
