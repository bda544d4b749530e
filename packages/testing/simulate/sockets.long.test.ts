// Tests lost sockets in a simulation: the fault, and a defect that no other fault shows.

import { expect, test } from 'vitest';
import type { WebSocket } from '../../../src/shared/calls/sockets/web-socket.ts';
import { DurableObject } from '../../../worker/realm/library/library.ts';
import { type SimulateOptions, SimulationFailed, simulate } from './simulate.ts';

const pause = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));

/** A room stores its guests as rows. Its defect is that it ignores the loss of a guest's connection. */
class Room extends DurableObject {
  constructor(ctx: ConstructorParameters<typeof DurableObject>[0], env: object) {
    super(ctx as never, env as never);
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS guest(id TEXT PRIMARY KEY)');
    // After a restart of the host, nobody is connected, so the rows are deleted.
    if (this.ctx.getWebSockets().length === 0) this.ctx.storage.sql.exec('DELETE FROM guest');
  }
  async fetch(request: Request): Promise<Response> {
    const id = new URL(request.url).searchParams.get('id')!;
    const { WebSocketPair } = globalThis as unknown as { WebSocketPair: new () => WebSocket[] };
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    this.ctx.acceptWebSocket(server, [id]);
    this.ctx.storage.sql.exec('INSERT INTO guest(id) VALUES (?)', id);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }
  async webSocketMessage(socket: WebSocket): Promise<void> {
    this.leave(socket);
    socket.close();
  }
  leave(socket: WebSocket): void {
    const [id] = this.ctx.getTags(socket);
    this.ctx.storage.sql.exec('DELETE FROM guest WHERE id = ?', id);
  }
  async absent(): Promise<number> {
    const present = new Set(
      this.ctx.getWebSockets().flatMap((socket) => this.ctx.getTags(socket as never)),
    );
    const guests = this.ctx.storage.sql.exec<{ id: string }>('SELECT id FROM guest').toArray();
    return guests.filter(({ id }) => !present.has(id)).length;
  }
}

class MendedRoom extends Room {
  async webSocketClose(socket: WebSocket): Promise<void> {
    this.leave(socket);
  }
}

const options: SimulateOptions<{ Room: typeof Room }> = {
  runs: 60,
  retries: 0,
  calls: ({ env, chance, unique }) => [
    async () => {
      const url = `https://room/?id=${unique()}`;
      const request = new Request(url, { headers: { upgrade: 'websocket' } });
      const response = (await env.Room.getByName('r').fetch(request)) as unknown as {
        webSocket: WebSocket;
      };
      const socket = response.webSocket;
      socket.accept();
      await pause(10);
      if (socket.readyState === 1 && chance(0.3)) socket.send('bye');
    },
  ],
  invariant: async ({ each }) => {
    for (const room of each('Room')) expect(await room.absent()).toBe(0);
  },
};

test('[SIMU19] a lost socket shows a defect that no other fault shows; the mended class passes', async () => {
  const failure = await simulate({ Room }, options).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(SimulationFailed);
  expect((failure as SimulationFailed).script.join('\n')).toContain('a socket is lost');
  await simulate({ Room }, { ...options, faults: { socketLost: 0 } });
  const { coverage } = await simulate({ Room: MendedRoom as typeof Room }, options);
  expect(coverage.faults.get('socketLost')).toBeGreaterThan(5);
});

test('[SIMU19] only classes with fetch have sockets to lose', async () => {
  class Plain extends DurableObject {
    async add(): Promise<void> {
      await this.ctx.storage.put('key', 1);
    }
  }
  const { coverage } = await simulate(
    { Plain },
    { runs: 10, calls: ({ env }) => [() => env.Plain.getByName('p').add()] },
  );
  expect(coverage.faults.has('socketLost')).toBe(false);
});
