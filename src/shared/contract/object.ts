// Stateful objects as types: namespaces, ids and stubs as their callers have them, `ctx` as the
// object has it. The same on a page and in the worker, and the same names as in workerd's types.
//
// How a class becomes its stub: methods give promises, whose members can be used before they arrive;
// functions and RpcTargets in arguments and results become functions and stubs of the other side;
// everything else is cloned.

import type { RpcTarget } from './rpc-target.ts';
import type { DurableObjectStorage } from './storage.ts';

/** Which object of a class; made by its namespace. */
export interface DurableObjectId {
  /** 64 hexadecimal digits. */
  toString(): string;
  equals(other: DurableObjectId): boolean;
  /** The name it was made from, when it was, and has at most 1,024 bytes. */
  readonly name?: string;
  readonly jurisdiction?: string;
}

/** Accepted and kept on ids; everything here lives in one place. */
export type DurableObjectJurisdiction = 'eu' | 'fedramp' | 'fedramp-high' | 'us';

/** Accepted for programs written for the network; without effect. */
export interface GetOptions {
  locationHint?: string;
  routingMode?: string;
  retry?: object;
}

/** The objects of one class. Every member answers at once, and no object is opened by it. */
export interface DurableObjectNamespace<T extends object = object> {
  /** A new id at random. */
  newUniqueId(options?: { jurisdiction?: DurableObjectJurisdiction }): DurableObjectId;
  /** The same name always gives the same id. */
  idFromName(name: string): DurableObjectId;
  /** The id with these digits. @throws INVALID_ARGUMENT for an id of another class */
  idFromString(id: string): DurableObjectId;
  /** A stub of the object. @throws INVALID_ARGUMENT for an id of another class */
  get(id: DurableObjectId, options?: GetOptions): DurableObjectStub<T>;
  /** `get(idFromName(name))`. */
  getByName(name: string, options?: GetOptions): DurableObjectStub<T>;
  /** The same objects, their ids marked. */
  jurisdiction(jurisdiction: DurableObjectJurisdiction): DurableObjectNamespace<T>;
}

/** Short for the class as a caller has it: `env: { COUNTER: Namespace<Counter> }`. */
export type Namespace<T extends object = object> = DurableObjectNamespace<T>;

/**
 * An object as its callers have it.
 *
 * Public methods of the class, each giving a promise; a getter is read with `await stub.name`. Calls
 * of one stub arrive in the order they were made.
 *
 * A stub of a page or program outlives resets of its object, and the worker: calls that a reset has met reject, and the
 * next one reaches the next instance. In the code of an object or a Worker it rejects from then on, as on workerd.
 */
export type DurableObjectStub<T extends object = object> = Callable<T, ReservedMember> & {
  readonly id: DurableObjectId;
  readonly name?: string;
  /** Delivers the request to the object's `fetch`. Bodies are streamed both ways. */
  fetch(input: Request | string | URL, init?: RequestInit): Promise<ObjectResponse>;
  /**
   * Calls back once, when the instance of the object that has answered this stub, or answers it next, has ended, or the
   * connection to it: whatever was passed to it is lost, such as the function of a subscription. Pass it again then.
   *
   * The error says why. Until then the object stays in memory, and so does an object that waits for it.
   * Called at once when that instance has been reset already.
   */
  onRpcBroken(callback: (error: unknown) => void): void;
};

/** A response, which may carry a socket: after a request to upgrade. */
export type ObjectResponse = Response & { readonly webSocket?: ObjectWebSocket | null };

/**
 * The result of a call for an RpcTarget or function: methods and properties as promises. An object that
 * holds one stays in memory. In the arguments of a call it ends with the call: keep its `dup()`.
 */
export type RpcStub<T extends object> = Callable<T, Brand> & {
  /** Another handle of the same thing, to be disposed on its own. */
  dup(): RpcStub<T>;
  /**
   * Calls back once, with the reason, when calls of this stub can only fail from now on: the connection
   * was lost, or its target has ended with its object, or its page. At once when that was before; never
   * after the stub was disposed.
   */
  onRpcBroken(callback: (error: unknown) => void): void;
  /** Lets it go on the other side. Without it that happens when it is garbage collected. */
  [Symbol.dispose](): void;
  /** For types only: the type of the target. */
  readonly [STANDS_FOR]: T;
};

declare const STANDS_FOR: unique symbol;

/** Members with another meaning on a stub, or that only the runtime may call. */
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

/** How workerd's types tell their classes apart. */
export type Brand = '__DURABLE_OBJECT_BRAND' | '__RPC_TARGET_BRAND';

type AnyFunction = (...parameters: never[]) => unknown;

/** Methods and getters of a class, and a call when it is a function. */
export type Callable<T extends object, Reserved extends string> = {
  readonly [K in Exclude<keyof T, Reserved | symbol | number>]: T[K] extends AnyFunction
    ? Method<T[K]>
    : RpcPromise<Awaited<T[K]>>;
} & (T extends AnyFunction ? Method<T> : unknown);

type Method<F extends AnyFunction> = F extends (...parameters: infer P) => infer R
  ? (...parameters: RpcArguments<P>) => RpcPromise<Awaited<R>>
  : never;

/**
 * A result on its way. Its members can be used already: `await stub.room('a').topic()` calls a method
 * of the target that `room` gives, and `await stub.status().open` reads a property. A function that a
 * call gives is awaited before it is called.
 */
export type RpcPromise<R> = Promise<RpcResult<R>> & ([R] extends [never] ? unknown : Pipelined<R>);

/** Of stubs and plain objects; other values have none before they arrive. */
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

/** Objects that arrive as they are, and objects that hold others. */
type Opaque =
  | Cloned
  | AnyFunction
  | readonly unknown[]
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>;

type RpcArguments<P extends readonly unknown[]> = { [I in keyof P]: RpcArgument<P[I]> };

/** The types that may be passed where the object receives this. */
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

/** The type that the other side gets for this. */
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

/** An RpcTarget as workerd's types have it. */
interface TargetOfWorkerd {
  readonly __RPC_TARGET_BRAND: never;
}

/** A stub of whatever class. */
type AnyObjectStub = Pick<DurableObjectStub, 'id' | 'fetch'>;

/** Types that arrive as they are. */
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
  /** True when an earlier run for the same alarm failed. */
  readonly isRetry: boolean;
  /** How many runs for it failed so far. */
  readonly retryCount: number;
  /** When it was due, in milliseconds since the epoch. */
  readonly scheduledTime: number;
}

/** `ctx`: an object's access to its own parts. */
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
   * Resets the object at once. `retryAlarm: false`: an alarm whose handler this ends is not run again.
   */
  abort(reason?: string, options?: { retryAlarm?: boolean }): never;
  /**
   * Takes the socket over: its messages are events of the object (`webSocketMessage`), which may be
   * evicted meanwhile. At most 10 tags of at most 256 characters.
   */
  acceptWebSocket(socket: SocketLike, tags?: string[]): void;
  /** The open sockets it has taken over, of a tag when one is given. */
  getWebSockets(tag?: string): ObjectWebSocket[];
  getTags(socket: SocketLike): string[];
  /** Answers one message without an event; without an argument no more. */
  setWebSocketAutoResponse(pair?: AutoResponse): void;
  getWebSocketAutoResponse(): AutoResponse | null;
  /** When the socket was answered so last. */
  getWebSocketAutoResponseTimestamp(socket: SocketLike): Date | null;
  /** Kept, and without effect: a handler has no limit of time here. */
  setHibernatableWebSocketEventTimeout(timeoutMs?: number): void;
  getHibernatableWebSocketEventTimeout(): number | null;
}

/** A class that facets can have. */
export type DurableObjectClass<_T extends object = object> = {};

/** A class of the worker in `ctx.exports`: called, it gives the class with `ctx.props` for facets. */
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
  /** `ctx.id` of the facet. @default the id of the object it belongs to */
  id?: DurableObjectId | string;
  /** A class of `ctx.exports`, or the result of calling one with `{ props }`. */
  class: DurableObjectClass<T>;
}

/** A facet as the object that it belongs to has it. */
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

/** A message and its automatic answer: a `WebSocketRequestResponsePair`. */
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
 * A socket as object code and its callers have it: `accept()` it, or hand it to
 * `ctx.acceptWebSocket`, before it is used.
 */
export interface ObjectWebSocket extends EventTarget, SocketLike {
  /** 1 open, 2 closing, 3 closed. */
  readonly readyState: 0 | 1 | 2 | 3;
  /** The type of binary messages, at a socket with listeners. */
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
  /** Begins to fire events. `allowHalfOpen`: only code answers a close, and may send before it does. */
  accept(options?: { allowHalfOpen?: boolean }): void;
  /** Keeps a value of at most 16,384 bytes with the socket, across eviction of its object. */
  serializeAttachment(value: unknown): void;
  /** The last attachment; null when there was none. */
  deserializeAttachment(): unknown;
}
