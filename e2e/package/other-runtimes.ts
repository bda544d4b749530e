// npm run other-runtimes
//
// Runs the packed package in Deno and Bun, both from npm: `createObjects` with a folder and an alarm, twice on the same
// folder, and `ctx-storage dev` with KV and an object. The last line is the count; ends with 1 if anything fails.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPacked, npmInstall } from './installed.ts';
import { RUNTIMES, type Runtime } from './runtimes.ts';

/** A bound for what hangs. */
const PROGRAM_MS_MAX = 120_000;

const OBJECTS = `
import { createObjects, DurableObject } from 'ctx-storage/node';
class Counter extends DurableObject {
  async add() {
    const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
    await this.ctx.storage.put('count', count);
    await this.ctx.storage.setAlarm(Date.now() + 60_000);
    return count;
  }
  async rung() {
    return (await this.ctx.storage.get('rung')) ?? 0;
  }
  async alarm() {
    await this.ctx.storage.put('rung', (await this.rung()) + 1);
  }
}
const { env, clock, close } = await createObjects({ Counter }, { directory: 'objects' });
const counter = env.Counter.getByName('a');
const counts = await Promise.all([counter.add(), counter.add()]);
await clock.advance(60_000);
console.log(JSON.stringify([...counts, await counter.rung()]));
await close();
`;

const CONFIG = {
  name: 'visits',
  main: 'worker.ts',
  compatibility_date: '2026-07-01',
  durable_objects: { bindings: [{ name: 'VISITS', class_name: 'Visits' }] },
  migrations: [{ tag: 'v1', new_sqlite_classes: ['Visits'] }],
  kv_namespaces: [{ binding: 'CACHE', id: 'cache' }],
};

const WORKER = `
import { DurableObject } from 'cloudflare:workers';
export class Visits extends DurableObject {
  async add(): Promise<number> {
    const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
    await this.ctx.storage.put('count', count);
    return count;
  }
}
export default {
  async fetch(_request: Request, env): Promise<Response> {
    const count = await env.VISITS.getByName('a').add();
    await env.CACHE.put('last', String(count));
    return new Response((await env.CACHE.get('last')) + ' visits');
  },
};
`;

const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-runtimes-'));
let passed = 0;
let failed = 0;
try {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const packages = RUNTIMES.map(({ name, version }) => `${name.toLowerCase()}@${version}`);
  npmInstall(folder, ...packages, 'esbuild', 'ws');
  for (const runtime of RUNTIMES) {
    const program = join(folder, 'node_modules/.bin', runtime.name.toLowerCase());
    await check(runtime, 'its version', async () => {
      const said = execFileSync(program, ['--version'], { encoding: 'utf8' });
      if (!said.includes(runtime.version)) throw new Error(said);
    });
    // Each in a folder of its own, so that the second finds no data of the first.
    const project = mkdtempSync(join(folder, 'project-'));
    writeProject(project);
    await installPacked(project);
    await check(runtime, 'createObjects with a folder and an alarm, twice', () =>
      objectsTwice(program, runtime, project),
    );
    await check(runtime, 'dev with KV and an object', () => dev(program, runtime, project));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;

async function check({ name, version }: Runtime, title: string, run: () => Promise<void>) {
  try {
    await run();
    passed += 1;
    console.log(`${name} ${version}, ${title}: works`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name} ${version}, ${title}: ${String(error).slice(0, 2000)}`);
  }
}

function writeProject(project: string): void {
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  writeFileSync(join(project, 'objects.mjs'), OBJECTS);
  writeFileSync(join(project, 'wrangler.json'), JSON.stringify(CONFIG));
  writeFileSync(join(project, 'worker.ts'), WORKER);
}

async function objectsTwice(program: string, { parameters }: Runtime, project: string) {
  for (const wanted of ['[1,2,1]', '[3,4,2]']) {
    const said = execFileSync(program, [...parameters, 'objects.mjs'], {
      cwd: project,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
      timeout: PROGRAM_MS_MAX,
    });
    if (said.trim() !== wanted) throw new Error(`${said} instead of ${wanted}`);
  }
}

/** Starts the server twice: the second finds the data of the first. */
async function dev(program: string, { parameters }: Runtime, project: string): Promise<void> {
  const command = 'node_modules/ctx-storage/dist/cli.js';
  for (const wanted of ['1 visits', '2 visits']) {
    const server = spawn(program, [...parameters, command, 'dev', '--port', '0'], {
      cwd: project,
      env: { ...process.env, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: PROGRAM_MS_MAX,
    });
    try {
      const answer = await (await fetch(await addressOf(server))).text();
      if (answer !== wanted) throw new Error(`${answer} instead of ${wanted}`);
    } finally {
      const exited = server.exitCode === null ? once(server, 'exit') : null;
      server.kill('SIGTERM');
      await exited;
    }
  }
}

/** The address that the server prints. */
function addressOf(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const hear = (text: string) => {
      said += text;
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
      if (address !== undefined) resolve(address);
    };
    server.stdout!.setEncoding('utf8').on('data', hear);
    server.stderr!.setEncoding('utf8').on('data', hear);
    server.once('exit', () => reject(new Error(`The server has ended: ${said}`)));
  });
}
