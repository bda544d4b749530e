// Events of an entry point side by side: some hold the thread again and again and end soon, others wait meanwhile for
// results of the browser.

import { serve } from '../../../worker/start/entries/objects.ts';

/** Stands for every type of the classes in this file, which an app might write in JavaScript. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

const ROUNDS = 40;

const main = {
  async fetch(request: Request, _env: unknown, { exports }: Untyped): Promise<Response> {
    const { pathname } = new URL(request.url);
    const act = ACTS[pathname];
    if (act === undefined) return new Response('short');
    for (let round = 0; round < ROUNDS; round++) {
      await act(exports);
      await wait(1);
    }
    return new Response(pathname);
  },
};

const ACTS: Readonly<Record<string, (exports: Untyped) => unknown>> = {
  '/busy': () => holdThread(4),
  '/text': async (exports) => (await exports.default.fetch('http://main/answer')).text(),
  '/digest': () => crypto.subtle.digest('SHA-256', new Uint8Array(1000)),
  '/blob': () => new Blob(['blob']).arrayBuffer(),
};

function holdThread(durationMs: number): void {
  const endMs = performance.now() + durationMs;
  while (performance.now() < endMs);
}

function wait(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

serve({}, { exports: { default: main } });
