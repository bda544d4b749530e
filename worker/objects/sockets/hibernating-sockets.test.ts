import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { turns } from '../../../packages/testing/page/turns.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { WebSocketRequestResponsePair } from '../../../src/shared/calls/sockets/install.ts';
import {
  socketParts,
  type WebSocket,
  WebSocketPair,
} from '../../../src/shared/calls/sockets/web-socket.ts';
import type { DurableObjectState } from '../instance/durable-object-state.ts';

let host: TestHost;
let log: unknown[];
let made: number;
let onMessage: (room: Room, socket: WebSocket, message: string | ArrayBuffer) => unknown;

interface Named {
  readonly name: string;
}

class Room {
  readonly ctx: DurableObjectState;
  readonly sockets = new Set<WebSocket>();

  constructor(ctx: DurableObjectState) {
    this.ctx = ctx;
    made += 1;
  }

  join(tags: string[], name: string): WebSocket {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server, tags);
    server.serializeAttachment({ name });
    return client;
  }

  webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): unknown {
    this.sockets.add(socket);
    return onMessage(this, socket, message);
  }

  webSocketClose(socket: WebSocket, code: number, reason: string, wasClean: boolean): void {
    const open = this.ctx.getWebSockets().length;
    log.push(['closed', code, reason, wasClean, socket.readyState, open]);
  }
}

beforeEach(async () => {
  log = [];
  made = 0;
  onMessage = (_room, socket, message) => {
    const { name } = socket.deserializeAttachment() as Named;
    socket.send(`${name}: ${typeof message === 'string' ? message : new Uint8Array(message)}`);
  };
  host = await createTestHost({}, { Room });
});
afterEach(() => host.close());

const inRoom = <T>(event: (room: Room) => T) =>
  host.host.deliver(host.address(), ({ object }) => event(object as unknown as Room));

/** A client of the room, which notes its messages. */
async function join(name: string, ...tags: string[]): Promise<[WebSocket, unknown[]]> {
  const client = await inRoom((room) => room.join(tags, name));
  const heard: unknown[] = [];
  client.addEventListener('message', (event) => heard.push((event as MessageEvent).data));
  client.addEventListener('close', (event) => {
    const { code, reason } = event as CloseEvent;
    heard.push([code, reason]);
  });
  client.accept();
  return [client, heard];
}

/** Lets messages travel; sockets of no object use the system's timers. */
async function settle(): Promise<void> {
  await turns(10);
  await host.turns(20);
  await turns(10);
}

describe('sockets of an object', () => {
  test('[WS11] a message is an event of the object, and finds the socket with its attachment', async () => {
    const [client, heard] = await join('ann');
    client.send('hi');
    client.send(new Uint8Array([1, 2, 3]));
    await settle();
    expect(heard).toEqual(['ann: hi', 'ann: 1,2,3']);
    await inRoom((room) => expect(room.ctx.getWebSockets()).toEqual([...room.sockets]));
  });

  test('[WS26] a client whose messages wait for a busy object is held back until they are taken, and others are not', async () => {
    const [[client, heard], [other]] = [await join('ann'), await join('bob')];
    let go = () => {};
    const busy = inRoom(({ ctx }) =>
      ctx.blockConcurrencyWhile(() => new Promise<void>((resolve) => (go = resolve))),
    );
    await settle();
    const isHeld = (socket: WebSocket) => socketParts(socket)!.end.isHeld;
    const held: boolean[] = [];
    for (const text of ['a', 'b', 'c', 'd', 'e']) {
      client.send(text);
      held.push(isHeld(client));
    }
    expect(held).toEqual([true, true, true, true, true]);
    expect(isHeld(other)).toBe(false);
    go();
    await busy;
    await settle();
    expect(isHeld(client)).toBe(false);
    expect(heard).toEqual(['a', 'b', 'c', 'd', 'e'].map((text) => `ann: ${text}`));
  });

  test('[WS26] a reset of a busy object holds nobody back any more', async () => {
    const [client, heard] = await join('ann');
    let abort = () => {};
    const busy = inRoom(({ ctx }) => {
      abort = () => ctx.abort('enough');
      return ctx.blockConcurrencyWhile(() => new Promise(() => {}));
    });
    busy.catch(() => {});
    await settle();
    for (let i = 0; i < 6; i++) client.send('x');
    expect(socketParts(client)!.end.isHeld).toBe(true);
    expect(abort).toThrow('enough');
    await settle();
    expect([socketParts(client)!.end.isHeld, heard.at(-1)]).toEqual([false, [1006, '']]);
  });

  test('[WS12] sockets outlive the eviction of their object: a message wakes it', async () => {
    const [client, heard] = await join('ann', 'x', 'y');
    await inRoom((room) => room.ctx.storage.put('kept', true));
    await host.advance(20_000);
    client.send('still there?');
    await settle();
    expect(heard).toEqual(['ann: still there?']);
    expect(made).toBe(2);
    await inRoom(({ ctx }) => {
      const [socket, ...others] = ctx.getWebSockets('y');
      expect(others).toEqual([]);
      expect(ctx.getTags(socket)).toEqual(['x', 'y']);
    });
  });

  test('[WS13] tags choose among sockets; there are at most 10, of at most 256 characters', async () => {
    await join('ann', 'red', 'all');
    await join('bob', 'blue', 'all');
    await inRoom(({ ctx }) => {
      expect(['red', 'all', 'green'].map((tag) => ctx.getWebSockets(tag).length)).toEqual([
        1, 2, 0,
      ]);
      expect(ctx.getWebSockets()).toHaveLength(2);
      const accept = (tags: unknown) => ctx.acceptWebSocket(new WebSocketPair()[0], tags);
      const tags = Array.from({ length: 10 }, (_, i) => `${i}`.repeat(256));
      expect(() => accept([...tags, 'x'])).toThrow(/more than 10/);
      expect(() => accept(['t'.repeat(257)])).toThrow(/longer than the max/);
      expect(ctx.getWebSockets()).toHaveLength(2);
      accept([...tags, tags[0]]);
      expect(tags.map((tag) => ctx.getTags(ctx.getWebSockets(tag)[0]))).toEqual(
        tags.map(() => tags),
      );
      expect(() => ctx.getTags(new WebSocketPair()[0])).toThrow(/acceptWebSocket/);
      expect(() => ctx.acceptWebSocket({})).toThrow(/parameter 1 is not of type/);
      const { 0: taken } = new WebSocketPair();
      ctx.acceptWebSocket(taken);
      expect(() => ctx.acceptWebSocket(taken)).toThrow(/already accepted/);
      expect(() => taken.accept()).toThrow(/after enabling hibernation/);
    });
  });

  test('[WS13] without a tag, the newest socket is listed first, with one the oldest', async () => {
    const [ann] = await join('ann', 'all');
    await join('bob', 'all');
    await join('eve', 'all');
    const names = (tag?: string) =>
      inRoom(({ ctx }) =>
        ctx.getWebSockets(tag).map((socket) => (socket.deserializeAttachment() as Named).name),
      );
    expect(await names()).toEqual(['eve', 'bob', 'ann']);
    expect(await names('all')).toEqual(['ann', 'bob', 'eve']);
    ann.close();
    await host.advance(20_000);
    expect(await names()).toEqual(['eve', 'bob']);
  });

  test('[WS14] a closed socket is told to the object, answered, and listed no more', async () => {
    const [client, heard] = await join('ann');
    client.close(4003, 'leaving');
    await settle();
    expect(log).toEqual([['closed', 4003, 'leaving', true, 2, 1]]);
    expect(heard).toEqual([[4003, 'leaving']]);
    await inRoom(({ ctx }) => expect(ctx.getWebSockets()).toEqual([]));
    expect(client.readyState).toBe(3);
  });

  test('[WS14] the object may close a socket, and hears the answer', async () => {
    const [client, heard] = await join('ann');
    onMessage = (_room, socket) => {
      socket.close(3001, 'as asked');
      try {
        socket.send('late');
      } catch (error) {
        log.push(String(error));
      }
    };
    client.send('close me');
    await settle();
    expect(heard).toEqual([[3001, 'as asked']]);
    expect(log).toEqual([
      "TypeError: Can't call WebSocket send() after close().",
      ['closed', 3001, 'as asked', true, 3, 1],
    ]);
  });

  test('[WS16] a reset of the object ends its sockets: clients hear 1006', async () => {
    const [client, heard] = await join('ann');
    onMessage = ({ ctx }, _socket, message) => {
      log.push(message);
      ctx.abort('enough');
    };
    for (const message of ['x', 'on its way']) client.send(message);
    await settle();
    expect([heard, log]).toEqual([[[1006, '']], ['x']]);
    await inRoom(({ ctx }) => expect(ctx.getWebSockets()).toEqual([]));
  });

  test('[WS17] one message can be answered without waking the object', async () => {
    const [client, heard] = await join('ann');
    await inRoom(({ ctx }) => {
      ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'));
      void ctx.storage.put('kept', true);
    });
    await host.advance(20_000);
    const before = made;
    client.send('ping');
    await settle();
    expect([heard, made]).toEqual([['pong'], before]);
    await inRoom(({ ctx }) => {
      const [socket] = ctx.getWebSockets();
      expect(ctx.getWebSocketAutoResponseTimestamp(socket)).toBeInstanceOf(Date);
      expect(ctx.getWebSocketAutoResponse()?.response).toBe('pong');
      ctx.setWebSocketAutoResponse();
      expect(ctx.getWebSocketAutoResponse()).toBeNull();
      expect(() => ctx.setWebSocketAutoResponse('ping')).toThrow(
        /takes a WebSocketRequestResponsePair/,
      );
    });
  });

  test('[WS17] a message and its answer have at most 2,048 characters each', () => {
    const [most, more] = ['é'.repeat(2048), 'é'.repeat(2049)];
    expect(new WebSocketRequestResponsePair(most, most).request).toBe(most);
    expect(() => new WebSocketRequestResponsePair(more, '')).toThrow(
      new RangeError(
        'Request cannot be larger than 2048 bytes. A request of size 2049 was provided.',
      ),
    );
    expect(() => new WebSocketRequestResponsePair('', more)).toThrow(
      new RangeError(
        'Response cannot be larger than 2048 bytes. A response of size 2049 was provided.',
      ),
    );
  });

  test('[WS20] when it was answered so is told by the clock of the host', async () => {
    const [client, heard] = await join('ann');
    await inRoom(({ ctx }) => {
      ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'));
    });
    await host.advance(5000);
    client.send('ping');
    await vi.waitFor(() => expect(heard).toEqual(['pong']));
    const answeredMs = await inRoom(({ ctx }) => {
      const [socket] = ctx.getWebSockets();
      return ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime();
    });
    expect(answeredMs).toBe(host.now());
  });

  test("[WS18] an object's messages wait for the flush of its earlier writes", async () => {
    const [client, heard] = await join('ann');
    onMessage = ({ ctx }, socket) => {
      void ctx.storage.put('key', 1);
      socket.send('written');
    };
    host.holdFlushes();
    client.send('write');
    await settle();
    expect(heard).toEqual([]);
    host.releaseFlushes();
    await settle();
    expect(heard).toEqual(['written']);
  });

  test('[WS19] a handler that throws is reported, and leaves socket and object as they are', async () => {
    const [client, heard] = await join('ann');
    const reports: unknown[] = [];
    const { error } = console;
    console.error = (...report: unknown[]) => reports.push(report);
    const answer = onMessage;
    onMessage = () => {
      throw new RangeError('mine');
    };
    client.send('x');
    await settle();
    console.error = error;
    expect(String(reports)).toContain('mine');
    onMessage = answer;
    client.send('y');
    await settle();
    expect([heard, made]).toEqual([['ann: y'], 1]);
  });

  test('[WS19] the end of the host is no error of a handler that runs', async () => {
    const [client] = await join('ann');
    const report = vi.spyOn(console, 'error').mockImplementation(() => {});
    onMessage = () => new Promise(() => {});
    client.send('x');
    await settle();
    await host.host.close();
    await settle();
    expect(report.mock.calls).toEqual([]);
    report.mockRestore();
  });

  test('[WS25] a closed socket is forgotten while the instance lives on, and an open one is not', {
    tags: 'long',
  }, async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    // The handlers of this class keep the sockets of messages, so none is sent.
    const closed: WeakRef<WebSocket>[] = [];
    const newest = () =>
      inRoom((room) => {
        closed.push(new WeakRef(room.ctx.getWebSockets()[0]!));
      });
    for (let i = 0; i < 20; i++) {
      const [client] = await join('ann');
      await newest();
      client.close(1000);
      await settle();
    }
    const open = await inRoom((room) => {
      room.join([], 'bob');
      return new WeakRef(room.ctx.getWebSockets()[0]!);
    });
    for (let i = 0; i < 5; i++) {
      await settle();
      collect();
    }
    expect(closed.filter((socket) => socket.deref() !== undefined).length).toBeLessThan(3);
    expect(open.deref()).toBeDefined();
    expect(made).toBe(1);
  });
});
