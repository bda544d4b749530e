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
let settle = (_reply: Reply | Error): void => {};
let isLoaded = false;
let broken: Error | null = null;

worker.addEventListener('message', ({ data }: MessageEvent<Reply>) => {
  isLoaded = true;
  settle(data);
});
worker.addEventListener('error', (event) => {
  // Later errors are shown by the runner, and the scenario goes on to its result or its bound.
  if (isLoaded) return;
  // An error while the module loads may come without a message; the server tells more.
  broken = new Error(event.message || 'the worker could not be loaded');
  settle(broken);
});

window.conformance = {
  call: (request) =>
    new Promise((resolve, reject) => {
      settle = (reply) => (reply instanceof Error ? reject(reply) : resolve(reply));
      if (broken !== null) settle(broken);
      else worker.postMessage(request);
    }),
};
