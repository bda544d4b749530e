// For tests: a device whose replica can be opened repeatedly, and connections to a server in the same process.

import { expect } from 'vitest';
import { addressKey } from '../../../src/shared/contract/object-id.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { MemoryCatalog } from '../../../worker/objects/catalog/catalog.ts';
import { NO_FOLLOWERS } from '../../../worker/objects/host/followers.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { SlowMedium } from '../../testing/worker/slow-medium.ts';
import { createTestHost } from '../../testing/worker/test-host.ts';
import { type ConnectionEvents, Replica, type ReplicaEvents } from '../copy/replica.ts';
import { decodeToFollower, decodeToServer } from '../protocol/decode.ts';
import type { SettledOutcome } from '../protocol/follower.ts';
import type { HelloMessage, MessageToFollower, MessageToServer } from '../protocol/messages.ts';
import { until } from './followed-device.ts';
import { type FollowedServer, followedServer } from './followed-server.ts';

/** The functions that run after the test (ends.ts). */
type Ends = (() => Promise<void>)[];

export class Room extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT UNIQUE)',
    );
  }
  add(name: string) {
    this.ctx.storage.sql.exec('INSERT INTO item (name) VALUES (?)', name);
    return this.names().length;
  }
  claim(name: string) {
    const names = this.names();
    if (!names.includes(name)) return this.add(name);
    if (names.includes('all may have it')) return 'there';
    throw new Error('It is taken.');
  }
  clear() {
    this.ctx.storage.sql.exec('DELETE FROM item');
  }
  endUnlessTheirs(name: string) {
    const isHere = this.names().includes('theirs');
    this.add(name);
    if (!isHere) this.ctx.abort('by the class');
  }
  index() {
    this.ctx.storage.sql.exec('CREATE INDEX by_name ON item (name)');
  }
  names(): string[] {
    const rows = this.ctx.storage.sql.exec('SELECT name FROM item ORDER BY id').raw();
    return [...rows].map(([name]) => String(name));
  }
}

export async function serverOf(
  ends: Ends,
  bounds?: Parameters<typeof followedServer>[2],
  version = 1,
): Promise<FollowedServer> {
  const server = await followedServer(
    Room,
    { methods: ['add', 'claim', 'endUnlessTheirs'], version },
    bounds,
  );
  ends.push(() => server.close());
  return server;
}

/** Makes a device with a function `open`, which opens its replica. */
export async function deviceOf(ends: Ends) {
  const medium = new SlowMedium();
  const here = await createTestHost({}, { Room }, undefined, {
    medium,
    catalog: new MemoryCatalog(),
  });
  ends.push(() => here.close());
  here.host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Room']) };
  const ended: unknown[] = [];
  const outcomes = new Map<number, SettledOutcome>();
  let heard = 0;
  const environment = {
    now: () => ++heard,
    afterRealTime: () => () => {},
    inTurn: <T>(opening: () => Promise<T>) => opening(),
    newClient: () => 'page',
    randomUint32: () => ++heard,
    numberOffset: 0,
  };
  return {
    here,
    medium,
    ended,
    outcomes,
    base: addressKey(here.address('a')),
    open: (events: Partial<ReplicaEvents> = {}) =>
      Replica.open(here.host, here.address('a'), 1, environment, {
        onChange() {},
        onSettled: (n, outcome) => void outcomes.set(n, outcome),
        onRefused() {},
        onEnded: (reason) => void ended.push(reason),
        ...events,
      }),
  };
}

export interface Connection {
  readonly end: ConnectionEvents;
  readonly hello: HelloMessage;
  /** The messages that the replica received. */
  readonly received: MessageToFollower[];
  /** The reasons with which the replica closed the connection. */
  readonly closes: string[];
  /** The numbers of the calls that the replica sent on the connection. */
  readonly calls: number[];
}

/**
 * Connects the replica, and resolves when it has said hello. `change` may replace each message of the server, or return
 * null to lose it.
 */
export async function connect(
  server: FollowedServer,
  replica: Replica,
  change: (message: MessageToFollower) => unknown = (message) => message,
): Promise<Connection> {
  const socket = server.connect();
  const sent: MessageToServer[] = [];
  const received: MessageToFollower[] = [];
  const closes: string[] = [];
  const calls: number[] = [];
  let end: ConnectionEvents | undefined;
  socket.addEventListener('open', () => {
    end = replica.connected({
      send(bytes) {
        const message = decodeToServer(deserialize(bytes));
        sent.push(message);
        if (message.kind === 'call') calls.push(message.n);
        socket.send(bytes);
      },
      close(reason) {
        closes.push(reason);
        socket.close();
      },
    });
  });
  socket.addEventListener('message', (event) => {
    const bytes = new Uint8Array((event as MessageEvent<ArrayBuffer>).data);
    const message = decodeToFollower(deserialize(bytes));
    const changed = change(message);
    if (changed === null) return;
    received.push(message);
    end?.received(changed === message ? bytes : serialize(changed));
  });
  socket.addEventListener('close', () => end?.closed());
  await until(() => sent.length > 0);
  return { end: end!, hello: sent[0] as HelloMessage, received, closes, calls };
}

export async function namesIn(replica: Replica): Promise<unknown> {
  const { n, answer } = await replica.call('names', []);
  expect(n).toBeNull();
  return answer?.kind === 'value' ? answer.value : answer;
}

export const isCurrent = (replica: Replica) => () =>
  replica.state.state === 'current' && replica.state.pending === 0;
