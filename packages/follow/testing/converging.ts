// For tests: a random world, in which two devices follow one object, make calls, crash and lose connections, and the server
// restarts. It checks that in the end every copy equals the server's object, and each call was answered once.
//
// The class of the object is in mixed-class.ts.

import { expect, vi } from 'vitest';
import { createObjects } from '../../../worker/start/entries/in-process.ts';
import { CrashMedium } from '../../testing/simulate/world/crash-medium.ts';
import { Random } from '../../testing/simulate/world/random.ts';
import { followed } from '../app/followed.ts';
import { follow } from '../copy/follow.ts';
import type { LinkSocket } from '../copy/link.ts';
import type { FollowedServer } from './followed-server.ts';
import { mixedCall, mixedClass } from './mixed-class.ts';

export type ConvergingServer = Omit<FollowedServer, 'close' | 'restart' | 'evict' | 'storage'>;

const WAIT = { timeout: 60_000, interval: 2 };

/** Dispatches `online` to the devices, so that they connect without a pause. */
const network = new EventTarget();

interface OpenDevice {
  readonly env: object;
  close(): Promise<void>;
  /** Cuts all connections of the device, because it has lost power. */
  losePower(): void;
}

interface Client {
  readonly name: string;
  medium: CrashMedium;
  objects: OpenDevice;
  /** The ids of the calls that were acknowledged, so they must not be lost. */
  readonly acknowledged: string[];
  readonly calls: Promise<void>[];
}

export interface Converged {
  readonly calls: number;
  readonly refused: number;
}

/** The size of a world: after each round of `steps` random steps, the copies must become equal. */
export interface WorldSize {
  readonly rounds: number;
  readonly steps: number;
}

/** Runs one world. `wasm`: sqlite3.wasm, compiled once for all devices. @throws when a copy differs or a call was not answered once */
export async function converge(
  seed: number,
  { rounds, steps }: WorldSize,
  server: ConvergingServer,
  Base: new (ctx: never, env: never) => object,
  wasm: WebAssembly.Module,
): Promise<Converged> {
  const random = new Random(seed);
  const pick = (count: number) => random.below(count);
  const openOn = (medium: CrashMedium) => open(Base, medium, server, wasm);
  const clients: Client[] = [];
  for (const name of ['one', 'two']) {
    const medium = new CrashMedium(random, { flush: random.pick(['now', 'late']) });
    const objects = await openOn(medium);
    clients.push({ name, medium, objects, acknowledged: [], calls: [] });
  }
  vi.stubGlobal('addEventListener', network.addEventListener.bind(network));
  vi.stubGlobal('removeEventListener', network.removeEventListener.bind(network));
  let made = 0;
  let converged: Converged = { calls: 0, refused: 0 };
  const failures = watchFailures();
  try {
    for (let step = 1; step <= rounds * steps; step++) {
      const client = clients[pick(2)]!;
      const chance = pick(1000) / 1000;
      if (chance < 0.04) server.isDown = !server.isDown;
      else if (chance < 0.08) server.drop();
      else if (chance < 0.11)
        await server.call('end').catch(() => {}); // The server restarts.
      else if (chance < 0.15) {
        const before = server.isDown ? await callsOf(client).dump!() : undefined;
        await client.objects.close();
        client.objects = await openOn(client.medium);
        // The base and the waiting calls did not change, so the forecast must not change either.
        if (before !== undefined) expect(await callsOf(client).dump!()).toEqual(before);
      } else if (chance < 0.18) await crash(client, pick, openOn);
      else if (chance < 0.22) {
        await server.call(...mixedCall(`s${made++}`, pick)).catch(() => {}); // The call may be refused.
      } else if (chance < 0.27) await new Promise((resolve) => setTimeout(resolve, pick(6)));
      else makeCall(client, `${client.name} ${made++}`, pick);
      if (step % steps > 0) continue;
      server.isDown = false;
      converged = await expectEqual(clients, server);
    }
    expect(failures()).toEqual([]);
    return converged;
  } finally {
    for (const { objects } of clients) await objects.close();
    vi.unstubAllGlobals();
  }
}

/**
 * Collects the errors by which copies ended, except the loss of power. A copy that ends is received again, and the new
 * copy would hide that the old one was wrong.
 */
function watchFailures(): () => unknown[] {
  const heard = vi.spyOn(console, 'error').mockImplementation(() => {});
  return () => {
    const reasons = heard.mock.calls.map((words) => words.map(String).join(' '));
    heard.mockRestore();
    const isOfCopy = (reason: string) => reason.startsWith('The copy of');
    return reasons.filter((reason) => isOfCopy(reason) && !reason.includes('The power is off'));
  };
}

/** Lets the device lose power, now or during one of its next file operations, and starts it again. */
async function crash(
  client: Client,
  pick: (count: number) => number,
  openOn: (medium: CrashMedium) => Promise<OpenDevice>,
): Promise<void> {
  client.medium.powerOffAfter(pick(30));
  await new Promise((resolve) => setTimeout(resolve, pick(4)));
  client.medium.powerOff();
  client.objects.losePower();
  client.calls.length = 0; // The answers of these calls are lost.
  client.medium = client.medium.afterLoss();
  client.objects = await openOn(client.medium);
}

async function open(
  Base: new (ctx: never, env: never) => object,
  medium: CrashMedium,
  server: ConvergingServer,
  wasm: WebAssembly.Module,
): Promise<OpenDevice> {
  const sockets: LinkSocket[] = [];
  let isLost = false;
  const connect = () => {
    if (isLost) throw new Error('The device has no power.');
    const socket = server.connect();
    sockets.push(socket);
    return socket;
  };
  const Mixed = mixedClass(Base) as never;
  const following = follow({ Mixed: { url: () => 'ws://server/', connect } });
  const { env, close } = await createObjects({ Mixed }, { medium, wasm, follow: following });
  return {
    env,
    close,
    losePower() {
      isLost = true;
      for (const socket of sockets) socket.close();
      close().catch(() => {}); // The files of the device fail, because it has no power.
    },
  };
}

function stubOf({ objects }: Client): object {
  return (objects.env as unknown as { Mixed: { getByName(name: string): object } }).Mixed.getByName(
    'a',
  );
}

function callsOf(client: Client): Record<string, (...args: unknown[]) => Promise<unknown>> {
  return stubOf(client) as never;
}

function makeCall(client: Client, id: string, pick: (count: number) => number): void {
  const [method, ...args] = mixedCall(id, pick);
  const call = callsOf(client)[method]!(...args).then(
    () => void client.acknowledged.push(id),
    () => {}, // The call has failed on its forecast, or its host was closed first.
  );
  client.calls.push(call);
}

function whileOnline<T>(read: () => Promise<T>): Promise<T> {
  network.dispatchEvent(new Event('online'));
  return read();
}

async function expectEqual(
  clients: readonly Client[],
  server: ConvergingServer,
): Promise<Converged> {
  for (const client of clients) {
    await Promise.all(client.calls);
    const pending = async () => (await followed(stubOf(client)).read()).pending;
    await expect.poll(() => whileOnline(pending), WAIT).toBe(0);
  }
  const theirs = (await server.call('dump')) as { done: string[] };
  const done = theirs.done.map((row) => JSON.parse(row)[1] as string);
  expect(new Set(done).size).toBe(done.length);
  let refused = 0;
  for (const client of clients) {
    await expect.poll(() => whileOnline(callsOf(client).dump!), WAIT).toEqual(theirs);
    const refusals = await followed(stubOf(client)).refusals();
    const refusedIds = refusals.map(({ args }) => args[0] as string);
    expect(new Set(refusedIds).size).toBe(refusedIds.length);
    refused += refusedIds.length;
    const answered = new Set([...done, ...refusedIds]);
    expect(client.acknowledged.filter((id) => !answered.has(id))).toEqual([]);
  }
  return { calls: clients.reduce((sum, { calls }) => sum + calls.length, 0), refused };
}
