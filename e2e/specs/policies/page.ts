// An app as one is written for any page, which runs under policies: each way of starting, and a query that is cancelled.

import { connectSource } from '../../../packages/entries/connect-source.ts';
import { connect, openStorage, withSignal } from '../../../src/index.ts';
import type { Classes } from './worker.ts';

declare global {
  interface Window {
    ways: typeof ways;
  }
}

const SOURCE = `import { DurableObject } from 'cloudflare:workers';
export class Greeter extends DurableObject { greet() { return 'hello' } }`;

const ENDLESS =
  'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c';

const ways = {
  async openStorage() {
    const storage = await openStorage('policies');
    await storage.put('said', 'hello');
    return await storage.get('said');
  },
  async connect() {
    const start = () =>
      new Worker(new URL('./worker-of-app.js', import.meta.url), { type: 'module' });
    const { env } = await connect<Classes>(start);
    return await env.Greeter.getByName('a').greet();
  },
  async connectSource() {
    const files = { 'main.js': SOURCE };
    const { env } = await connectSource<Classes>(files, { directory: 'source' });
    return await env.Greeter.getByName('a').greet();
  },
  async cancel() {
    const storage = await openStorage('policies');
    const control = new AbortController();
    const rows = withSignal(storage, control.signal).sql.exec(ENDLESS).toArray();
    // The next call is answered once the query runs no more; the abort comes while it does.
    setTimeout(() => control.abort(new Error('cancelled')), 500);
    await rows;
    return 'ended';
  },
};

window.ways = ways;
