// For tests: a host whose objects follow, with timers that run when the test says so; and functions that ask its objects.
//
// Invariant: no time passes by itself. Tests wait for asynchronous work in turns of the event loop.

import type { FollowAnswers } from '../../../src/shared/wire/follow-asks.ts';
import { MemoryMedium } from '../../../worker/engine/file/medium.ts';
import type { Limits } from '../../../worker/engine/sql/query-limits.ts';
import { MemoryCatalog } from '../../../worker/objects/catalog/catalog.ts';
import type { FollowedObject, Followers } from '../../../worker/objects/host/followers.ts';
import type { HostEnvironment } from '../../../worker/objects/instance/environment.ts';
import type { ClassTable } from '../../../worker/objects/instance/object-class.ts';
import { createTestHost, type TestHost, type World } from '../../testing/worker/test-host.ts';
import { type FollowOptions, follow } from '../copy/follow.ts';
import type { LinkSocket } from '../copy/link.ts';

const TURNS_MAX = 200_000;

export const turn = () => new Promise((resolve) => setImmediate(resolve));

export async function turns(count = 50): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

/** Waits for a condition in turns of the event loop, because the time of a test host stands still. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  for (let count = 0; !(await check()); count++) {
    if (count === TURNS_MAX) throw new Error('It did not happen.');
    await turn();
  }
}

export interface Device {
  readonly here: TestHost;
  readonly followers: Followers;
  room(name: string): FollowedObject;
  /** Returns how many connections were begun. */
  connects(): number;
  /** Returns the delays of the timers that are set, the shortest first. */
  delays(): number[];
  /** Returns the delays of the timers that keep a process of Node alive. */
  keepAliveDelays(): number[];
  /** Runs the timers with this delay, and waits for the work that they start. */
  runTimers(delayMs: number): Promise<void>;
  close(): Promise<void>;
}

export const worldOf = (): World => ({ medium: new MemoryMedium(), catalog: new MemoryCatalog() });

/** Returns the number of bytes in the files of all objects. */
export async function bytesIn({ medium }: Pick<World, 'medium'>): Promise<number> {
  const sizes = await Promise.all((await medium.keys()).map((key) => medium.sizes(key)));
  return sizes.flatMap((size) => [...size.values()]).reduce((sum, size) => sum + size, 0);
}

/** The options of a test's device. */
export interface DeviceOptions extends Partial<FollowOptions> {
  readonly world?: World;
  readonly randomUint32?: () => number;
  readonly limits?: Limits;
}

/** Opens a device whose objects of the class `Room` follow. `connect` opens the connection of an object, by its name. */
export async function deviceOf(
  Room: ClassTable[string],
  connect: (name: string) => LinkSocket,
  { world = worldOf(), randomUint32 = () => 0, limits, ...options }: DeviceOptions = {},
): Promise<Device> {
  const here = await createTestHost({}, { Room }, undefined, world);
  let elapsedMs = 0;
  const timers = new Set<{ delayMs: number; task: () => void; isKept: boolean }>();
  const environment = {
    now: () => 0,
    elapsed: () => elapsedMs++,
    randomUint32,
    limits,
    catalog: world.catalog,
    afterRealTime(delayMs: number, task: () => void, isKept = false) {
      const timer = { delayMs, task, isKept };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  } as Partial<HostEnvironment> as HostEnvironment;
  let connects = 0;
  const followers = follow({
    Room: {
      url: (name) => `ws://server/${name}`,
      connect(url) {
        connects += 1;
        return connect(url.slice('ws://server/'.length));
      },
      ...options,
    },
  })(here.host, environment);
  here.host.followers = followers;
  return {
    here,
    followers,
    room: (name) => followers.find(here.address(name))!,
    connects: () => connects,
    delays: () => [...timers].map(({ delayMs }) => delayMs).toSorted((a, b) => a - b),
    keepAliveDelays: () => [...timers].flatMap(({ delayMs, isKept }) => (isKept ? [delayMs] : [])),
    async runTimers(delayMs) {
      const due = [...timers].filter((timer) => timer.delayMs === delayMs);
      for (const timer of due) {
        timers.delete(timer);
        timer.task();
      }
      elapsedMs += delayMs;
      await turns();
      await here.advance(delayMs);
    },
    close: () => here.close(),
  };
}

/** Fails to connect, as if the server could not be reached. */
export function unreachable(): never {
  throw new Error('down');
}

export const stateOf = (room: FollowedObject) =>
  room.ask({ kind: 'state', after: -1 }) as Promise<FollowAnswers['state']>;

export const namesOf = async (room: FollowedObject) => (await room.call('names', [])).value;

/** Resolves when the copy is current and the server has answered all its calls. */
export const settledOf = (room: FollowedObject) =>
  until(async () => {
    const { state, pending } = await stateOf(room);
    return state === 'current' && pending === 0;
  });
