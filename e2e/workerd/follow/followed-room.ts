// The class of the tests, made followable: small limits, and the identity from a header.

import { Capture } from '../../../packages/follow/capture/capture.ts';
import type { Changes } from '../../../packages/follow/changes/changes.ts';
import type { Position } from '../../../packages/follow/protocol/messages.ts';
import { followableOn } from '../../../packages/follow/server/followable.ts';
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

export const LIMITS = { followers: 3, messagesPerSecond: 200, objectBytes: 2 ** 20 };

export function followedRoom(Base: Parameters<typeof roomOf>[0]) {
  const environment = {
    ...PLATFORM,
    capture: (storage: DurableObjectStorage, life: number, onWrite: () => void) =>
      new FailingCapture(storage, { life, onWrite }),
  };
  return followableOn(environment, roomOf(Base), {
    // A user named "later" is looked up first.
    async authorize(request) {
      const user = request.headers.get('user');
      if (user === 'later') await Promise.resolve();
      return user === 'nobody' ? null : user;
    },
    methods: METHODS,
    version: 3,
    limits: LIMITS,
  });
}
