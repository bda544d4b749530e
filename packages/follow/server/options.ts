// The options of `followable`, checked when the class is defined.
//
// Invariant: a followable class has a function that authorizes, and each of its methods exists.

import { storageError } from '@ctx-storage/core/errors';
import type { DurableObjectId } from '@ctx-storage/core/object';

/** The object that a request wants to follow. */
export interface FollowedTarget<Env = unknown> {
  readonly env: Env;
  readonly id: DurableObjectId;
}

export interface FollowableOptions<Method extends string = string, Env = unknown> {
  /**
   * Decides about a request to follow the object: the identity of its session, 1 to 256 UTF-16 units, or null or
   * false: the connection is closed (NOT_AUTHORIZED). A follower reads everything in the object.
   *
   * The name that a replica gives itself belongs to the identity that uses it first.
   */
  authorize(
    request: Request,
    target: FollowedTarget<Env>,
  ): string | null | false | Promise<string | null | false>;
  /** The methods of the class that followers may call. Every other one is refused. */
  readonly methods: readonly Method[];
  /** The version of the class, from 1 on. A follower with another version makes no forecasts. */
  readonly version: number;
  readonly limits?: FollowLimits;
}

export interface FollowLimits {
  /** Connections to one object. A further one is closed (TOO_MANY_FOLLOWERS). @default 1,000 */
  readonly followers?: number;
  /** Messages a second of one connection, and at once. More of them close it. @default 1,000 */
  readonly messagesPerSecond?: number;
  /**
   * Bytes of an object's database of which whole copies are begun: each page keeps one on its disk, and receives it first.
   * A follower that would need one of a larger object stops with OBJECT_TOO_LARGE. @default 256 MiB
   */
  readonly objectBytes?: number;
}

export interface CheckedOptions extends Pick<FollowableOptions<string, never>, 'authorize'> {
  readonly methods: ReadonlySet<string>;
  readonly version: number;
  readonly limits: Required<FollowLimits>;
}

/**
 * Our choice. A follower sends at most 64 calls at once, and the next ones as these are answered, so a long queue is
 * sent at the speed of the object.
 */
const LIMITS: Required<FollowLimits> = {
  followers: 1000,
  messagesPerSecond: 1000,
  objectBytes: 256 * 2 ** 20,
};

const IDENTITY_UNITS_MAX = 256;

/** Only the runtime calls these. */
const HANDLERS = ['alarm', 'connect', 'fetch', 'webSocketClose', 'webSocketError'];
const RESERVED: ReadonlySet<string> = new Set([
  ...['constructor', 'dup', 'webSocketMessage'],
  ...HANDLERS,
]);

/** @throws INVALID_ARGUMENT, UNKNOWN_METHOD */
export function checkOptions(Class: unknown, options: unknown): CheckedOptions {
  if (typeof Class !== 'function' || typeof Class.prototype !== 'object') {
    throw invalid('the first argument is not a class. Pass the class that you export.');
  }
  if (typeof options !== 'object' || options === null) {
    throw invalid('takes { authorize, methods, version } as its second argument.');
  }
  const { authorize, methods, version, limits = {}, ...others } = options as FollowableOptions;
  refuseOthers('option', others);
  if (typeof authorize !== 'function') {
    throw invalid(
      'the option authorize is not a function. Everything in the object can be read by its followers: return an ' +
        'identity for each request that may follow it.',
    );
  }
  if (!Array.isArray(methods) || !methods.every((name) => typeof name === 'string')) {
    throw invalid('the option methods is not an array of names. List the methods to be called.');
  }
  for (const name of methods) checkMethod(Class, name);
  checkNumber('option version', version);
  return { authorize, methods: new Set(methods), version, limits: checkLimits(limits) };
}

/** The identity that `authorize` gave; null: not authorized. @throws INVALID_ARGUMENT */
export function checkIdentity(given: unknown): string | null {
  if (given === null || given === false) return null;
  if (typeof given === 'string' && given.length > 0 && given.length <= IDENTITY_UNITS_MAX) {
    return given;
  }
  throw invalid(
    `authorize() gave neither null nor an identity, a text of 1 to ${IDENTITY_UNITS_MAX} UTF-16 units.`,
  );
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
  const { followers, messagesPerSecond, objectBytes, ...others } = { ...LIMITS, ...limits };
  refuseOthers('limit', others);
  checkNumber('limit followers', followers);
  checkNumber('limit messagesPerSecond', messagesPerSecond);
  checkNumber('limit objectBytes', objectBytes);
  return { followers, messagesPerSecond, objectBytes };
}

function checkNumber(what: string, value: unknown): void {
  if (Number.isSafeInteger(value) && (value as number) >= 1) return;
  throw invalid(`the ${what} is not a whole number from 1 on.`);
}

function refuseOthers(what: string, others: object): void {
  const [name] = Object.keys(others);
  if (name !== undefined) throw invalid(`there is no ${what} "${name}". Remove it.`);
}

function invalid(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `followable(): ${fact}`);
}
