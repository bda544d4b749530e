// For tests: a server of followable objects in the same process, and connections to them without a network.

import type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { createObjects, evictDurableObject } from '../../../worker/start/entries/node-objects.ts';
import { Capture, type CaptureOptions } from '../capture/capture.ts';
import type { LinkSocket } from '../copy/link.ts';
import { followableOn } from '../server/followable.ts';
import type { FollowableOptions } from '../server/options.ts';
import { PLATFORM } from '../server/platform.ts';
import type { ServedEnvironment } from '../server/served-object.ts';

type ObjectClass = new (ctx: never, env: never) => object;

/** Connections to an object, which may fail. */
export interface Connections {
  /** Opens a connection, as `FollowOptions.connect` does. */
  connect(): LinkSocket;
  /** While this is true, new connections fail; setting it to true ends open connections. */
  isDown: boolean;
  /** Ends every open connection. */
  drop(): void;
}

export interface FollowedServer extends Connections {
  /** Calls a method, as another client of the server. */
  call(method: string, ...args: unknown[]): Promise<unknown>;
  restart(): Promise<void>;
  /** Ends the instance of the object in order, so that its sockets stay open. */
  evict(): Promise<void>;
  /** Returns a handle of the object. */
  storage(): Promise<StorageHandle>;
  close(): Promise<void>;
}

/** Makes connections with `ask`, which sends the request that begins one. */
export function connectionsOf(ask: ConstructorParameters<typeof ServerSocket>[0]): Connections {
  const open = new Set<ServerSocket>();
  let isDown = false;
  const drop = () => {
    for (const socket of open) socket.close(1000);
    open.clear();
  };
  return {
    drop,
    connect() {
      if (isDown) throw new Error('The server is down.');
      const socket = new ServerSocket(ask);
      open.add(socket);
      socket.addEventListener('close', () => open.delete(socket));
      return socket;
    },
    get isDown() {
      return isDown;
    },
    set isDown(unreachable: boolean) {
      isDown = unreachable;
      if (unreachable) drop();
    },
  };
}

/**
 * Starts a server with one object of the class. `bounds` may reduce the number of notes, the size of parts and the history,
 * and `platform` replace the clock.
 */
export async function followedServer(
  Class: ObjectClass,
  options: Partial<FollowableOptions> & Pick<FollowableOptions, 'methods'>,
  bounds: Pick<CaptureOptions, 'notesMax' | 'partBytes'> & {
    readonly history?: HistoryLimits;
  } = {},
  platform: Partial<typeof PLATFORM> = {},
): Promise<FollowedServer> {
  const { history, ...captured } = bounds;
  const environment: ServedEnvironment = {
    ...PLATFORM,
    ...platform,
    capture: (storage, life, onWrite) => new Capture(storage, { life, onWrite, ...captured }),
  };
  const given = { authorize: () => 'someone', version: 1, ...options };
  const Room = followableOn(environment, Class, given as never);
  const objects = await createObjects({ Room: Room as never }, history && { history });
  const stub = () =>
    (objects.env as { Room: { getByName(name: string): Stub } }).Room.getByName('a');
  return Object.assign(
    connectionsOf((headers) => stub().fetch('http://server/', { headers })),
    {
      call: (method: string, ...args: unknown[]) => stub()[method]!(...args),
      async restart() {
        const storage = await this.storage();
        await storage.abort('restarted by the test').catch(() => {});
      },
      evict: () => evictDurableObject(stub() as never),
      storage: () => objects.storage(stub() as never),
      close: () => objects.close(),
    },
  );
}

type Stub = { fetch(url: string, init: RequestInit): Promise<Response> } & Record<
  string,
  (...args: unknown[]) => Promise<unknown>
>;

/** The members of a server's WebSocket that this file uses. */
interface Accepted extends EventTarget {
  accept(): void;
  send(data: Uint8Array | string): void;
  close(code?: number, reason?: string): void;
}

/** A client's WebSocket, which opens when the response of the object has come. */
export class ServerSocket extends EventTarget implements LinkSocket {
  binaryType = '';
  readyState = 0;
  #accepted: Accepted | undefined;

  /** `ask` sends the request with the given headers. */
  constructor(ask: (headers: Record<string, string>) => Promise<object>) {
    super();
    ask({ Upgrade: 'websocket', 'Sec-WebSocket-Protocol': 'ctx-storage-follow' }).then(
      (response) => this.#opened(response),
      () => this.close(),
    );
  }

  send(data: Uint8Array | string): void {
    this.#accepted?.send(data);
  }

  close(code?: number, reason?: string): void {
    if (this.readyState === 3) return;
    this.#accepted?.close(code, reason);
    this.#ended(code, reason);
  }

  #ended(code?: number, reason?: string): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event('close'), { code, reason }));
  }

  #opened(response: object): void {
    const socket = (response as { webSocket?: Accepted | null }).webSocket;
    if (socket == null || this.readyState !== 0) {
      this.close();
      return;
    }
    this.#accepted = socket;
    socket.addEventListener('message', ({ data }: Event & { data?: unknown }) => {
      const copied = data instanceof ArrayBuffer ? data.slice(0) : data;
      this.dispatchEvent(new MessageEvent('message', { data: copied }));
    });
    socket.addEventListener('close', (event) => {
      const { code, reason } = event as CloseEvent;
      // Miniflare's socket throws at a second close.
      if (this.readyState !== 3) socket.close();
      this.#ended(code, reason);
    });
    socket.accept();
    this.readyState = 1;
    this.dispatchEvent(new Event('open'));
  }
}
