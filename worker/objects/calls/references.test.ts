import * as v8 from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createCalledHost, failure } from '../../../packages/testing/worker/called-host.ts';
import type { TestHost } from '../../../packages/testing/worker/test-host.ts';
import { Imported } from '../../../src/shared/calls/membrane/imported.ts';
import type { DurableObjectStub, Namespace, RpcStub } from '../../../src/shared/contract/object.ts';
import { RpcTarget } from '../../../src/shared/contract/rpc-target.ts';
import { DurableObject, RpcStub as LocalStub } from '../../realm/library/library.ts';

interface Env {
  Room: Namespace<Room>;
  Peer: Namespace<Peer>;
}

class Target extends RpcTarget {
  own = 1;
  #count = 0;
  add(by: number): number {
    this.#count += by;
    return this.#count;
  }
  get count(): number {
    return this.#count;
  }
}

class Peer extends DurableObject<Env> {
  seen: unknown[] = [];
  note(value: unknown): void {
    this.seen.push(value);
  }
  notes(): unknown[] {
    return this.seen;
  }
  addTwo(target: RpcStub<Target>): Promise<number> {
    return target.add(2);
  }
  echo(value: unknown): unknown {
    return value;
  }
  roomNamed(name: string): DurableObjectStub<Room> {
    return this.env.Room.getByName(name);
  }
  name(): string {
    return 'named by its class';
  }
}

class Room extends Peer {
  fail(): never {
    throw new Error('mine');
  }
  target(): Target {
    return new Target();
  }
  counter(): { count: number; add(by: number): number } {
    let count = 1;
    return { count, add: (by) => (count += by) };
  }
  get shared(): Target {
    return new Target();
  }
  parts(): { at: { deep: number }; list: number[]; target: Target; add(by: number): number } {
    return { at: { deep: 7 }, list: [4], target: new Target(), add: (by) => 1 + by };
  }
  /** The call waits for the write. */
  async lend(): Promise<number> {
    const target = (await this.env.Room.getByName('owner').target()) as RpcStub<Target>;
    void this.ctx.storage.put('a', 1);
    const added = this.env.Peer.getByName('p').addTwo(target);
    target[Symbol.dispose]();
    return added;
  }
  async giveStreams(): Promise<boolean[]> {
    const [from, to] = [new ReadableStream(), new WritableStream()];
    void this.ctx.storage.put('a', 1);
    const noted = this.env.Peer.getByName('p').note([from, to]);
    const areLocked = [from.locked, to.locked];
    await noted;
    return areLocked;
  }
  adder(): { (by: number): number; step: number } {
    return Object.assign((by: number) => 1 + by, { step: 1 });
  }
  async callTwice(callback: (value: number) => Promise<number>): Promise<number> {
    return callback(await callback(1));
  }
  stream(): ReadableStream<Uint8Array> {
    return new Response('streamed').body as ReadableStream<Uint8Array>;
  }
}

let host: TestHost;
let env: Env;
let room: DurableObjectStub<Room>;

beforeEach(async () => {
  ({ host, env } = await createCalledHost<Env>({ Room, Peer }));
  room = env.Room.getByName('a');
});

afterEach(() => host.close());

test('[STUB8] a function in an argument is called back', async () => {
  const got: number[] = [];
  const result = await room.callTwice(async (value) => {
    got.push(value);
    return value * 5;
  });
  expect([result, got]).toEqual([25, [1, 5]]);
});

test('[STUB8] an error of the callback reaches the object and comes back', async () => {
  const thrown = room.callTwice(() => {
    throw new RangeError('no more');
  });
  expect(await failure(thrown)).toMatchObject({ name: 'RangeError', message: 'no more' });
});

test('[STUB8] functions in a result run as events of their object', async () => {
  const counter = await room.counter();
  expect([await counter.add(2), await counter.add(2), counter.count]).toEqual([3, 5, 1]);
});

test('[STUB26] functions that an object has forgotten leave nothing behind while it lives', {
  tags: 'long',
}, async () => {
  v8.setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const countOf = v8.queryObjects as unknown as (type: typeof Imported) => number;
  const before = countOf(Imported);
  for (let i = 0; i < 200; i++) await room.callTwice(async (value) => value);
  // A value collected here is forgotten there some turns later.
  await vi.waitUntil(() => {
    collect();
    return countOf(Imported) - before < 20;
  });
});

test('[STUB10] a member keeps its stub', async () => {
  v8.setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { add } = await room.target();
  for (let turns = 0; turns < 3; turns++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve)); // a finalizer runs in a turn of its own
  }
  expect(await add(2)).toBe(2);
});

test('[STUB42] a stub may be disposed of behind the call that passes it', async () => {
  expect(await room.lend()).toBe(2);
});

test('[STUB42] a call takes its streams when it is made', async () => {
  expect(await room.giveStreams()).toEqual([true, true]);
});

test('[STUB9] an RpcTarget becomes a stub of its methods and getters', async () => {
  const target = await room.target();
  await target.add(2);
  expect([await target.add(3), await target.count]).toEqual([5, 5]);
  expect(await failure(target.own)).toMatchObject({ code: 'UNKNOWN_METHOD' });
});

test('[STUB9] a function has its own properties, and nothing that functions inherit', async () => {
  const adder = await room.adder();
  expect([await adder(1), await adder.step, await adder.length]).toEqual([2, 1, 1]);
  const { call } = adder as unknown as { call(...parameters: unknown[]): Promise<unknown> };
  expect(await failure(call(null, 1))).toMatchObject({ code: 'UNKNOWN_METHOD' });
});

test('[STUB21] members of a result are used before it is here', async () => {
  expect(await room.target().add(2)).toBe(2);
  expect(await room.target().count).toBe(0);
  expect(await room.parts().at.deep).toBe(7);
  expect(await room.parts().add(4)).toBe(5);
  expect(await room.parts().target.add(3)).toBe(3);
  expect(await room.shared.add(6)).toBe(6);
  expect(await room.shared.count).toBe(0);
});

test('[STUB21] values other than stubs, functions and plain objects have none', async () => {
  const result = room.parts() as unknown as Record<string, Record<string, Promise<unknown>>>;
  const members = [result.at!.nope, result.list!.length, result.nope!.deep];
  for (const member of members) {
    expect(await failure(member!)).toMatchObject({ name: 'TypeError', code: 'UNKNOWN_METHOD' });
  }
  const list = (room.parts() as unknown as { list: unknown[] }).list;
  expect(list[0]).toBe(undefined);
  await list;
});

test('[STUB21] if a call fails, calls of its result fail', async () => {
  const failed = room.fail() as unknown as { deep: { call(): Promise<unknown> } };
  expect(await failure(failed.deep.call())).toMatchObject({ message: 'mine', remote: true });
});

test('[STUB21] such a result can be awaited as well, and disposed', async () => {
  const target = room.target() as ReturnType<typeof room.target> & Disposable;
  expect([target instanceof Promise, await target.add(2), await (await target).add(2)]).toEqual([
    true,
    2,
    4,
  ]);
  target[Symbol.dispose]();
  await target;
  expect(await failure(target.add(1))).toMatchObject({ code: 'CONNECTION_CLOSED' });
});

test('[STUB23] a stub that is passed on is the same target, and outlives the giver’s', async () => {
  const target = (await room.target()) as RpcStub<Target>;
  const passed = (await env.Peer.getByName('p').echo(target)) as RpcStub<Target>;
  expect([await target.add(1), await passed.add(1), await passed.count]).toEqual([1, 2, 2]);
  target[Symbol.dispose]();
  expect(await passed.add(1)).toBe(3);
  passed[Symbol.dispose]();
  expect(await failure(passed.add(1))).toMatchObject({ code: 'CONNECTION_CLOSED' });
});

test('[STUB24] a stub is of an object or a function', () => {
  for (const value of [5, 'text', null, undefined, true]) {
    expect(() => new LocalStub(value as never)).toThrow(TypeError);
  }
});

test('[STUB24] a stub of one’s own target is given to several', async () => {
  const target = new Target();
  const own = new LocalStub(target);
  const [one, two] = [own.dup(), own.dup()];
  expect([await one.add(1), await two.add(1), await own.count]).toEqual([1, 2, 2]);
  one[Symbol.dispose]();
  expect(await two.add(1)).toBe(3);
  const passed = await room.echo(own);
  expect([own, passed, target].map((value) => value instanceof LocalStub)).toEqual([
    true,
    true,
    false,
  ]);
});

test('[STUB10] a disposed stub refuses calls; a dup lives on', async () => {
  const target = (await room.target()) as RpcStub<Target>;
  const other = target.dup();
  target[Symbol.dispose]();
  const error = await failure(target.add(1));
  expect(error).toMatchObject({ code: 'CONNECTION_CLOSED' });
  expect(error).not.toHaveProperty('retryable'); // it will never succeed
  expect(await other.add(1)).toBe(1);
  other[Symbol.dispose]();
});

test('[STUB10] an object that something is held of stays in memory until it is let go of', async () => {
  await room.note('kept');
  const target = (await room.target()) as RpcStub<Target>;
  await host.advance(20_000);
  expect(await room.notes()).toEqual(['kept']);
  target[Symbol.dispose]();
  await host.advance(20_000);
  expect(await room.notes()).toEqual([]);
});

test('[STUB23] a stub may be passed and returned', async () => {
  await env.Peer.getByName('p').note('mine');
  const peer = (await room.echo(env.Peer.getByName('p'))) as DurableObjectStub<Peer>;
  expect(await peer.notes()).toEqual(['mine']);
  // As on workerd, a stub that came in a call has no id and name of its own: they are the class's members.
  expect(await (peer as unknown as { name(): Promise<string> }).name()).toBe('named by its class');
  expect(await failure(Promise.resolve(peer.id))).toMatchObject({ code: 'UNKNOWN_METHOD' });
  const other = (await env.Peer.getByName('p').roomNamed('b')) as DurableObjectStub<Room>;
  await other.note('to b');
  expect(await env.Room.getByName('b').notes()).toEqual(['to b']);
});

test('[STUB12] a stream in a result is pulled by its reader', async () => {
  expect(await new Response(await room.stream()).text()).toBe('streamed');
});
