// A tab that calls an object, also one whose method never returns, and follows another.

import { connect, live } from '../../../src/index.ts';
import type { Loop } from './stuck-worker.ts';

declare global {
  interface Window {
    stuck: typeof stuck;
  }
}

const connection = () => {
  const address = new URL('./objects-worker.js', import.meta.url);
  return connect<{ Loop: Loop }>(() => new Worker(address, { type: 'module' }));
};

const loop = async (name: string) => (await connection()).env.Loop.getByName(name);

const stuck = {
  /** Values of the object that is not stuck. */
  seen: [] as number[],

  async follow(): Promise<void> {
    live(await loop('followed'))
      .sum()
      .subscribe((sum) => sum !== undefined && stuck.seen.push(sum), { onError: () => {} });
  },

  async add(by: number): Promise<number> {
    return (await loop('followed')).add(by);
  },

  /** Adds, and tries again while the error is retryable. */
  async addAtLast(by: number): Promise<number> {
    for (;;) {
      try {
        return await stuck.add(by);
      } catch (error) {
        if ((error as { retryable?: boolean }).retryable !== true) throw error;
      }
    }
  },

  /** The code of the error that the call without end gets, and how long that took. */
  async spin(): Promise<{ code: unknown; afterMs: number }> {
    const begunMs = performance.now();
    const object = await loop('stuck');
    const code = await object.spin().then(
      () => 'ended',
      (error: { code?: string }) => error.code,
    );
    return { code, afterMs: performance.now() - begunMs };
  },

  state: async () => (await connection()).state,

  /** Returns the id of the leading worker. */
  async leader(): Promise<string | undefined> {
    const { held = [] } = await navigator.locks.query();
    return held.find(({ name }) => name?.endsWith('/leader'))?.clientId;
  },
};

window.stuck = stuck;
