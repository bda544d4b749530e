// Globals of code in the playground beyond a web worker's: workerd's classes for sockets, and the names under which
// `@cloudflare/workers-types` has the types of `ctx`.

import type * as html from '../../../src/shared/contract/html-rewriter.ts';
import type * as object from '../../../src/shared/contract/object.ts';
import type * as storage from '../../../src/shared/contract/storage.ts';

declare global {
  type AlarmInvocationInfo = object.AlarmInvocationInfo;
  type DurableObjectId = object.DurableObjectId;
  type DurableObjectJurisdiction = object.DurableObjectJurisdiction;
  type DurableObjectNamespace<T extends object = object> = object.DurableObjectNamespace<T>;
  type DurableObjectState<Props = unknown> = object.DurableObjectState<Props>;
  type DurableObjectStorage = storage.DurableObjectStorage;
  type DurableObjectStub<T extends object = object> = object.DurableObjectStub<T>;
  type DurableObjectTransaction = storage.Transaction;
  type SqlStorage = storage.SqlStorage;
  type SqlStorageCursor<Row extends storage.SqlRow> = storage.SqlStorageCursor<Row>;
  type SqlStorageValue = storage.SqlStorageValue;
  type SyncKvStorage = storage.SyncKvStorage;

  namespace Cloudflare {
    /** A namespace for each exported class of the code, by its name. */
    interface Env {}
  }
  interface Env extends Cloudflare.Env {}

  interface WebSocket {
    /** Begins to fire events. */
    accept(): void;
    /** Keeps a value of at most 16,384 bytes with the socket, across eviction of its object. */
    serializeAttachment(value: unknown): void;
    /** The last attachment; null when there was none. */
    deserializeAttachment(): unknown;
  }

  /** Two connected sockets. */
  class WebSocketPair {
    readonly 0: WebSocket;
    readonly 1: WebSocket;
    [Symbol.iterator](): ArrayIterator<WebSocket>;
  }

  /** A message and its automatic answer, for `ctx.setWebSocketAutoResponse`. */
  class WebSocketRequestResponsePair {
    constructor(request: string, response: string);
    readonly request: string;
    readonly response: string;
  }

  interface ResponseInit {
    /** One end of a `WebSocketPair`, with status 101. */
    webSocket?: WebSocket | null;
  }

  interface Response {
    readonly webSocket: WebSocket | null;
  }

  interface Headers {
    getAll(name: 'Set-Cookie' | 'set-cookie'): string[];
  }

  interface SubtleCrypto {
    /** Takes the same time, whichever bytes differ. */
    timingSafeEqual(a: BufferSource, b: BufferSource): boolean;
  }

  interface Scheduler {
    /** Settles after so many milliseconds. */
    wait(delayMs: number, options?: { signal?: AbortSignal }): Promise<void>;
  }

  class IdentityTransformStream extends TransformStream<Uint8Array, Uint8Array> {}

  type HTMLRewriter = html.HTMLRewriter;
  /** Changes HTML while it streams. */
  const HTMLRewriter: new () => HTMLRewriter;

  class FixedLengthStream extends IdentityTransformStream {
    constructor(length: number | bigint);
  }
}

declare module '../../../src/shared/contract/object.ts' {
  // Sockets of objects have a web socket's further members, so that they may be passed where one is expected.
  interface ObjectWebSocket {
    readonly url: string;
    readonly protocol: string;
    readonly extensions: string;
    readonly bufferedAmount: number;
    onopen: ((event: Event) => void) | null;
    readonly CONNECTING: 0;
    readonly OPEN: 1;
    readonly CLOSING: 2;
    readonly CLOSED: 3;
  }
}
