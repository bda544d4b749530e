// A project of a Worker with the packed package, and `npx ctx-storage dev` as its author runs it.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { installPacked, linkPackages } from '../package/installed.ts';

const PROGRAM = 'node_modules/ctx-storage/dist/cli.js';

/** The program runs with another Node in `npm run without-glibc`. */
const NODE = process.env.NODE_OF_DEV ?? process.execPath;

/** The wrangler file of the project. */
export const CONFIG = {
  name: 'shop',
  main: 'src/index.ts',
  compatibility_date: '2026-07-01',
  vars: { GREETING: 'hello' },
  durable_objects: { bindings: [{ name: 'ROOM', class_name: 'Room' }] },
  kv_namespaces: [{ binding: 'CACHE', id: 'abc' }],
  d1_databases: [{ binding: 'DB', database_name: 'shop', database_id: 'xyz' }],
  r2_buckets: [{ binding: 'FILES', bucket_name: 'files' }],
  queues: {
    producers: [{ binding: 'JOBS', queue: 'jobs' }],
    consumers: [{ queue: 'jobs', max_batch_timeout: 0 }],
  },
  ratelimits: [{ name: 'LIMITER', namespace_id: '1', simple: { limit: 1, period: 60 } }],
  services: [{ binding: 'SELF', service: 'shop', entrypoint: 'Admin' }],
  triggers: { crons: ['*/5 * * * *'] },
  env: { staging: { vars: { GREETING: 'hi' } } },
};

/** The main module of the project. */
export const CODE = `
import { DurableObject, WorkerEntrypoint } from 'cloudflare:workers';
export class Admin extends WorkerEntrypoint {
  greet(name: string) { return 'admin of ' + name; }
}
export class Room extends DurableObject {
  async fetch(request: Request) {
    if (request.headers.get('upgrade') === 'websocket') {
      const [client, server] = Object.values(new WebSocketPair());
      this.ctx.acceptWebSocket(server);
      return new Response(null, { status: 101, webSocket: client });
    }
    const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
    await this.ctx.storage.put('count', count);
    return new Response('visit ' + count);
  }
  webSocketMessage(socket, message) { socket.send('echo ' + message); }
}
export default {
  async fetch(request: Request, env) {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case '/room': return env.ROOM.getByName('a').fetch(request);
      case '/vars': return Response.json([env.GREETING, env.TOKEN ?? null, env.AI?.run() ?? null]);
      case '/echo': return new Response(request.body, { headers: { 'set-cookie': 'a=1' } });
      case '/keys': return Response.json((await env.CACHE.list()).keys.map(({ name }) => name));
      case '/throw': throw new Error('thrown by the project');
    }
    await env.CACHE.put('a', 'kv');
    await env.DB.prepare('INSERT INTO item VALUES (?)').bind('x').run();
    await env.FILES.put('f', 'r2');
    await env.JOBS.send('job');
    return Response.json([
      await env.CACHE.get('a'),
      await env.DB.prepare('SELECT count(*) AS n FROM item').first('n'),
      await (await env.FILES.get('f')).text(),
      (await env.LIMITER.limit({ key: 'k' })).success,
      (await env.LIMITER.limit({ key: 'k' })).success,
      await env.SELF.greet('x'),
    ]);
  },
  async queue({ messages }, env) {
    for (const { body } of messages) await env.CACHE.put('queued ' + body, '1');
  },
  async scheduled({ cron }, env) {
    await env.CACHE.put('cron ' + cron, '1');
  },
};
`;

export interface Started {
  readonly address: string;
  readonly child: ChildProcess;
  /** Everything printed so far. */
  readonly output: () => string;
}

export class DevProject {
  readonly folder: string;
  readonly #running = new Set<ChildProcess>();

  static async make(): Promise<DevProject> {
    const project = new DevProject(mkdtempSync(join(tmpdir(), 'ctx-storage-dev-')));
    await installPacked(project.folder);
    linkPackages(project.folder, ['esbuild', 'ws']);
    project.write('wrangler.jsonc', `// a project\n${JSON.stringify(CONFIG)}`);
    project.write('src/index.ts', CODE);
    project.write('migrations/0001_items.sql', 'CREATE TABLE item(name TEXT);');
    return project;
  }

  private constructor(folder: string) {
    this.folder = folder;
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  /** Starts the program; resolves when it listens. @throws what it printed, if it ends */
  start(...parameters: string[]): Promise<Started> {
    const child = spawn(NODE, [PROGRAM, 'dev', '--port', '0', ...parameters], { cwd: this.folder });
    this.#running.add(child);
    let output = '';
    return new Promise((resolve, reject) => {
      child.once('exit', (code) => {
        this.#running.delete(child);
        reject(new Error(`It ended with ${code}: ${output}`));
      });
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text;
          const address = /Listening at (\S+)/.exec(output)?.[1];
          if (address !== undefined) resolve({ address, child, output: () => output });
        });
      }
    });
  }

  async end(child: ChildProcess): Promise<void> {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGINT');
    await ended;
    this.#running.delete(child);
  }

  /** The line with which the program ends. @throws if it does not end with 2 and one line */
  failure(...parameters: string[]): string {
    const { status, stderr } = spawnSync(NODE, [PROGRAM, 'dev', ...parameters], {
      cwd: this.folder,
      encoding: 'utf8',
    });
    const lines = stderr.trim().split('\n');
    if (status !== 2 || lines.length !== 1) throw new Error(`It ended with ${status}: ${stderr}`);
    return stderr;
  }

  /** Ends the programs and removes the folder. */
  async remove(): Promise<void> {
    for (const child of this.#running) await this.end(child);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export const textOf = async (address: string, init?: RequestInit) =>
  (await fetch(address, init)).text();
