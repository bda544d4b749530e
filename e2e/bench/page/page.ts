// The page of the benchmark: starts the worker, and passes questions on.

declare global {
  interface Window {
    bench: {
      /** Asks the worker of the benchmark; the result is its answer. */
      ask(worker: 'objects', request: unknown): Promise<unknown>;
    };
  }
}

const workers = {
  objects: new Worker(new URL('../worker/objects.worker.ts', import.meta.url), { type: 'module' }),
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
};
