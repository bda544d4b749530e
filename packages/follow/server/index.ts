// `ctx-storage/followable`: classes whose objects pages can follow, on workerd and on this package's own hosts.

import { Capture } from '../capture/capture.ts';
import { type FollowableClass, followableOn, type MethodOf } from './followable.ts';
import type { FollowableOptions } from './options.ts';

export type { FollowableOptions, FollowedTarget, FollowLimits } from './options.ts';

/**
 * The class, whose objects can be followed: export it instead of the class itself. It runs unchanged. Of each object,
 * tables and triggers that begin with `_follow_` note each change.
 *
 * A WebSocket with the subprotocol `ctx-storage-follow` that reaches the object's `fetch` follows it, if `authorize` says
 * so. A follower reads everything in the object, and calls the methods that are listed.
 *
 * @throws INVALID_ARGUMENT, UNKNOWN_METHOD. FOLLOW_UNSUPPORTED where the class makes a thing that cannot be noted: virtual
 *   tables, unique indexes over expressions, tables whose rows have no name
 */
export function followable<C extends FollowableClass>(
  Class: C,
  options: FollowableOptions<MethodOf<C>, ConstructorParameters<C>[1]>,
): C {
  return followableOn(
    {
      capture: (storage, life, onWrite) => new Capture(storage, { life, onWrite }),
      now: () => Date.now(),
      randomUint32: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
    },
    Class,
    options,
  );
}
