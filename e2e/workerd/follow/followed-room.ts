// The class of the tests, made followable: small limits, and the identity from a header.

import { Capture } from '../../../packages/follow/capture/capture.ts';
import type { Changes } from '../../../packages/follow/changes/changes.ts';
import type { Position } from '../../../packages/follow/protocol/messages.ts';
import { followableOn } from '../../../packages/follow/server/followable.ts';
import type { FollowableOptions } from '../../../packages/follow/server/options.ts';
import { PLATFORM } from '../../../packages/follow/server/platform.ts';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { METHODS, roomOf } from './room.ts';

/** Fails the next cut. */
export const FAULT: { next: Error | null } = { next: null };

class FailingCapture extends Capture {
  override changesSince(position: Position, bytesMax: number): Changes | null {
    const error = FAULT.next;
    FAULT.next = null;
    if (error !== null) throw error;
    return super.changesSince(position, bytesMax);
  }
}

export const LIMITS = {
  followers: 3,
  followersPerIdentity: 2,
  clientsPerIdentity: 3,
  messagesPerSecond: 200,
  objectBytes: 2 ** 20,
};

/** How much the clock of the rooms is ahead. */
const CLOCK = { aheadMs: 0 };

export function followedRoom(
  Base: Parameters<typeof roomOf>[0],
  more: Pick<FollowableOptions, 'AsyncLocalStorage'> = {},
) {
  const environment = {
    ...PLATFORM,
    now: () => Date.now() + CLOCK.aheadMs,
    capture: (storage: DurableObjectStorage, life: number, onWrite: () => void) =>
      new FailingCapture(storage, { life, onWrite }),
  };
  const Followed = followableOn(environment, roomOf(Base), {
    // A user named "later" is looked up first.
    async authorize(request) {
      const user = request.headers.get('user');
      if (user === 'later') await Promise.resolve();
      if (user === 'nobody' || user === null) return null;
      const lifetimeMs = request.headers.get('lifetime');
      if (lifetimeMs === null) return user;
      return { identity: user, expiresAt: environment.now() + Number(lifetimeMs) };
    },
    methods: METHODS,
    version: 3,
    limits: LIMITS,
    ...more,
  });
  return class extends Followed {
    /** Moves the clock of the rooms. */
    advance(durationMs: number): void {
      CLOCK.aheadMs += durationMs;
    }
  };
}
