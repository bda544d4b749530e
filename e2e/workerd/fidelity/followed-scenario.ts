// Two devices follow one object of a published class: online, while the server is down, and both at once.

import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { followed, settled } from '../../../packages/follow/app/followed.ts';
import { follow } from '../../../packages/follow/copy/follow.ts';
import type { Connections } from '../../../packages/follow/testing/followed-server.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import type { Call, FollowedClass, ObjectClass, Succeeded } from './followed-classes.ts';
import { type Dump, type DumpedStorage, dumpOf } from './followed-dump.ts';

/** The server's object, named `a`. */
export interface ScenarioServer extends Connections {
  /** Calls a method, as another client of the server. */
  readonly call: Call;
  /** Ends the instance. */
  restart(): Promise<void>;
  dump(): Promise<Dump>;
}

/** The number of attempts to make a call that is forecast. */
const TRIES_MAX = 20;
const LATE_MS = 3000;

type Following = Awaited<ReturnType<typeof createObjects>>;
type Stub = Record<string, (...args: unknown[]) => Promise<unknown>>;

interface MadeCall {
  readonly number: number;
  /** True if the call failed on its forecast, or if it had no forecast and the server's answer was an error. */
  hasFailed: boolean;
  /** The forecast was a value, or the server's answer was if there was none. */
  readonly isAcknowledged: Promise<boolean>;
  readonly outcome: Promise<{ readonly value: unknown } | { readonly error: unknown }>;
}

class Device {
  readonly stub: Stub;
  readonly made: MadeCall[] = [];
  readonly #objects: Following;

  static async open(Class: ObjectClass, { connect }: Connections): Promise<Device> {
    const Room = { url: () => 'ws://server/', connect };
    return new Device(await createObjects({ Room: Class as never }, { follow: follow({ Room }) }));
  }

  private constructor(objects: Following) {
    this.#objects = objects;
    const { Room } = objects.env as unknown as { Room: { getByName(name: string): Stub } };
    this.stub = Room.getByName('a');
  }

  get status() {
    return followed(this.stub);
  }

  make(number: number, [method, ...args]: readonly [string, ...unknown[]]): MadeCall {
    const call = this.stub[method]!(...args);
    const made: MadeCall = {
      number,
      hasFailed: false,
      isAcknowledged: call.then(
        () => true,
        () => {
          made.hasFailed = true;
          return false;
        },
      ),
      outcome: settled(call).then(
        (value) => ({ value }),
        (error) => ({ error }),
      ),
    };
    this.made.push(made);
    return made;
  }

  /** Waits until each of its last calls, made offline, has failed or is queued. */
  async untilQueued(last: number): Promise<void> {
    const calls = this.made.slice(-last);
    const expected = () => calls.filter(({ hasFailed }) => !hasFailed).length;
    await expect.poll(async () => (await this.status.read()).pending - expected()).toBe(0);
  }

  async dump(): Promise<Dump> {
    const storage = await this.#objects.storage(this.stub as never);
    return dumpOf(storage as unknown as DumpedStorage);
  }

  close(): Promise<void> {
    return this.#objects.close();
  }
}

/** @throws when a copy differs, or an acknowledged call was neither applied once nor refused */
export async function followWithoutChange(
  followedClass: FollowedClass,
  Class: ObjectClass,
  server: ScenarioServer,
): Promise<void> {
  const { call, first, isOnce, isSlow, expectOnce } = followedClass;
  let made = 0;
  const succeeded: Succeeded[] = [];
  const byServer = async () => {
    const number = made++;
    const [method, ...args] = call(number);
    await server.call(method, ...args).then(
      (value) => succeeded.push({ number, value }),
      () => {}, // it is refused to everybody
    );
  };
  const makeOf = (device: Device) => {
    const number = made++;
    return device.make(number, call(number));
  };
  const devices: Device[] = [];
  const open = async () => {
    const device = await Device.open(Class, server);
    devices.push(device);
    if (first !== undefined) await settled(device.stub[first[0]]!(...first.slice(1)));
    return device;
  };
  try {
    const one = await open();
    if (first !== undefined) await server.call(...(first as [string]));
    // The first call, offline, while another client is earlier.
    server.isDown = true;
    if (isSlow) makeOf(one);
    else await untilForecast(() => makeOf(one));
    await one.untilQueued(one.made.length);
    await byServer();
    server.isDown = false;
    await one.made.at(-1)!.outcome;
    // Online.
    await makeOf(one).outcome;
    const two = await open();
    await makeOf(two).outcome;
    // The server is down, and restarts; another client has reached it.
    server.isDown = true;
    const offline = devices.flatMap((device) => [makeOf(device), makeOf(device), makeOf(device)]);
    for (const device of devices) await device.untilQueued(3);
    await byServer();
    await server.restart();
    server.isDown = false;
    // Both devices call at once, and every connection ends between the calls.
    for (let round = 0; round < 3; round++) {
      for (const device of devices) makeOf(device);
      await offline[round]!.outcome;
      server.drop();
      await byServer();
    }
    const refused = await answersOf(devices, succeeded);
    expect(refused > 0).toBe(isOnce === true);
    if (!isOnce) {
      for (const { status } of devices) expect(await status.refusals()).toEqual([]);
    }
    expect(succeeded).toHaveLength(isOnce ? 1 : made);
    await expectOnce(server.call, succeeded);
    await expectCopies(devices, server);
  } finally {
    for (const device of devices) await device.close();
  }
}

/** A call that takes too long on a busy machine is not forecast, and waits for the server: the next one may be. */
async function untilForecast(make: () => MadeCall): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const late = new Promise<false>((resolve) => setTimeout(resolve, LATE_MS, false));
    if (await Promise.race([make().isAcknowledged, late])) return;
  }
  expect.unreachable('No call was forecast.');
}

/** Adds the calls that have succeeded. Returns how many were refused after they were acknowledged. */
async function answersOf(devices: readonly Device[], succeeded: Succeeded[]): Promise<number> {
  let refused = 0;
  for (const { made, status } of devices) {
    let refusedHere = 0;
    for (const { number, isAcknowledged, outcome } of made) {
      const answer = await outcome;
      if ('value' in answer) succeeded.push({ number, value: answer.value });
      else if (await isAcknowledged) refusedHere += 1;
    }
    expect((await status.read()).pending).toBe(0);
    // Calls that were not forecast, and whose callers got the refusal, are kept too.
    expect((await status.refusals()).length).toBeGreaterThanOrEqual(refusedHere);
    refused += refusedHere;
  }
  return refused;
}

/** Alarms of the server may change its object meanwhile. */
async function expectCopies(devices: readonly Device[], server: ScenarioServer): Promise<void> {
  for (const device of devices) {
    const both = async () => ({ theirs: await server.dump(), mine: await device.dump() });
    await expect
      .poll(both)
      .toSatisfy(({ theirs, mine }: Awaited<ReturnType<typeof both>>) =>
        isDeepStrictEqual(mine, theirs),
      );
  }
}
