// The page of the benchmark: starts the workers and the package's own, and measures from outside.

import { openStorage } from '../../../src/index.ts';

declare global {
  interface Window {
    bench: {
      /** Asks a worker of the benchmark; the result is what it answered. */
      ask(worker: 'objects' | 'sahpool', request: unknown): Promise<unknown>;
      /** Milliseconds of `count` puts of 100 bytes made in one turn, through the package. */
      putsInFlight(count: number): Promise<number>;
      /** The same through the official VFS. */
      sahpoolPutsInFlight(count: number): Promise<number>;
    };
  }
}

const workers = {
  objects: new Worker(new URL('../worker/objects.worker.ts', import.meta.url), { type: 'module' }),
  sahpool: new Worker(new URL('../worker/sahpool.worker.ts', import.meta.url), { type: 'module' }),
};
let calls = 0;

window.bench = {
  ask: (name, request) =>
    new Promise((resolve, reject) => {
      const id = ++calls;
      const worker = workers[name];
      const onMessage = ({ data }: MessageEvent) => {
        if (data.id !== id) return;
        worker.removeEventListener('message', onMessage);
        if (data.error === undefined) resolve(data.result);
        else reject(new Error(data.error));
      };
      worker.addEventListener('message', onMessage);
      worker.postMessage({ id, request });
    }),
  async putsInFlight(count) {
    const storage = await openStorage('bench', { directory: 'bench-page' });
    await storage.put('warm', 0);
    const startMs = performance.now();
    await Promise.all(Array.from({ length: count }, (_, i) => storage.put(`k${i}`, bytes())));
    return performance.now() - startMs;
  },
  async sahpoolPutsInFlight(count) {
    const put = (i: number) =>
      window.bench.ask('sahpool', { op: 'put', key: `k${i}`, value: bytes() });
    await put(0);
    const startMs = performance.now();
    await Promise.all(Array.from({ length: count }, (_, i) => put(i)));
    return performance.now() - startMs;
  },
};

// Other bytes each time: writing what is stored already changes nothing.
function bytes(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(100));
}
