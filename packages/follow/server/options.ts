// Checks the options of `followable` when the class is defined.
//
// Invariant: a followable class has an `authorize` function, and every method that followers may call exists.

import { storageError } from '@ctx-storage/core/errors';
import type { DurableObjectId } from '@ctx-storage/core/object';
import { classVersion } from '../protocol/class-version.ts';
import type { Authorized } from './authorization.ts';
import type { CallStoreClass } from './caller.ts';
import { checkOrigins, type FollowOrigins } from './origins.ts';

/** The object that a request asks to follow, passed to `authorize`. */
export interface FollowedTarget<Env = unknown> {
  readonly env: Env;
  readonly id: DurableObjectId;
}

export interface FollowableOptions<Method extends string = string, Env = unknown> {
  /**
   * Decides whether a request may follow the object. Returns the identity of its user, 1 to 256 UTF-16 units, or null or
   * false to close the connection (NOT_AUTHORIZED). A follower reads everything in the object.
   *
   * With `{ identity, expiresAt }`, the connection ends at that time, and the follower's next one is asked about again.
   *
   * Each copy on a device has a name, which belongs to the first identity that uses it.
   */
  authorize(request: Request, target: FollowedTarget<Env>): Authorized | Promise<Authorized>;
  /**
   * The origins of the pages that may follow, or a function that decides about one origin. Connections from other
   * origins are closed (ORIGIN_REFUSED). A request that no page has sent has no origin, and goes to `authorize` at
   * once.
   *
   * @default only pages of the request's own host and port may follow
   */
  readonly origins?: FollowOrigins;
  /**
   * The class of `node:async_hooks`, which `ctx.caller` needs. The package finds the class itself, except on workerd
   * with the flag `nodejs_als` and without `nodejs_compat`.
   */
  readonly AsyncLocalStorage?: CallStoreClass;
  /** The methods of the class that followers may call. Calls of other methods are refused. */
  readonly methods: readonly Method[];
  /**
   * The version of the class, from 1 on. A follower with another version makes no forecasts.
   *
   * @default the static property `version` of the class; either the option or the property is required
   */
  readonly version?: number;
  readonly limits?: FollowLimits;
}

export interface FollowLimits {
  /** The most connections to one object. A further one is closed (TOO_MANY_FOLLOWERS). @default 1,000 */
  readonly followers?: number;
  /** The most connections of one identity to one object. A further one is closed (TOO_MANY_FOLLOWERS). @default 100 */
  readonly followersPerIdentity?: number;
  /**
   * The most clients of one identity that an object remembers: each copy on a device is a client, and its next copy
   * after `forget` is another client. Beyond this number, the client that was away for longest is removed. If a removed
   * client comes back, it continues, or stops with CLIENT_REMOVED if a call could run twice.
   *
   * @default 1,000
   */
  readonly clientsPerIdentity?: number;
  /** Messages per second of one connection, and its burst. A connection that exceeds it is closed. @default 1,000 */
  readonly messagesPerSecond?: number;
  /**
   * The largest database, in bytes, of which whole copies are sent; each page stores a copy on its disk. A follower
   * that needs a whole copy of a larger object stops with OBJECT_TOO_LARGE.
   *
   * @default 256 MiB
   */
  readonly objectBytes?: number;
}

export interface CheckedOptions extends Pick<FollowableOptions<string, never>, 'authorize'> {
  readonly origins: FollowOrigins | undefined;
  readonly AsyncLocalStorage: CallStoreClass | undefined;
  readonly methods: ReadonlySet<string>;
  readonly version: number;
  readonly limits: Required<FollowLimits>;
}

/**
 * The default limits (our choice). A follower has at most 64 unanswered calls, so a long queue is sent as fast as the
 * object answers, and does not exceed the message rate.
 */
const LIMITS: Required<FollowLimits> = {
  followers: 1000,
  followersPerIdentity: 100,
  clientsPerIdentity: 1000,
  messagesPerSecond: 1000,
  objectBytes: 256 * 2 ** 20,
};

/** The names of methods that only the runtime may call. */
const HANDLERS = ['alarm', 'connect', 'fetch', 'webSocketClose', 'webSocketError'];
const RESERVED: ReadonlySet<string> = new Set([
  ...['constructor', 'dup', 'webSocketMessage'],
  ...HANDLERS,
]);

/** Returns the options with their defaults. @throws INVALID_ARGUMENT, UNKNOWN_METHOD */
export function checkOptions(Class: unknown, options: unknown): CheckedOptions {
  if (typeof Class !== 'function' || typeof Class.prototype !== 'object') {
    throw invalid('the first argument is not a class. Pass the class that you export.');
  }
  if (typeof options !== 'object' || options === null) {
    throw invalid('takes { authorize, methods, version } as its second argument.');
  }
  const {
    authorize,
    origins,
    AsyncLocalStorage,
    methods,
    version,
    limits = {},
    ...others
  } = options as FollowableOptions;
  refuseUnknown('option', others);
  if (typeof authorize !== 'function') {
    throw invalid(
      'the option authorize is not a function. Everything in the object can be read by its followers: return an ' +
        'identity for each request that may follow it.',
    );
  }
  if (AsyncLocalStorage !== undefined && typeof AsyncLocalStorage !== 'function') {
    throw invalid('the option AsyncLocalStorage is not the class of node:async_hooks.');
  }
  if (!Array.isArray(methods) || !methods.every((name) => typeof name === 'string')) {
    throw invalid('the option methods is not an array of names. List the methods to be called.');
  }
  for (const name of methods) checkMethod(Class, name);
  const classOrOption = classVersion(Class, version, 'followable()');
  checkNumber('option version', classOrOption);
  return {
    ...{ authorize, origins: checkOrigins(origins), AsyncLocalStorage },
    ...{ methods: new Set(methods), version: classOrOption, limits: checkLimits(limits) },
  };
}

function checkMethod(Class: Function, name: string): void {
  const found = RESERVED.has(name) ? undefined : propertyOf(Class.prototype, name);
  if (typeof found?.value === 'function') return;
  const fact = RESERVED.has(name) ? 'is called by the runtime only' : 'is not a method of it';
  throw storageError(
    'UNKNOWN_METHOD',
    `followable(${Class.name}): "${name}" of methods ${fact}. List methods that the class defines.`,
  );
}

function propertyOf(prototype: object | null, name: string): PropertyDescriptor | undefined {
  for (let link = prototype; link !== null; link = Object.getPrototypeOf(link)) {
    if (link === Object.prototype) return undefined;
    const found = Object.getOwnPropertyDescriptor(link, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function checkLimits(limits: FollowLimits): Required<FollowLimits> {
  if (typeof limits !== 'object' || limits === null) throw invalid('limits is not an object.');
  const {
    followers,
    followersPerIdentity,
    clientsPerIdentity,
    messagesPerSecond,
    objectBytes,
    ...others
  } = { ...LIMITS, ...limits };
  refuseUnknown('limit', others);
  const checked = {
    ...{ followers, followersPerIdentity, clientsPerIdentity },
    ...{ messagesPerSecond, objectBytes },
  };
  for (const [name, value] of Object.entries(checked)) checkNumber(`limit ${name}`, value);
  return checked;
}

function checkNumber(what: string, value: unknown): asserts value is number {
  if (Number.isSafeInteger(value) && (value as number) >= 1) return;
  throw invalid(`the ${what} is not a whole number from 1 on.`);
}

function refuseUnknown(what: string, others: object): void {
  const [name] = Object.keys(others);
  if (name !== undefined) throw invalid(`there is no ${what} "${name}". Remove it.`);
}

function invalid(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `followable(): ${fact}`);
}
