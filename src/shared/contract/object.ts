// Declares the types of stateful objects: namespaces, ids and stubs for their callers, and `ctx` for the object's own
// code. They serve both pages and the worker, and have the names of workerd's types.
//
// The type of a stub follows from its class: methods return promises, whose members can be used before they resolve;
// functions and RpcTargets in arguments and results become functions and stubs of the other side; all other values are
// cloned.

import type { RpcTarget } from './rpc-target.ts';
import type { DurableObjectStorage } from './storage.ts';

/** The id of an object among those of its class. Its namespace makes it. */
export interface DurableObjectId {
  /** Returns the id as 64 hexadecimal digits. */
  toString(): string;
  equals(other: DurableObjectId): boolean;
  /** The name from which the id was made, if it has at most 1,024 bytes; absent otherwise. */
  readonly name?: string;
  readonly jurisdiction?: string;
}

/** A jurisdiction. Ids keep it, but it has no effect, because everything is stored on this device. */
export type DurableObjectJurisdiction = 'eu' | 'fedramp' | 'fedramp-high' | 'us';

/** Options that are accepted for programs written for Cloudflare's network, and have no effect. */
export interface GetOptions {
  locationHint?: string;
  routingMode?: string;
  retry?: object;
}

/** The objects of one class. Every method returns at once and opens no object. */
export interface DurableObjectNamespace<T extends object = object> {
  /** Returns a new random id. */
  newUniqueId(options?: { jurisdiction?: DurableObjectJurisdiction }): DurableObjectId;
  /** Returns the id of a name, which is always the same. */
  idFromName(name: string): DurableObjectId;
  /** Returns the id with these digits. @throws INVALID_ARGUMENT for an id of another class */
  idFromString(id: string): DurableObjectId;
  /** Returns a stub of the object. @throws INVALID_ARGUMENT for an id of another class */
  get(id: DurableObjectId, options?: GetOptions): DurableObjectStub<T>;
  /** Does the same as `get(idFromName(name))`. */
  getByName(name: string, options?: GetOptions): DurableObjectStub<T>;
  /** Returns a namespace of the same objects, which puts the jurisdiction into their ids. */
  jurisdiction(jurisdiction: DurableObjectJurisdiction): DurableObjectNamespace<T>;
}

/** A short name of the type, as in `env: { COUNTER: Namespace<Counter> }`. */
export type Namespace<T extends object = object> = DurableObjectNamespace<T>;

/**
 * The stub of an object, by which its callers reach it.
 *
 * It has the public methods of the class, each of which returns a promise; a getter is read with `await stub.name`.
 * Calls of one stub arrive in the order in which they were made.
 *
 * A stub of a page or program outlives resets of its object, and the worker: calls under way at a reset reject, and the
 * next one reaches the next instance. In the code of an object or a Worker, all later calls reject too, as on workerd.
 */
export type DurableObjectStub<T extends object = object> = Callable<T, ReservedMember> & {
  readonly id: DurableObjectId;
  readonly name?: string;
  /** Delivers the request to the object's `fetch`. Bodies are streamed both ways. */
  fetch(input: Request | string | URL, init?: RequestInit): Promise<ObjectResponse>;
  /**
   * Calls back once, when the instance of the object that has answered this stub, or answers it next, has ended, or
   * when the connection to this instance has ended. Everything that was passed to the instance is then lost, such as
   * the function of a subscription, so pass it again.
   *
   * The error says why. Until then the object stays in memory, and so does an object that waits for the callback. Calls
   * back at once if the instance has been reset already.
   */
  onRpcBroken(callback: (error: unknown) => void): void;
};

/** A response, which has a socket if it answers a request to upgrade. */
export type ObjectResponse = Response & { readonly webSocket?: ObjectWebSocket | null };

/**
 * The result of a call for an RpcTarget or function: its methods and properties as promises. An object that holds a
 * stub stays in memory. A stub in the arguments of a call ends with the call, so keep its `dup()`.
 */
export type RpcStub<T extends object> = Callable<T, Brand> & {
  /** Returns another stub of the same target, which is disposed on its own. */
  dup(): RpcStub<T>;
  /**
   * Calls back once, with the reason, when all later calls of this stub will fail: the connection was lost, or the
   * target has ended together with its object or page. If that has happened already, calls back at once. Never calls
   * back after the stub was disposed.
   */
  onRpcBroken(callback: (error: unknown) => void): void;
  /** Releases the target on the other side. Without this call, that happens when the stub is garbage collected. */
  [Symbol.dispose](): void;
  /** For types only: the type of the target. */
  readonly [STANDS_FOR]: T;
};

declare const STANDS_FOR: unique symbol;

/** The members that have another meaning on a stub, or that only the runtime may call. */
type ReservedMember =
  | 'id'
  | 'name'
  | 'fetch'
  | 'connect'
  | 'dup'
  | 'onRpcBroken'
  | 'alarm'
  | 'webSocketMessage'
  | 'webSocketClose'
  | 'webSocketError'
  | 'then'
  | Brand;

/** The members by which workerd's types distinguish their classes. */
export type Brand = '__DURABLE_OBJECT_BRAND' | '__RPC_TARGET_BRAND';

type AnyFunction = (...parameters: never[]) => unknown;

/** The methods and getters of a class as promises, and a call signature if it is a function. */
export type Callable<T extends object, Reserved extends string> = {
  readonly [K in Exclude<keyof T, Reserved | symbol | number>]: T[K] extends AnyFunction
    ? Method<T[K]>
    : RpcPromise<Awaited<T[K]>>;
} & (T extends AnyFunction ? Method<T> : unknown);

type Method<F extends AnyFunction> = F extends (...parameters: infer P) => infer R
  ? (...parameters: RpcArguments<P>) => RpcPromise<Awaited<R>>
  : never;

/**
 * The promise of a call. The members of its result can be used before it resolves: `await stub.room('a').topic()` calls
 * a method of the target that `room` returns, and `await stub.status().open` reads a property. A function that a call
 * returns must be awaited before it is called.
 */
export type RpcPromise<R> = Promise<RpcResult<R>> & ([R] extends [never] ? unknown : Pipelined<R>);

/** The members that can be used before the promise resolves, which only stubs and plain objects have. */
type Pipelined<R> = R extends RpcTarget | TargetOfWorkerd
  ? Callable<R, Brand | PromiseMember>
  : R extends AnyObjectStub
    ? Omit<R, PromiseMember | 'id' | 'name' | 'fetch'>
    : R extends object
      ? R extends Opaque
        ? unknown
        : string extends keyof R
          ? unknown
          : {
              readonly [K in Exclude<keyof R, PromiseMember | symbol | number>]: NonNullable<
                R[K]
              > extends AnyFunction
                ? Method<NonNullable<R[K]>>
                : RpcPromise<Awaited<R[K]>>;
            }
      : unknown;

type PromiseMember = 'then' | 'catch' | 'finally';

/** The types of objects whose members cannot be used before they arrive. */
type Opaque =
  | Cloned
  | AnyFunction
  | readonly unknown[]
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>;

type RpcArguments<P extends readonly unknown[]> = { [I in keyof P]: RpcArgument<P[I]> };

/** The types that may be passed where the object receives an `A`. */
export type RpcArgument<A> =
  A extends RpcStub<infer T>
    ? A | T
    : A extends Cloned | RpcTarget | TargetOfWorkerd | AnyObjectStub
      ? A
      : A extends (...parameters: infer P) => infer R
        ? (...parameters: P) => R | Awaited<R>
        : A extends Map<infer K, infer V>
          ? Map<RpcArgument<K>, RpcArgument<V>>
          : A extends Set<infer V>
            ? Set<RpcArgument<V>>
            : A extends object
              ? { [K in keyof A]: RpcArgument<A[K]> }
              : A;

/** The type that the other side gets for an `R`. */
export type RpcResult<R> = R extends RpcStub<infer _> | AnyObjectStub
  ? R
  : R extends RpcTarget | TargetOfWorkerd
    ? RpcStub<R>
    : R extends AnyFunction
      ? RpcStub<R>
      : R extends Cloned
        ? R
        : R extends Map<infer K, infer V>
          ? Map<RpcResult<K>, RpcResult<V>>
          : R extends Set<infer V>
            ? Set<RpcResult<V>>
            : R extends object
              ? { [K in keyof R]: RpcResult<R[K]> }
              : R;

/** The type of an RpcTarget in workerd's types. */
interface TargetOfWorkerd {
  readonly __RPC_TARGET_BRAND: never;
}

/** A stub of any class. */
type AnyObjectStub = Pick<DurableObjectStub, 'id' | 'fetch'>;

/** The types of values that arrive unchanged. */
type Cloned =
  | Date
  | RegExp
  | Error
  | ArrayBuffer
  | ArrayBufferView
  | Blob
  | Headers
  | Request
  | Response
  | ReadableStream
  | WritableStream;

/** Why an alarm handler runs. */
export interface AlarmInvocationInfo {
  /** Whether an earlier run for the same alarm failed. */
  readonly isRetry: boolean;
  /** How many runs for the alarm have failed so far. */
  readonly retryCount: number;
  /** The time at which the alarm was due, in milliseconds since the epoch. */
  readonly scheduledTime: number;
}

/** The type of `ctx`, by which an object reaches its own storage, sockets and facets. */
export interface DurableObjectState<Props = unknown> {
  readonly id: DurableObjectId;
  readonly storage: DurableObjectStorage;
  /** The props of a facet's class, given with `{ props }`; for every other object an empty object. */
  readonly props: Props;
  /** The classes of the worker, by name. A served class is a namespace, too. */
  readonly exports: Readonly<Record<string, LoopbackExport>>;
  /** Objects inside this one, each with storage of its own. */
  readonly facets: DurableObjectFacets;
  /** Runs the callback while no other event is delivered; a failure resets the object. */
  blockConcurrencyWhile<T>(callback: () => T | PromiseLike<T>): Promise<T>;
  /** Keeps the object in memory until the promise settles. */
  waitUntil(work: Promise<unknown>): void;
  /**
   * Resets the object at once. With `retryAlarm: false`, an alarm whose handler is ended by the reset does not run
   * again.
   */
  abort(reason?: string, options?: { retryAlarm?: boolean }): never;
  /**
   * Accepts the socket: its messages become events of the object (`webSocketMessage`), which may be evicted between
   * them. A socket may have 10 tags of at most 256 characters.
   */
  acceptWebSocket(socket: SocketLike, tags?: string[]): void;
  /** Returns the open sockets that the object has accepted, or only those with the tag. */
  getWebSockets(tag?: string): ObjectWebSocket[];
  getTags(socket: SocketLike): string[];
  /**
   * Sets the message that is answered automatically, without an event. Without an argument, no message is answered
   * automatically.
   */
  setWebSocketAutoResponse(pair?: AutoResponse): void;
  getWebSocketAutoResponse(): AutoResponse | null;
  /** Returns when a message of the socket was last answered automatically. */
  getWebSocketAutoResponseTimestamp(socket: SocketLike): Date | null;
  /** Stores the timeout, which has no effect, because handlers have no time limit here. */
  setHibernatableWebSocketEventTimeout(timeoutMs?: number): void;
  getHibernatableWebSocketEventTimeout(): number | null;
}

/** A class that facets can have. */
export type DurableObjectClass<_T extends object = object> = {};

/** A class of the worker in `ctx.exports`. Calling it returns the class with `ctx.props` for facets. */
export type LoopbackExport = DurableObjectNamespace &
  ((options: { props?: object }) => DurableObjectClass);

/** The facets of one object, by name; a name has at most 256 bytes of UTF-8. */
export interface DurableObjectFacets {
  /**
   * A stub of the facet. Its first call starts the facet, unless it runs, as the callback says. The stub
   * cannot be stored or sent.
   */
  get<T extends object = object>(
    name: string,
    getStartupOptions: () => FacetStartupOptions<T> | Promise<FacetStartupOptions<T>>,
  ): FacetStub<T>;
  /** Resets the facet: calls of its stubs reject with the reason. */
  abort(name: string, reason: unknown): void;
  /** Resets the facet and removes all it has stored, with its own facets. */
  delete(name: string): void;
  /** Replaces the facet `dst` by a copy of the data of `src` and its own facets. */
  clone(src: string, dst: string): void;
}

/** How a facet starts. */
export interface FacetStartupOptions<T extends object = object> {
  /** `ctx.id` of the facet. @default the id of the object to which the facet belongs */
  id?: DurableObjectId | string;
  /** A class of `ctx.exports`, or the result of calling one with `{ props }`. */
  class: DurableObjectClass<T>;
}

/** A stub of a facet, which only the object that the facet belongs to has. */
export type FacetStub<T extends object = object> = Callable<
  T,
  Exclude<ReservedMember, 'id' | 'name'>
> & {
  fetch(input: Request | string | URL, init?: RequestInit): Promise<ObjectResponse>;
};

/** The members of every WebSocket, whatever types describe it. */
export interface SocketLike {
  send(message: string | ArrayBuffer | ArrayBufferView<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
}

/** A message and its automatic answer, such as a `WebSocketRequestResponsePair`. */
export interface AutoResponse {
  readonly request: string;
  readonly response: string;
}

/** The events of an `ObjectWebSocket`. */
export interface ObjectWebSocketEventMap {
  /** `data` is a Blob only if `binaryType` is `'blob'`. */
  message: MessageEvent<string | ArrayBuffer | Blob>;
  close: CloseEvent;
  error: Event;
}

/**
 * A socket of object code and its callers. Before it is used, it must be passed to `ctx.acceptWebSocket`, or its
 * `accept()` must be called.
 */
export interface ObjectWebSocket extends EventTarget, SocketLike {
  /** The state of the socket: 1 is open, 2 closing, 3 closed. */
  readonly readyState: 0 | 1 | 2 | 3;
  /** The type in which a socket with listeners delivers binary messages. */
  binaryType: 'arraybuffer' | 'blob';
  onmessage: ((event: ObjectWebSocketEventMap['message']) => void) | null;
  onclose: ((event: ObjectWebSocketEventMap['close']) => void) | null;
  onerror: ((event: ObjectWebSocketEventMap['error']) => void) | null;
  addEventListener<K extends keyof ObjectWebSocketEventMap>(
    type: K,
    listener: (event: ObjectWebSocketEventMap[K]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<K extends keyof ObjectWebSocketEventMap>(
    type: K,
    listener: (event: ObjectWebSocketEventMap[K]) => void,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | EventListenerOptions,
  ): void;
  /**
   * Begins to fire events. With `allowHalfOpen`, a close is answered only by code, which may send messages before that.
   */
  accept(options?: { allowHalfOpen?: boolean }): void;
  /** Keeps a value of at most 16,384 bytes with the socket, across eviction of its object. */
  serializeAttachment(value: unknown): void;
  /** Returns the last attachment; null when there was none. */
  deserializeAttachment(): unknown;
}
