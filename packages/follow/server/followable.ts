// Makes the subclass that `followable` returns. Its `fetch` and socket handlers take the requests and messages of
// followers, and pass all others to the class.
//
// Invariant: the class runs unmodified, and sees neither its followers nor their messages.

import { FOLLOWABLE } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';
import type { DurableObjectState, ObjectWebSocket } from '@ctx-storage/core/object';
import { FOLLOW_SUBPROTOCOL } from '../protocol/connection.ts';
import { Caller, callStoreOf } from './caller.ts';
import { checkOptions, type FollowableOptions } from './options.ts';
import { type ServedEnvironment, ServedObject } from './served-object.ts';

export type FollowableClass = new (ctx: never, env: never) => object;

const HANDLERS = ['fetch', 'webSocketMessage', 'webSocketClose', 'webSocketError'] as const;

/** The handlers of the runtime that the class may define. */
interface Handlers {
  fetch?(request: Request): Response | Promise<Response>;
  webSocketMessage?(socket: ObjectWebSocket, message: string | ArrayBuffer): unknown;
  webSocketClose?(
    socket: ObjectWebSocket,
    code: number,
    reason: string,
    wasClean: boolean,
  ): unknown;
  webSocketError?(socket: ObjectWebSocket, error: unknown): unknown;
}

/** The members that `followable` adds to `ctx`. */
export interface FollowedMembers {
  /**
   * The identity of the follower whose call runs, also after each `await`; undefined for everything that runs for no
   * follower: the constructor, alarms, and calls of others.
   *
   * @throws FOLLOW_UNSUPPORTED on workerd without the flag `nodejs_compat` and without the option `AsyncLocalStorage`,
   *   anywhere but in the constructor and before the first `await` of a follower's call
   */
  readonly caller?: string | undefined;
  /**
   * Ends the connections of an identity, and refuses it (NOT_AUTHORIZED) until `allowFollowers`. Resolves when that is
   * durable. The identity's calls that have not begun wait on its devices.
   */
  endFollowers(identity: string): Promise<void>;
  /** Lets an identity follow again. Resolves when that is durable. */
  allowFollowers(identity: string): Promise<void>;
}

/** The type of `ctx` in a class that `followable` is given. `State` may be the type of other declarations. */
export type FollowedState<State = DurableObjectState> = State & FollowedMembers;

type HandlingClass = new (ctx: DurableObjectState, env: unknown) => Handlers;
export type MethodOf<C extends FollowableClass> = Extract<keyof InstanceType<C>, string>;

/** Implements `followable`, with the clock, the randomness and the capture of changes passed in. */
export function followableOn<C extends FollowableClass>(
  environment: ServedEnvironment,
  Class: C,
  options: FollowableOptions<MethodOf<C>, ConstructorParameters<C>[1]>,
): C {
  const checked = checkOptions(Class, options);
  const callStore = callStoreOf(checked.AsyncLocalStorage);
  const Base = Class as unknown as HandlingClass;
  class Followable extends Base {
    readonly #env: unknown;
    readonly #followed: ServedObject;

    constructor(ctx: DurableObjectState, env: unknown) {
      const caller = new Caller(callStore);
      const followed = new ServedObject(ctx, checked, caller, environment);
      addMembers(ctx, caller, followed);
      super(ctx, env);
      this.#env = env;
      this.#followed = followed;
      refuseFields(this, Class.name);
      followed.beginServing(this);
    }

    override fetch(request: Request): Response | Promise<Response> {
      if (asksToFollow(request)) return this.#followed.accept(request, this.#env);
      if (super.fetch !== undefined) return super.fetch(request);
      throw storageError('UNKNOWN_METHOD', `The class ${Class.name} has no method fetch().`);
    }

    override webSocketMessage(socket: ObjectWebSocket, message: string | ArrayBuffer): unknown {
      if (!this.#followed.isFollower(socket)) return super.webSocketMessage?.(socket, message);
      return this.#followed.receive(socket, message);
    }

    override webSocketClose(
      socket: ObjectWebSocket,
      code: number,
      reason: string,
      wasClean: boolean,
    ): unknown {
      if (this.#followed.isFollower(socket)) return this.#followed.socketClosed(socket);
      return super.webSocketClose?.(socket, code, reason, wasClean);
    }

    override webSocketError(socket: ObjectWebSocket, error: unknown): unknown {
      if (this.#followed.isFollower(socket)) return this.#followed.socketClosed(socket);
      return super.webSocketError?.(socket, error);
    }
  }
  Object.defineProperties(Followable, {
    name: { value: Class.name },
    [FOLLOWABLE]: { value: true },
  });
  return Followable as unknown as C;
}

/** Adds the members to `ctx`, which the class can neither replace nor set. */
function addMembers(ctx: DurableObjectState, caller: Caller, followed: ServedObject): void {
  Object.defineProperties(ctx, {
    caller: { get: () => caller.identity },
    endFollowers: { value: async (identity: unknown) => followed.endFollowers(identity) },
    allowFollowers: { value: async (identity: unknown) => followed.allowFollowers(identity) },
  });
}

/** Refuses handlers that are fields, because a field would hide the subclass's handler of followers. @throws CLASS_INVALID */
function refuseFields(object: object, className: string): void {
  const field = HANDLERS.find((name) => Object.hasOwn(object, name));
  if (field === undefined) return;
  throw storageError(
    'CLASS_INVALID',
    `followable(${className}): ${field} is a field of its objects. Make it a method of the class.`,
  );
}

function asksToFollow(request: Request): boolean {
  if (request.headers.get('Upgrade')?.toLowerCase() !== 'websocket') return false;
  const protocols = request.headers.get('Sec-WebSocket-Protocol') ?? '';
  return protocols.split(',').some((protocol) => protocol.trim() === FOLLOW_SUBPROTOCOL);
}
