// Runs workerd with its local storage in a directory: the class Mover, and the files of its objects.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Log, LogLevel, Miniflare } from 'miniflare';
import { ObjectIdFactory } from '../../../src/shared/contract/object-id.ts';
import type { Contents } from './contents.d.mts';

const MAIN = `
  import { DurableObject } from 'cloudflare:workers';
  import { canonicalize } from './canonical.mjs';
  import { fill, read } from './contents.mjs';
  export class Mover extends DurableObject {
    fill(count, alarmMs) { return fill(this.ctx.storage, count, alarmMs); }
    read() { return read(this.ctx.storage, canonicalize); }
    put(key, value) { return this.ctx.storage.put(key, value); }
    get(key) { return this.ctx.storage.get(key); }
    alarmTime() { return this.ctx.storage.getAlarm(); }
    setAlarm(timeMs) { return this.ctx.storage.setAlarm(timeMs); }
    abort() { this.ctx.abort(); }
    alarm() { this.ctx.storage.kv.put('rang', true); }
  }
  export default {
    async fetch(request, env) {
      const { name, method, args } = await request.json();
      try {
        return Response.json({ ok: (await env.MOVER.getByName(name)[method](...args)) ?? null });
      } catch (error) {
        return Response.json({ error: String(error) });
      }
    },
  };`;

/** Name of the script and the class: together the key that ids are made with. */
export const SCRIPT = 'app';
const UNIQUE_KEY = `${SCRIPT}-Mover`;
const ids = new ObjectIdFactory(UNIQUE_KEY);

export type Method = 'fill' | 'read' | 'put' | 'get' | 'alarmTime' | 'setAlarm' | 'abort';

export class Workerd {
  readonly #miniflare: Miniflare;
  readonly #directory: string;

  /** `directory` is where the objects of all classes are kept. */
  static async start(directory: string): Promise<Workerd> {
    const workerd = new Workerd(directory);
    await workerd.#miniflare.ready;
    return workerd;
  }

  private constructor(directory: string) {
    this.#directory = directory;
    const file = (name: string, path: string) => ({
      type: 'ESModule' as const,
      path: name,
      contents: readFileSync(join(import.meta.dirname, path), 'utf8'),
    });
    this.#miniflare = new Miniflare({
      name: SCRIPT,
      compatibilityDate: '2026-07-30',
      log: new Log(LogLevel.NONE),
      handleRuntimeStdio(stdout: Readable, stderr: Readable) {
        stdout.resume();
        stderr.resume();
      },
      modules: [
        { type: 'ESModule', path: 'main.mjs', contents: MAIN },
        file('canonical.mjs', '../conformance/corpus/canonical.mjs'),
        file('contents.mjs', 'contents.mjs'),
      ],
      modulesRoot: '/',
      durableObjects: { MOVER: { className: 'Mover', useSQLite: true } },
      durableObjectsPersist: directory,
    });
  }

  /** Calls a method of the object. @throws its error */
  async call(name: string, method: 'read'): Promise<Contents>;
  async call(name: string, method: Method, ...args: unknown[]): Promise<unknown>;
  async call(name: string, method: Method, ...args: unknown[]): Promise<unknown> {
    const body = JSON.stringify({ name, method, args });
    const response = await this.#miniflare.dispatchFetch('http://app/', { method: 'POST', body });
    const outcome = (await response.json()) as { ok?: unknown; error?: string };
    if (outcome.error !== undefined) throw new Error(outcome.error);
    return outcome.ok;
  }

  /** The object's database as it is on disk now. */
  databaseFile(name: string): Uint8Array {
    return new Uint8Array(readFileSync(databasePath(this.#directory, name)));
  }

  /** The log beside it; null when there is none. */
  walFile(name: string): Uint8Array | null {
    try {
      return new Uint8Array(readFileSync(`${databasePath(this.#directory, name)}-wal`));
    } catch {
      return null;
    }
  }

  close(): Promise<void> {
    return this.#miniflare.dispose();
  }
}

/** Puts a database where workerd looks for it. It must not be running. */
export function placeDatabase(directory: string, name: string, database: Uint8Array): void {
  mkdirSync(join(directory, UNIQUE_KEY), { recursive: true });
  writeFileSync(databasePath(directory, name), database);
}

/** Puts the list of scheduled alarms there. */
export function placeSchedule(directory: string, metadata: Uint8Array): void {
  writeFileSync(join(directory, UNIQUE_KEY, 'metadata.sqlite'), metadata);
}

export function idOf(name: string): string {
  return ids.fromName(name).toString();
}

function databasePath(directory: string, name: string): string {
  return join(directory, UNIQUE_KEY, `${idOf(name)}.sqlite`);
}
