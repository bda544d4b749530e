// The page between the runner and the worker that runs the scenarios.

import type { Reply, Request } from '../worker/messages.ts';

declare global {
  interface Window {
    conformance: { call(request: Request): Promise<Reply> };
  }
}

const worker = new Worker(new URL('../worker/scenario-worker.ts', import.meta.url), {
  type: 'module',
});
let settle = (_reply: Reply): void => {};
let loadError: string | null = null;

worker.addEventListener('message', ({ data }: MessageEvent<Reply>) => settle(data));
worker.addEventListener('error', (event) => {
  // An error while the module loads comes without a message.
  loadError = event.message || 'the worker could not be loaded';
  settle({ error: loadError });
});

window.conformance = {
  call: (request) =>
    new Promise((resolve) => {
      if (loadError !== null) return resolve({ error: loadError });
      settle = resolve;
      worker.postMessage(request);
    }),
};
