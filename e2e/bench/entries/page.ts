// The page of the benchmark of entry points: times calls of the worker and of an object, from here.

import { connect } from '../../../src/index.ts';
import type { Room } from './worker.ts';

declare global {
  interface Window {
    entriesBench: typeof bench;
  }
}

const address = new URL('./objects-worker.js', import.meta.url);
const { env, worker } = await connect<{ Room: Room }>(
  () => new Worker(address, { type: 'module' }),
);
const room = env.Room.getByName('a');
await worker.fetch('http://a/fill');

const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
  'fetch of the worker': async () => (await worker.fetch('http://a/')).text(),
  'fetch of an object': async () => (await room.fetch('http://a/')).text(),
  'a method of an object': () => room.constant(),
};

const bench = {
  /** Milliseconds of a call, on average. */
  async call(name: string, count: number): Promise<number> {
    const call = CALLS[name]!;
    const begunMs = performance.now();
    for (let n = 0; n < count; n++) await call();
    return (performance.now() - begunMs) / count;
  },
  /** Returns the milliseconds of a task inside the worker. */
  async work(name: string, count: number): Promise<number> {
    const response = await worker.fetch(`http://a/${encodeURIComponent(name)}?count=${count}`);
    return (await response.json()) as number;
  },
};

window.entriesBench = bench;
