// `ctx`: an object's view of itself: its id, its storage, and control over its events.

import { WebSocketRequestResponsePair } from '../../../src/shared/calls/sockets/install.ts';
import type { WebSocket } from '../../../src/shared/calls/sockets/web-socket.ts';
import {
  checkArgumentCount,
  checkCallback,
  convertString,
} from '../../../src/shared/contract/arguments.ts';
import type { DurableObjectId } from '../../../src/shared/contract/object-id.ts';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { refuseToClone } from '../../../src/shared/values/object-kind.ts';
import { checkConstructor, type INTERNAL } from '../../engine/sql/platform-class.ts';
import type { InstanceSockets } from '../sockets/instance-sockets.ts';

/** The longest limit that workerd accepts for a handler: a week, in milliseconds. */
const EVENT_TIMEOUT_MS_MAX = 604_800_000;

/** The functions of the instance for `ctx`. */
export interface StateOwner {
  readonly id: DurableObjectId;
  readonly publicStorage: DurableObjectStorage;
  readonly bindings: Pick<InstanceBindings, 'exports' | 'facets' | 'props'>;
  /** The sockets of the object. @throws for an object without a class */
  readonly sockets: InstanceSockets;
  blockConcurrency<T>(callback: () => T | PromiseLike<T>): Promise<T>;
  keepAlive(work: Promise<unknown>): void;
  abort(reason: string | undefined, retryAlarm: boolean): never;
}

export class DurableObjectState {
  readonly id: DurableObjectId;
  readonly storage: DurableObjectStorage;
  readonly #owner: StateOwner;

  constructor(token: typeof INTERNAL, owner: StateOwner) {
    checkConstructor('DurableObjectState', token);
    this.#owner = owner;
    this.id = owner.id;
    this.storage = owner.publicStorage;
  }

  /**
   * Runs the callback while no other event is delivered; settles like the callback. A callback that fails, or takes
   * longer than 30 s, resets the object.
   */
  blockConcurrencyWhile<T>(callback: () => T | PromiseLike<T>): Promise<T> {
    try {
      checkCallback('blockConcurrencyWhile', callback);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#owner.blockConcurrency(callback);
  }

  /** Returns the bindings of a state, or of an object that inherits from it, which may be the `ctx` of an instance. */
  static #bindingsOf(state: DurableObjectState): StateOwner['bindings'] {
    return #owner in state
      ? state.#owner.bindings
      : DurableObjectState.#bindingsOf(Object.getPrototypeOf(state));
  }

  /** The props of a facet's class (`ctx.exports.Room({ props })`); otherwise empty. */
  get props(): object {
    return DurableObjectState.#bindingsOf(this).props;
  }

  /** The classes of this worker, by name: namespaces, or only classes for facets. */
  get exports(): object {
    return DurableObjectState.#bindingsOf(this).exports;
  }

  /** Objects inside this one, each with storage of its own. */
  get facets(): object {
    return DurableObjectState.#bindingsOf(this).facets;
  }

  /** Keeps the object in memory until the promise settles; its failure is ignored. */
  waitUntil(...work: [unknown]): void {
    checkArgumentCount('waitUntil', work.length, 1);
    this.#owner.keepAlive(Promise.resolve(work[0]));
  }

  /**
   * Takes over the socket: its messages become events of this object, which may be evicted meanwhile.
   * At most 10 tags of at most 256 characters.
   */
  acceptWebSocket(...parameters: [socket: unknown, tags?: unknown]): void {
    checkArgumentCount('acceptWebSocket', parameters.length, 1);
    this.#owner.sockets.accept(...parameters);
  }

  /** The open sockets that the object has accepted; with a tag, the sockets that have it. */
  getWebSockets(tag?: unknown): WebSocket[] {
    return this.#owner.sockets.list(tag === undefined ? undefined : String(tag));
  }

  getTags(socket: unknown): string[] {
    return this.#owner.sockets.tags(socket);
  }

  /** Sets the message that is answered without an event, and the answer; without an argument, removes them. */
  setWebSocketAutoResponse(pair?: unknown): void {
    if (pair !== undefined && !(pair instanceof WebSocketRequestResponsePair)) {
      throw new TypeError('setWebSocketAutoResponse: takes a WebSocketRequestResponsePair.');
    }
    this.#owner.sockets.autoResponse = pair ?? null;
  }

  getWebSocketAutoResponse(): WebSocketRequestResponsePair | null {
    return this.#owner.sockets.autoResponse;
  }

  /** Returns when the socket was last answered by the automatic response; null if never. */
  getWebSocketAutoResponseTimestamp(socket: unknown): Date | null {
    return this.#owner.sockets.answeredAt(socket);
  }

  /** Stores the timeout, which has no effect: handlers have no time limit here. */
  setHibernatableWebSocketEventTimeout(timeoutMs?: number): void {
    if (timeoutMs !== undefined && !(timeoutMs >= 0)) {
      throw new TypeError(`The event timeout is a number of milliseconds, not ${timeoutMs}.`);
    }
    if (timeoutMs !== undefined && timeoutMs > EVENT_TIMEOUT_MS_MAX) {
      throw new Error(`Event timeout should not exceed ${EVENT_TIMEOUT_MS_MAX} ms.`);
    }
    this.#owner.sockets.eventTimeoutMs = timeoutMs ?? null;
  }

  getHibernatableWebSocketEventTimeout(): number | null {
    return this.#owner.sockets.eventTimeoutMs;
  }

  /**
   * Resets the object at once: uncommitted writes are lost, and callers get an error. Never returns. `retryAlarm:
   * false` means that the alarm is not retried if this ends its handler.
   */
  abort(reason?: unknown, options?: { retryAlarm?: boolean }): never {
    const text = reason === undefined ? undefined : convertString('abort', reason);
    return this.#owner.abort(text, options?.retryAlarm !== false);
  }

  get [Symbol.toStringTag](): string {
    return 'DurableObjectState';
  }
}

refuseToClone(DurableObjectState);

/** The other objects that the code of an instance can reach, and the values that it received besides its storage. */
export interface InstanceBindings {
  readonly env: object;
  /** `ctx.exports`: all classes. */
  readonly exports: object;
  readonly facets: object;
  readonly props: object;
}

/** The bindings of an instance without a class. */
export const NO_BINDINGS: InstanceBindings = { env: {}, exports: {}, facets: {}, props: {} };
