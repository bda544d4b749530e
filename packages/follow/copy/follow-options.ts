// The options of objects that follow, and their checks.

import { storageError } from '@ctx-storage/core/errors';
import { identityOf } from './identity.ts';
import type { LinkSocket } from './link.ts';

/** The options with which the objects of a class follow those on the server. */
export interface FollowOptions {
  /**
   * Returns the address of an object on the server: a `wss:` or `ws:` URL, whose requests the server's Worker passes to the
   * object's `fetch`. It is called before each connection, so the address may contain a token. If it throws, it is called
   * again later.
   */
  readonly url: (name: string) => string | URL | Promise<string | URL>;
  /**
   * Who uses this device: a text of 1 to 256 UTF-16 units, or a function that returns it, for example the identity that
   * `authorize` returns on the server. Each identity has a copy of the object and a queue of its own, which no other one sees.
   * The function is called at each use of an object and before each connection, also offline; while it throws, the object
   * cannot be used. @default one copy, of the identity that uses it first; it is stopped (CLIENT_TAKEN) for others
   */
  readonly identity?: string | ((name: string) => string | Promise<string>);
  /**
   * The version of the class, as in `followable`. Nothing is forecast while the server has another version. @default the static
   * property `version` of the class, or 1
   */
  readonly version?: number;
  /** Opens the WebSocket. @default the global class; Node 20 has none: `(url, protocol) => new WebSocket(url, protocol)` of `ws` */
  readonly connect?: (url: string, protocol: string) => LinkSocket;
}

export interface CheckedFollowOptions
  extends Pick<FollowOptions, 'identity'>,
    Required<Omit<FollowOptions, 'identity'>> {}

/** Maps the name of each class to all of its options, or only to the function that returns an object's address. */
export type FollowTable = Readonly<Record<string, FollowOptions | FollowOptions['url']>>;

/** The checked options of a class. If `version` was not given, the class's own version is used. */
export type GivenFollowOptions = Omit<CheckedFollowOptions, 'version'> &
  Pick<FollowOptions, 'version'>;

/** Completes the options of a class. @throws INVALID_ARGUMENT */
export function checkFollowOptions(name: string, given: FollowTable[string]): GivenFollowOptions {
  const options: FollowOptions = typeof given === 'function' ? { url: given } : given;
  const { url, identity, version, connect = openSocket } = options;
  const mustBe = (isRight: boolean, what: string) => {
    if (!isRight) throw storageError('INVALID_ARGUMENT', `follow: ${name}: ${what}.`);
  };
  mustBe(
    typeof url === 'function',
    'url is a function that gives the address of an object by its name',
  );
  mustBe(
    version === undefined || (Number.isSafeInteger(version) && version >= 0),
    'version is a whole number, not negative',
  );
  if (typeof identity !== 'function' && identity !== undefined) identityOf(identity);
  mustBe(typeof connect === 'function', 'connect is a function that opens a WebSocket');
  mustBe(
    connect !== openSocket || typeof WebSocket === 'function',
    'this runtime has no WebSocket; pass { connect: (url, protocol) => new WebSocket(url, protocol) } with that of ws',
  );
  return {
    ...{ url, connect },
    ...(identity !== undefined && { identity }),
    ...(version !== undefined && { version }),
  };
}

function openSocket(url: string, protocol: string): LinkSocket {
  return new WebSocket(url, protocol) as LinkSocket;
}
