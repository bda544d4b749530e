// The Worker of the benchmark of entry points and bindings: an object, and code beside it that uses KV and D1.

import { d1, kv } from '../../../packages/workers/bindings/index.ts';
import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';

export class Room extends DurableObject {
  fetch(): Response {
    return new Response('constant');
  }

  constant(): string {
    return 'constant';
  }

  fill(): void {
    this.ctx.storage.kv.put('key', 'value');
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item(id INTEGER PRIMARY KEY, name)');
    this.ctx.storage.sql.exec("INSERT OR REPLACE INTO item VALUES (1, 'one')");
  }

  /** Reads like code of another object: each call has its answer before the next. */
  get(): unknown {
    return this.ctx.storage.kv.get('key');
  }

  select(): unknown {
    return this.ctx.storage.sql.exec('SELECT name FROM item WHERE id = ?', 1).one();
  }
}

/** The members of `env` that are used. */
interface Env {
  readonly Room: { getByName(name: string): Room };
  readonly CACHE: {
    get(key: string): Promise<string | null>;
    put(key: string, value: string): Promise<void>;
  };
  readonly DB: {
    prepare(sql: string): {
      bind(...values: unknown[]): { first(): Promise<unknown>; run(): Promise<unknown> };
    };
  };
}

type Work = (env: Env) => unknown;

const WORKS: Readonly<Record<string, Work>> = {
  'kv get': ({ CACHE }) => CACHE.get('key'),
  'kv.get of an object': ({ Room }) => Room.getByName('a').get(),
  'd1 first': ({ DB }) => DB.prepare('SELECT name FROM item WHERE id = ?').bind(1).first(),
  'sql.exec of an object': ({ Room }) => Room.getByName('a').select(),
};

const handler = {
  /** `/work?count=`: milliseconds of one work, on average; any other path: a constant. */
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/') return new Response('constant');
    if (pathname === '/fill') {
      await env.CACHE.put('key', 'value');
      await env.Room.getByName('a').fill();
      await env.DB.prepare('CREATE TABLE IF NOT EXISTS item(id INTEGER PRIMARY KEY, name)')
        .bind()
        .run();
      await env.DB.prepare("INSERT OR REPLACE INTO item VALUES (1, 'one')").bind().run();
      return new Response();
    }
    const work = WORKS[decodeURIComponent(pathname.slice(1))]!;
    const count = Number(searchParams.get('count'));
    const begunMs = performance.now();
    for (let n = 0; n < count; n++) await work(env);
    return Response.json((performance.now() - begunMs) / count);
  },
};

serve({ Room }, { exports: { default: handler }, bindings: { CACHE: kv(), DB: d1() } });
