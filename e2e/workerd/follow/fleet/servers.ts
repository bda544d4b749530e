// Starts the server of the followed object, in a process of its own: in Node, or workerd without anything before it.

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { build } from 'esbuild';
import type { FleetRoom } from './fleet-room.ts';

export type Platform = 'node' | 'workerd';

/** The methods of the object that the program calls. */
type Asked = Pick<FleetRoom, 'fill' | 'entriesOf' | 'clientNames' | 'size'>;

export interface FollowedServer {
  /** The address of the object, for requests. */
  readonly url: string;
  readonly pid: number;
  /** False once the process has ended. */
  readonly isAlive: boolean;
  /** Calls a method of the object, as another object would. */
  call<Name extends keyof Asked>(
    name: Name,
    ...args: Parameters<Asked[Name]>
  ): Promise<ReturnType<Asked[Name]>>;
  end(): Promise<void>;
}

const WORKERD = createRequire(import.meta.url)('workerd').default as string;
const COMPATIBILITY_DATE = '2026-07-30';
const LISTENING_FD = 3;

/** Starts a server that keeps its objects in the folder. */
export async function startServer(platform: Platform, folder: string): Promise<FollowedServer> {
  const { child, address } = await (platform === 'node' ? inNode(folder) : inWorkerd(folder));
  const ended = once(child, 'exit');
  const url = new URL('/room', address).href;
  return {
    url,
    pid: child.pid!,
    get isAlive() {
      return child.exitCode === null && child.signalCode === null;
    },
    async call(method, ...args) {
      const body = JSON.stringify({ method, args });
      const response = await fetch(url, { method: 'POST', body });
      if (!response.ok) throw new Error(`${method}: ${response.status} ${await response.text()}`);
      return ((await response.json()) as { result: never }).result;
    },
    async end() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

interface Started {
  readonly child: ChildProcess;
  readonly address: string;
}

async function inNode(folder: string): Promise<Started> {
  const child = fork(join(import.meta.dirname, 'server-process.ts'), [join(folder, 'objects')], {
    execArgv: ['--import', 'tsx'],
  });
  const [{ address }] = (await firstOf(child, once(child, 'message'))) as [{ address: string }];
  return { child, address };
}

const WORKER = `
  import { DurableObject } from 'cloudflare:workers';
  import { answer, followedFleetRoom } from './fleet-room.ts';
  export const Room = followedFleetRoom(DurableObject);
  export default {
    fetch: (request, env) =>
      answer(request, env.ROOM.getByName(new URL(request.url).pathname.slice(1))),
  };`;

async function inWorkerd(folder: string): Promise<Started> {
  await build({
    stdin: { contents: WORKER, resolveDir: import.meta.dirname, loader: 'ts' },
    outfile: join(folder, 'worker.js'),
    ...{ bundle: true, format: 'esm', logLevel: 'warning', external: ['cloudflare:*', 'node:*'] },
  });
  const objects = join(folder, 'objects');
  mkdirSync(objects);
  const config = join(folder, 'config.capnp');
  writeFileSync(config, configOf(objects));
  const child = spawn(WORKERD, ['serve', config, `--control-fd=${LISTENING_FD}`], {
    // It prints an error, with a stack, for each connection that breaks the rules of WebSocket.
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const lines = createInterface({ input: child.stdio[LISTENING_FD] as Readable });
  const [line] = (await firstOf(child, once(lines, 'line'))) as [string];
  const { port } = JSON.parse(line) as { port: number };
  return { child, address: `http://127.0.0.1:${port}` };
}

function configOf(objects: string): string {
  return `
    using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (name = "main", worker = .worker),
        (name = "disk", disk = (path = ${JSON.stringify(objects)}, writable = true)),
      ],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
    );
    const worker :Workerd.Worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = ${JSON.stringify(COMPATIBILITY_DATE)},
      compatibilityFlags = ["nodejs_compat"],
      durableObjectNamespaces = [(className = "Room", uniqueKey = "room", enableSql = true)],
      durableObjectStorage = (localDisk = "disk"),
      bindings = [(name = "ROOM", durableObjectNamespace = "Room")],
    );`;
}

/** Waits for the event. @throws if the process ends first */
function firstOf(child: ChildProcess, event: Promise<unknown[]>): Promise<unknown[]> {
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`The server ended before it listened: ${signal ?? code}`);
  });
  return Promise.race([event, ended]);
}
