// The friend: a correct follower, with the real client, which makes one call after the other. It measures how long each
// takes until the server has answered, and remembers which were acknowledged.

import { setTimeout } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { settled } from '../../../../packages/follow/app/followed.ts';
import { follow } from '../../../../packages/follow/copy/follow.ts';
import type { LinkSocket } from '../../../../packages/follow/copy/link.ts';
import { DurableObject } from '../../../../worker/realm/library/base-classes.ts';
import { createObjects } from '../../../../worker/start/entries/node-objects.ts';
import { FRIEND, fleetRoomOf, VERSION } from './fleet-room.ts';

/** Calls of a part of the run. */
export interface FriendCalls {
  /** How long each call took until its answer. */
  readonly durationsMs: readonly number[];
  /** The codes with which the friend's connections have ended. */
  readonly closes: readonly number[];
}

/** All calls of the friend, when it has ended. */
export interface FriendEnd {
  readonly acknowledged: readonly string[];
  /** The errors of calls. */
  readonly failures: readonly string[];
  /** How many calls were not answered in time. */
  readonly unanswered: number;
}

export type FriendRequest = 'part' | 'end';

/** The pause between two calls. */
const PAUSE_MS = 10;
/** How long the last call may take once the fleet is gone: the longest pause between two connections, and more. */
const LAST_CALL_MS_MAX = 60_000;

const [url, directory] = process.argv.slice(2) as [string, string];
const Room = fleetRoomOf(DurableObject as never);
const closes: number[] = [];
const { env } = await createObjects({ Room: Room as never }, {
  directory,
  follow: follow({
    Room: {
      url: () => `${url.replace('http', 'ws')}?user=${FRIEND}`,
      version: VERSION,
      connect(address, protocol) {
        const socket = new WebSocket(address, protocol);
        socket.on('close', (code) => closes.push(code));
        return socket as unknown as LinkSocket;
      },
    },
  }),
} as never);
const room = (
  env as { Room: { getByName(name: string): { record(id: string): Promise<void> } } }
).Room.getByName('room');

const acknowledged: string[] = [];
const failures: string[] = [];
let durationsMs: number[] = [];
let isEnding = false;

async function callOn(): Promise<void> {
  for (let count = 1; !isEnding; count++) {
    const id = `entry ${count}`;
    const startMs = performance.now();
    try {
      const call = room.record(id);
      await call;
      acknowledged.push(id);
      await settled(call);
      durationsMs.push(performance.now() - startMs);
    } catch (error) {
      failures.push(`${id}: ${error}`);
    }
    await setTimeout(PAUSE_MS);
  }
}

const calling = callOn();

process.on('message', async (request: FriendRequest) => {
  if (request === 'part') {
    process.send!({ durationsMs, closes: closes.splice(0) } satisfies FriendCalls);
    durationsMs = [];
    return;
  }
  isEnding = true;
  const isLate = await Promise.race([
    calling.then(() => false),
    setTimeout(LAST_CALL_MS_MAX, true, { ref: false }),
  ]);
  const unanswered = isLate ? 1 : 0;
  process.send!({ acknowledged, failures, unanswered } satisfies FriendEnd);
});
process.on('disconnect', () => process.exit());
