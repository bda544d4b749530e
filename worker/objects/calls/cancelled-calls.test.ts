// Calls of methods that are cancelled, by code beside the objects, and live reads that a signal ends.

import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createCalledHost } from '../../../packages/testing/worker/called-host.ts';
import type { TestHost } from '../../../packages/testing/worker/test-host.ts';
import { withSignal } from '../../../src/shared/calls/stubs/with-signal.ts';
import { live } from '../../../src/shared/live/live-stub.ts';
import { DurableObject } from '../../realm/library/library.ts';

class Room extends DurableObject {
  static ran: string[] = [];

  async hold(ms: number): Promise<string> {
    await this.ctx.blockConcurrencyWhile(() => new Promise((done) => setImmediate(done)));
    return `held ${ms}`;
  }

  add(name: string): void {
    Room.ran.push(name);
    this.ctx.storage.kv.put(name, 1);
  }

  async wait(name: string): Promise<void> {
    Room.ran.push('begun');
    await this.ctx.blockConcurrencyWhile(() => new Promise((done) => setImmediate(done)));
    this.add(name);
  }

  names(): string[] {
    return [...this.ctx.storage.kv.list()].map(([name]) => name);
  }

  fetch(request: Request): Response {
    return new Response(request.url);
  }
}

/** As callers see it. */
interface RoomStub {
  hold(ms: number): Promise<string>;
  add(name: string): Promise<void>;
  wait(name: string): Promise<void>;
  names(): Promise<string[]>;
  fetch(url: string): Promise<Response>;
}

interface Env {
  readonly Room: { getByName(name: string): RoomStub };
}

let host: TestHost;
let env: Env;
let controller: AbortController;
const enough = new Error('enough');

beforeEach(async () => {
  Room.ran = [];
  ({ host, env } = await createCalledHost<Env>({ Room }));
  controller = new AbortController();
});
afterEach(() => host.close());

const outcome = (call: unknown) =>
  Promise.resolve(call).then(
    (result) => ({ result }),
    (error) => error,
  );

test('[CANCEL1] a stub with a signal is the same stub', async () => {
  const room = env.Room.getByName('a');
  const called = withSignal(room, controller.signal);
  await called.add('x');
  expect(await room.names()).toEqual(['x']);
  expect(await (await called.fetch('https://a.example/')).text()).toBe('https://a.example/');
  expect(() => withSignal(room, {} as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
});

test('[CANCEL2] a method is not called for a signal that is aborted', async () => {
  controller.abort(enough);
  const room = withSignal(env.Room.getByName('a'), controller.signal);
  expect(await outcome(room.add('x'))).toBe(enough);
  expect(await outcome(room.fetch('https://a.example/'))).toBe(enough);
  await host.turns(5);
  expect(Room.ran).toEqual([]);
});

test('[CANCEL2] [CANCEL7] a method that waits for its turn does not run, and the caller learns it at once', async () => {
  const room = env.Room.getByName('a');
  await room.names();
  let isHeld = true;
  const held = room.hold(1).finally(() => {
    isHeld = false;
  });
  const call = outcome(withSignal(room, controller.signal).add('x'));
  const other = room.add('y');
  controller.abort(enough);
  expect(await call).toBe(enough);
  expect(isHeld).toBe(true);
  expect(await held).toBe('held 1');
  await other;
  expect(Room.ran).toEqual(['y']);
});

test('[CANCEL7] a method that has begun runs on, for a caller that waits no more', async () => {
  const room = env.Room.getByName('a');
  await room.names();
  const call = outcome(withSignal(room, controller.signal).wait('x'));
  while (Room.ran.length === 0) await new Promise((done) => setImmediate(done));
  controller.abort(enough);
  expect(await call).toBe(enough);
  await vi.waitFor(() => expect(Room.ran).toEqual(['begun', 'x']));
  expect(await room.names()).toEqual(['x']);
});

test('[CANCEL5] an abort after the answer changes nothing; the signal has no listener then', async () => {
  const listeners = () => getEventListeners(controller.signal, 'abort').length;
  const room = withSignal(env.Room.getByName('a'), controller.signal);
  const added = room.add('x');
  expect(listeners()).toBeGreaterThan(0);
  await added;
  await host.turns(1);
  expect(listeners()).toBe(0);
  controller.abort(enough);
  expect(await env.Room.getByName('a').names()).toEqual(['x']);
});

test('[CANCEL5] a live read that ends leaves its signal no listener', async () => {
  const listeners = () => getEventListeners(controller.signal, 'abort').length;
  const room = withSignal(env.Room.getByName('a'), controller.signal);
  const values: unknown[] = [];
  const stop = live(room)
    .names()
    .subscribe((value) => void values.push(value));
  await vi.waitFor(() => expect(values).toContainEqual([]));
  expect(listeners()).toBeGreaterThan(0);
  stop();
  await host.turns(5);
  expect(listeners()).toBe(0);
});

test('[CANCEL8] a live method ends with its signal: a loop throws the reason, a listener gets it', async () => {
  const room = env.Room.getByName('a');
  const names = live(withSignal(room, controller.signal)).names();
  const values: unknown[] = [];
  const errors: unknown[] = [];
  names.subscribe((value) => void values.push(value), { onError: (error) => errors.push(error) });
  const looped = outcome(
    (async () => {
      for await (const _ of names);
    })(),
  );
  await vi.waitFor(() => expect(values).toContainEqual([]));
  controller.abort(enough);
  expect(await looped).toBe(enough);
  expect(errors).toEqual([enough]);
  const count = values.length;
  await room.add('x');
  await host.turns(5);
  expect(values.length).toBe(count);
  // A call that begins later ends at once.
  const late = outcome(
    (async () => {
      for await (const _ of live(withSignal(room, controller.signal)).names());
    })(),
  );
  expect(await late).toBe(enough);
});
