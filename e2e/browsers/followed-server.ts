// For tests: an object on workerd that pages follow over the network. The server can be killed, and started again with
// what it has stored.

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Miniflare } from 'miniflare';
import { ANSWER, callsBy } from '../workerd/follow/rooms.ts';
import { startInWorkerd } from '../workerd/workerd.ts';

const MAIN = `
  import { DurableObject } from 'cloudflare:workers';
  import { followable } from '../../packages/follow/server/index.ts';
  ${ANSWER}
  export default {
    fetch: (request, env) => answer(env.ROOM.getByName(new URL(request.url).pathname), request),
  };`;

export class FollowedServer {
  readonly port: number;
  readonly #room: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'followed-'));
  #miniflare: Miniflare | undefined;

  /** `room`: the text of a module that exports the class Room, with `DurableObject` and `followable` in scope. */
  static async of(room: string): Promise<FollowedServer> {
    const probe = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => probe.once('listening', resolve));
    const { port } = probe.address() as { port: number };
    await new Promise((resolve) => probe.close(resolve));
    return new FollowedServer(port, room);
  }

  private constructor(port: number, room: string) {
    this.port = port;
    this.#room = room;
  }

  get isRunning(): boolean {
    return this.#miniflare !== undefined;
  }

  async start(): Promise<void> {
    this.#miniflare = await startInWorkerd({
      main: MAIN + this.#room,
      folder: fileURLToPath(new URL('.', import.meta.url)),
      classes: { ROOM: 'Room' },
      compatibilityDate: '2026-07-30',
      port: this.port,
      persist: this.#folder,
      isSilent: true,
    });
  }

  call(method: string, ...args: unknown[]): Promise<unknown> {
    return callsBy(this.#miniflare!, 'http://server/a')(method, ...args);
  }

  async stop(): Promise<void> {
    await this.#miniflare?.dispose();
    this.#miniflare = undefined;
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true });
  }
}
