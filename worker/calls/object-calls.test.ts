import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DurableObjectStub, Namespace, RpcStub } from '../../src/contract/object.ts';
import { RpcTarget } from '../../src/contract/rpc-target.ts';
import { Bond } from '../../src/stubs/bond.ts';
import { DurableObject, RpcStub as LocalStub } from '../library/library.ts';
import { createTestHost, type TestHost } from '../testing/test-host.ts';
import { Namespaces } from './namespaces.ts';

interface Env {
  Room: Namespace<Room>;
  Peer: Namespace<Peer>;
  Mute: Namespace<Mute>;
  Plain: Namespace<Plain>;
}

class MyError extends Error {
  override name = 'MyError';
  code = 'E_MINE';
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

class Base extends DurableObject<Env> {
  inherited(): string {
    return 'inherited';
  }
}

class Room extends Base {
  field = 7;
  arrow = () => 1;
  seen: unknown[] = [];
  echo(value: unknown): unknown {
    return value;
  }
  note(value: unknown): void {
    this.seen.push(value);
  }
  notes(): unknown[] {
    return this.seen;
  }
  get getter(): string {
    return 'got';
  }
  alarm(): void {}
  fail(): never {
    throw new MyError('mine', { cause: new RangeError('deep') });
  }
  failWith(thrown: unknown): never {
    throw thrown;
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
  adder(): { (by: number): number; step: number } {
    return Object.assign((by: number) => 1 + by, { step: 1 });
  }
  async callTwice(callback: (value: number) => Promise<number>): Promise<number> {
    return callback(await callback(1));
  }
  async write(key: string): Promise<void> {
    this.ctx.storage.put(key, 1);
  }
  // The peer is told only after the write is on disk.
  async writeAndTell(): Promise<unknown> {
    this.ctx.storage.put('a', 1);
    return this.env.Peer.getByName('p').note('told');
  }
  async askPeer(value: unknown): Promise<unknown> {
    return this.env.Peer.getByName('p').echo(value);
  }
  async hold(): Promise<unknown> {
    const peer = this.env.Peer.getByName('p');
    return this.ctx.blockConcurrencyWhile(async () => {
      this.seen.push('held');
      onHeld();
      await peer.echo(1);
      this.seen.push('released');
      return this.seen;
    });
  }
  async *range(): AsyncGenerator<number> {
    yield 1;
  }
  reset(): void {
    this.ctx.abort('on purpose');
  }
  stream(): ReadableStream<Uint8Array> {
    return new Response('streamed').body as ReadableStream<Uint8Array>;
  }
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/echo') return new Response(request.body, { headers: request.headers });
    if (pathname === '/forward') return this.env.Peer.getByName('p').fetch(request);
    if (pathname === '/moved') {
      return new Response(null, { status: 307, headers: { location: '/here' } });
    }
    if (pathname === '/round') {
      return new Response(null, { status: 302, headers: { location: '/round' } });
    }
    if (pathname === '/facts') {
      const { cf } = request as { cf?: unknown };
      return Response.json([cf, request.headers.get('content-length')]);
    }
    if (pathname === '/wrong') return 'no response' as never;
    const text = await request.text();
    return Response.json({
      method: request.method,
      text,
      upgrade: request.headers.get('upgrade'),
    });
  }
}

class Mute extends Base {}

/** Of a class that answers requests only. */
class Plain {
  count(): number {
    return 1;
  }
  get size(): number {
    return 2;
  }
  fetch(): Response {
    return new Response('answered');
  }
}

class Peer extends Base {
  seen: unknown[] = [];
  note(value: unknown): void {
    this.seen.push(value);
  }
  notes(): unknown[] {
    return this.seen;
  }
  echo(value: unknown): unknown {
    return value;
  }
  async fetch(request: Request): Promise<Response> {
    return new Response(`${request.method} ${await request.text()} ${request.headers.get('a')}`);
  }
  roomNamed(name: string): DurableObjectStub<Room> {
    return this.env.Room.getByName(name);
  }
}

let onHeld = () => {};
let host: TestHost;
let env: Env;
let room: DurableObjectStub<Room>;

beforeEach(async () => {
  let namespaces: Namespaces | undefined;
  host = await createTestHost({}, { Room, Peer, Mute, Plain }, (context) => {
    return namespaces!.bindings(context);
  });
  namespaces = new Namespaces(host.host, { greeting: 'hi' });
  env = namespaces.outsideEnv as Env;
  room = env.Room.getByName('a');
});

afterEach(() => host.close());

function failure(call: Promise<unknown>): Promise<Error & { code?: string; remote?: boolean }> {
  return call.then(
    () => expect.fail('it succeeded'),
    (error) => error,
  );
}

function call(name: string): Promise<unknown> {
  return (room as unknown as Record<string, (value: number) => Promise<unknown>>)[name]!(1);
}

describe('which members are public', () => {
  test('[STUB1] methods of the class and of what it extends are called', async () => {
    expect(await room.echo({ a: [1, new Map([[1, new Date(5)]])] })).toEqual({
      a: [1, new Map([[1, new Date(5)]])],
    });
    expect(await room.inherited()).toBe('inherited');
  });

  test.for(['nope', 'field', 'arrow', 'ctx', 'env', 'seen', 'alarm', 'dup', 'connect', 'getter'])(
    '[STUB2] %s is not a method, and the error says so',
    async (name) => {
      const error = await failure(call(name));
      expect(error).toMatchObject({ name: 'TypeError', code: 'UNKNOWN_METHOD', remote: true });
      expect(error.message).toContain(`Room.${name}`);
    },
  );

  test('[STUB2] what every object has stays local', async () => {
    expect([String(room), JSON.stringify(room)]).toEqual([
      '[object DurableObject]',
      '{"id":{"name":"a"},"name":"a"}',
    ]);
    expect(room).not.toHaveProperty('then');
  });

  test('[STUB3] a getter is read by awaiting it, a method so read can be called', async () => {
    expect(await room.getter).toBe('got');
    const echo = (await (room.echo as unknown)) as (value: number) => Promise<number>;
    expect(await echo(3)).toBe(3);
  });

  test('[STUB28] a class that does not extend DurableObject answers requests, and no calls', async () => {
    const plain = env.Plain.getByName('a');
    for (const call of [plain.count(), plain.size] as Promise<unknown>[]) {
      const error = await failure(call);
      expect(error).toMatchObject({ name: 'TypeError', remote: true });
      expect(error.message).toContain('`extends DurableObject`');
    }
    expect(await (await plain.fetch('http://plain/')).text()).toBe('answered');
  });

  test('[STUB4] a class that is not served is an error with a code', async () => {
    const sent = new Namespaces(host.host, {}).calls.carry({
      address: { className: 'Nope', id: room.id.toString() },
      bond: new Bond(),
      request: () => ({ op: 'get', path: ['x'] }),
    });
    expect(await failure(sent)).toMatchObject({ code: 'UNKNOWN_CLASS' });
  });
});

describe('arguments and results', () => {
  test('[STUB5] they are copies, made when the call is made', async () => {
    const given = { list: [1] };
    const noted = room.note(given);
    given.list.push(2);
    await noted;
    expect(await room.notes()).toEqual([{ list: [1] }]);
  });

  test.for<[string, unknown]>([
    ['symbol', Symbol('s')],
    ['promise', Promise.resolve()],
    ['instance of a class', new (class Point {})()],
    ['weak map', new WeakMap()],
  ])('[STUB6] a %s is refused before anything is sent', async ([, value]) => {
    const error = await failure(room.note(value));
    expect(error).toMatchObject({ name: 'DataCloneError' });
    expect(error.remote).toBe(undefined);
    expect(await room.notes()).toEqual([]);
  });

  test('[STUB6] a result that cannot be cloned rejects with the reason', async () => {
    expect(await failure(room.range() as unknown as Promise<unknown>)).toMatchObject({
      name: 'DataCloneError',
      remote: true,
    });
  });

  test('[STUB7] errors keep class, message, code and cause, and tell that they are remote', async () => {
    const error = await failure(room.fail());
    expect(error).toMatchObject({ name: 'MyError', message: 'mine', code: 'E_MINE', remote: true });
    expect(error.cause).toBeInstanceOf(RangeError);
    expect(error.stack).toContain('fail');
    expect(await failure(room.failWith('words'))).toMatchObject({
      name: 'Error',
      message: 'words',
    });
    expect(await failure(room.failWith({ reason: 1 }))).toEqual({ reason: 1 });
    const detailed = Object.assign(new RangeError('far'), { at: [1] });
    expect(await failure(room.failWith(detailed))).toMatchObject({ name: 'RangeError', at: [1] });
  });

  test('[STUB7] a reset rejects what is pending, and the next stub gets a fresh instance', async () => {
    await room.note('lost');
    const error = await failure(room.reset());
    expect(error).toMatchObject({
      message: 'on purpose',
      code: 'OBJECT_RESET',
      durableObjectReset: true,
      retryable: false,
    });
    expect(error.remote).toBeUndefined();
    expect(await env.Room.getByName('a').notes()).toEqual([]);
  });

  test('[STUB27] a stub that reached the instance rejects with the reason of its reset', async () => {
    const other = env.Room.getByName('a');
    const unused = env.Room.getByName('a');
    await other.note('reached');
    await failure(room.reset());
    for (const stub of [room, other]) {
      for (const call of [stub.notes(), stub.fetch('http://room/')] as Promise<unknown>[]) {
        expect(await failure(call)).toMatchObject({ message: 'on purpose', retryable: false });
      }
    }
    expect(await unused.notes()).toEqual([]);
  });

  test('[STUB27] an eviction, and a reset from outside, break no stub', async () => {
    await room.note('reached');
    await host.advance(10_000);
    expect(await room.notes()).toEqual([]);
    const { className, id } = { className: 'Room', id: room.id };
    await host.host.reset({ className, id } as never, new Error('outside'));
    expect(await room.notes()).toEqual([]);
  });
});

describe('by reference', () => {
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

  test('[STUB21] a call that fails fails what was asked of its result', async () => {
    const failed = room.fail() as unknown as { deep: { call(): Promise<unknown> } };
    expect(await failure(failed.deep.call())).toMatchObject({ message: 'mine', remote: true });
  });

  test('[STUB21] what is used so can be awaited as well, and disposed', async () => {
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
    expect(await failure(target.add(1))).toMatchObject({ code: 'CONNECTION_CLOSED' });
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

  test('[STUB11] a stub may be passed and returned', async () => {
    await env.Peer.getByName('p').note('mine');
    const peer = (await room.echo(env.Peer.getByName('p'))) as DurableObjectStub<Peer>;
    expect(await peer.notes()).toEqual(['mine']);
    expect(peer.name).toBe('p');
    const other = (await env.Peer.getByName('p').roomNamed('b')) as DurableObjectStub<Room>;
    await other.note('to b');
    expect(await env.Room.getByName('b').notes()).toEqual(['to b']);
  });

  test('[STUB12] a stream in a result is pulled by its reader', async () => {
    expect(await new Response(await room.stream()).text()).toBe('streamed');
  });
});

describe('one object calls another', () => {
  test('[STUB13] calls of one stub arrive in the order they were made', async () => {
    await Promise.all([1, 2, 3, 4].map((value) => room.note(value)));
    expect(await room.notes()).toEqual([1, 2, 3, 4]);
  });

  test('[STUB14] a call waits until what its object wrote is on disk', async () => {
    const peer = env.Peer.getByName('p');
    await Promise.all([room.note(0), peer.notes()]);
    host.holdFlushes();
    const told = room.writeAndTell();
    await host.turns(20);
    expect(await peer.notes()).toEqual([]);
    host.releaseFlushes();
    await told;
    expect(await peer.notes()).toEqual(['told']);
  });

  test('[STUB14] the answer arrives in the critical section that asked', async () => {
    const holding = new Promise<void>((resolve) => {
      onHeld = resolve;
    });
    const held = room.hold();
    await holding;
    const noted = room.note('other');
    expect(await held).toEqual(['held', 'released']);
    await noted;
    expect(await room.notes()).toEqual(['held', 'released', 'other']);
  });

  test('[STUB15] env has the namespaces of all classes and what the app passed', async () => {
    const { greeting } = env as unknown as { greeting: string };
    expect([greeting, Object.keys(env).sort()]).toEqual([
      'hi',
      ['Mute', 'Peer', 'Plain', 'Room', 'greeting'],
    ]);
    expect(await room.askPeer({ n: 1 })).toEqual({ n: 1 });
  });

  test.for([[null], [undefined]])(
    '[STUB29] the jurisdiction %s means no jurisdiction',
    ([none]) => {
      const rooms = env.Room.jurisdiction('eu').jurisdiction(none as never);
      expect(rooms.idFromName('a').equals(env.Room.idFromName('a'))).toBe(true);
      expect(rooms.newUniqueId({ jurisdiction: none } as never).jurisdiction).toBeUndefined();
    },
  );
});

describe('fetch', () => {
  test('[STUB30] a request tells what its network knows, and the length of its body', async () => {
    const facts = async (init: object) => {
      return (await room.fetch('http://room/facts', { method: 'POST', ...init })).json();
    };
    expect(await facts({ cf: { country: 'AT' }, body: 'aé' })).toEqual([{ country: 'AT' }, '3']);
    expect(await facts({ body: new Uint8Array(5) })).toEqual([null, '5']);
    expect(await facts({ body: new Blob(['four']) })).toEqual([null, '4']);
    expect(await facts({})).toEqual([null, null]);
  });

  test('[STUB16] the object’s fetch gets method, headers and body; forbidden headers too', async () => {
    const response = await room.fetch('http://object/x', {
      method: 'POST',
      body: 'hello',
      headers: { Upgrade: 'websocket' },
    });
    expect(await response.json()).toEqual({ method: 'POST', text: 'hello', upgrade: 'websocket' });
  });

  test('[STUB16] a request may be handed on to another object, with what init replaces', async () => {
    const init = { method: 'PUT', body: 'mine', headers: { a: '1' } };
    const response = await room.fetch('http://object/forward', init);
    expect(await response.text()).toBe('PUT mine 1');
    const given = new Request('http://object/forward', init);
    const replaced = await room.fetch(given, { body: 'other', headers: { a: '2' } });
    expect(await replaced.text()).toBe('PUT other 2');
    const kept = await room.fetch(given);
    expect(await kept.text()).toBe('PUT mine 1');
    expect(await failure(room.fetch(given))).toMatchObject({ name: 'TypeError' });
    const asInit = new Request('http://elsewhere/', init);
    const moved = await room.fetch('http://object/forward', asInit);
    expect(await moved.text()).toBe('PUT mine 1');
  });

  test('[STUB17] bodies are streamed both ways', async () => {
    const sent = new TransformStream<Uint8Array, Uint8Array>();
    const writer = sent.writable.getWriter();
    const response = await room.fetch('http://object/echo', {
      method: 'POST',
      body: sent.readable,
    });
    const reader = response.body!.getReader();
    for (const word of ['one', 'two']) {
      void writer.write(new TextEncoder().encode(word));
      const { value } = await reader.read();
      expect(new TextDecoder().decode(value)).toBe(word);
    }
    await writer.close();
    expect((await reader.read()).done).toBe(true);
  });

  test('[STUB18] an aborted fetch rejects with the reason of its signal', async () => {
    const abort = new AbortController();
    const sent = new TransformStream<Uint8Array, Uint8Array>();
    const pending = room.fetch('http://object/x', {
      method: 'POST',
      body: sent.readable,
      signal: abort.signal,
    });
    abort.abort();
    expect(await failure(pending)).toMatchObject({ name: 'AbortError' });
  });

  test('[STUB18] an abort after the answer fails its body', async () => {
    const abort = new AbortController();
    const sent = new TransformStream<Uint8Array, Uint8Array>();
    const response = await room.fetch('http://object/echo', {
      method: 'POST',
      body: sent.readable,
      signal: abort.signal,
    });
    const text = response.text();
    abort.abort();
    expect(await failure(text)).toMatchObject({ name: 'AbortError' });
  });

  test('[STUB6] a stream stays usable when another argument is refused', async () => {
    const { readable } = new TransformStream();
    expect(await failure(room.note([readable, Symbol('s')]))).toMatchObject({
      name: 'DataCloneError',
    });
    expect(readable.locked).toBe(false);
  });

  test('[STUB22] redirects lead to the same object, with the body', async () => {
    const response = await room.fetch('http://object/moved', { method: 'PUT', body: 'kept' });
    expect([response.url, response.redirected]).toEqual(['http://object/here', true]);
    expect(await response.json()).toMatchObject({ method: 'PUT', text: 'kept' });
  });

  test('[STUB22] a caller may keep or refuse them, and they end', async () => {
    const kept = await room.fetch('http://object/moved', { redirect: 'manual' });
    expect([kept.status, kept.redirected]).toEqual([307, false]);
    const refused = room.fetch('http://object/moved', { redirect: 'error' });
    expect(await failure(refused)).toMatchObject({ name: 'TypeError' });
    const body = new Response('once').body!;
    const streamed = room.fetch('http://object/moved', {
      method: 'PUT',
      body,
      duplex: 'half',
    } as object);
    expect((await failure(streamed)).message).toContain('was a stream');
    expect((await failure(room.fetch('http://object/round'))).message).toContain('20 redirects');
  });

  test('[STUB19] a class without fetch, and an answer that is not a Response, are errors', async () => {
    const mute = env.Mute.getByName('m');
    expect(await failure(mute.fetch('http://object/'))).toMatchObject({ code: 'UNKNOWN_METHOD' });
    expect(await failure(room.fetch('http://object/wrong', { method: 'POST' }))).toMatchObject({
      name: 'TypeError',
    });
  });
});
