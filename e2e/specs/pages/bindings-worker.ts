// A whole Worker in a page's worker: a queue that it consumes, a cron and a rate limit.

import { cronTriggers, queue, rateLimit } from '../../../packages/workers/bindings/index.ts';
import { serve } from '../../../worker/start/entries/objects.ts';

/** Stands for every type of the classes in this file, which an app might write in JavaScript. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

const seen: unknown[] = [];

const main = {
  async fetch(request: Request, { JOBS, LIMITER }: Untyped): Promise<Response> {
    switch (new URL(request.url).pathname) {
      case '/send':
        await JOBS.send(new Map([['a', 1n]]), { contentType: 'v8' });
        return new Response('sent');
      case '/limit':
        return Response.json(await LIMITER.limit({ key: 'a' }));
      default:
        return Response.json(seen);
    }
  },
  queue({ messages }: Untyped): void {
    for (const { body, attempts } of messages) seen.push([String(body.get('a')), attempts]);
  },
  scheduled({ cron, scheduledTime }: Untyped): void {
    seen.push([cron, scheduledTime]);
  },
};

serve(
  {},
  {
    exports: { default: main },
    bindings: {
      JOBS: queue({ consumer: { maxBatchTimeout: 30 } }),
      LIMITER: rateLimit({ limit: 1, period: 10 }),
    },
    crons: cronTriggers(['0 9 * * 2']),
  },
);
