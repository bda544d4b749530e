// The limits behind comlink, which carries this package's calls: the cost of comlink alone.

import { expose } from 'comlink';
import { limitsStore } from '../../../demo/bench/limits-store.worker.ts';

const opened = limitsStore('limit-by-comlink');
expose({
  put: async (key: string, value: Uint8Array) => (await opened).put(key, value),
  get: async (key: string) => (await opened).get(key),
  select: async (id: number) => (await opened).select!(id),
  fill: async () => (await opened).fill(),
});
