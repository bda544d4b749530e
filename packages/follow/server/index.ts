// The entry `ctx-storage/followable`: `followable(Class)` lets pages follow the objects of a class, on workerd and on this
// package's own hosts.

import { Capture } from '../capture/capture.ts';
import { type FollowableClass, followableOn, type MethodOf } from './followable.ts';
import type { FollowableOptions } from './options.ts';
import { PLATFORM } from './platform.ts';

export type { Authorized } from './authorization.ts';
export type { FollowedMembers, FollowedState } from './followable.ts';
export type { FollowableOptions, FollowedTarget, FollowLimits } from './options.ts';
export type { FollowOrigins } from './origins.ts';

/**
 * Returns a subclass whose objects can be followed. Export it instead of the class, which runs unchanged. Tables and
 * triggers in each object's database, with names that begin with `_follow_`, record every change.
 *
 * A WebSocket with the subprotocol `ctx-storage-follow` that reaches the object's `fetch` follows the object, if
 * `authorize` allows it. A follower reads everything in the object, and calls the methods listed in `methods`.
 *
 * @throws INVALID_ARGUMENT, UNKNOWN_METHOD. FOLLOW_UNSUPPORTED where the class creates something whose changes cannot be
 *   recorded: virtual tables, unique indexes over expressions, tables whose rows have no accessible key
 */
export function followable<C extends FollowableClass>(
  Class: C,
  options: FollowableOptions<MethodOf<C>, ConstructorParameters<C>[1]>,
): C {
  return followableOn(
    {
      ...PLATFORM,
      capture: (storage, life, onWrite) => new Capture(storage, { life, onWrite }),
    },
    Class,
    options,
  );
}
