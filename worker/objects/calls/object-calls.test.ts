import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createCalledHost, failure } from '../../../packages/testing/worker/called-host.ts';
import type { TestHost } from '../../../packages/testing/worker/test-host.ts';
import { Bond } from '../../../src/shared/calls/stubs/bond.ts';
import type { DurableObjectStub, Namespace } from '../../../src/shared/contract/object.ts';
import { DurableObject, RpcTarget } from '../../realm/library/library.ts';
import { Namespaces } from './namespaces.ts';

interface Env {
  Room: Namespace<Room>;
  Peer: Namespace<Peer>;
  Plain: Namespace<Plain>;
}

class MyError extends Error {
  override name = 'MyError';
  code = 'E_MINE';
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
  toJSON(...given: unknown[]): unknown {
    return ['of the class', given.length];
  }
  target(): RpcTarget {
    return new RpcTarget();
  }
  alarm(): void {}
  fail(): never {
    throw new MyError('mine', { cause: new RangeError('deep') });
  }
  failWith(thrown: unknown): never {
    throw thrown;
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
  wait(): Promise<void> {
    return new Promise(() => {});
  }
}

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
}

let onHeld = () => {};
let host: TestHost;
let env: Env;
let room: DurableObjectStub<Room>;

beforeEach(async () => {
  ({ host, env } = await createCalledHost<Env>({ Room, Peer, Plain }, { greeting: 'hi' }));
  room = env.Room.getByName('a');
});

afterEach(() => host.close());

function call(name: string): Promise<unknown> {
  return (room as unknown as Record<string, (value: number) => Promise<unknown>>)[name]!(1);
}

describe('which members are public', () => {
  test('[STUB1] methods of the class and of its base classes are called', async () => {
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

  test('[STUB2] members of every object stay local', async () => {
    expect([String(room), JSON.stringify(room)]).toEqual([
      '[object DurableObject]',
      '{"name":"a","id":{"name":"a"}}',
    ]);
    const local = room as unknown as Record<string, unknown>;
    for (const name of Object.getOwnPropertyNames(Object.prototype)) {
      if (name === '__proto__' || name === 'constructor' || name === 'toString') continue;
      expect(local[name], name).toBe((Object.prototype as unknown as typeof local)[name]);
    }
    expect(room).not.toHaveProperty('then');
  });

  test('[STUB47] toJSON is a method like others, and no call of JSON.stringify', async () => {
    expect(await room.toJSON()).toEqual(['of the class', 0]);
    expect(await room.toJSON(1, 2)).toEqual(['of the class', 2]);
    await room.note('before');
    const target = await room.target();
    expect(JSON.stringify({ room, target })).toBe('{"room":{"name":"a","id":{"name":"a"}}}');
    expect(await room.notes()).toEqual(['before']);
  });

  test('[STUB7] an error as a value, or in an error, does not list its stack', async () => {
    const deep = Object.assign(new RangeError('deep'), { place: 1 });
    const copy = (await room.echo([deep])) as Error[];
    expect([JSON.stringify(copy), copy[0]!.stack]).toEqual(['[{"place":1}]', deep.stack]);
    const thrown = await failure(room.failWith(Object.assign(new Error('thrown'), { deep })));
    expect(JSON.stringify({ ...thrown, durableObjectId: 'id' })).toBe(
      '{"deep":{"place":1},"remote":true,"durableObjectId":"id"}',
    );
  });

  test('[STUB1] a getter is read by awaiting it, a method so read can be called', async () => {
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
      mayWrite: false,
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
  ])('[STUB5] a %s is refused before anything is sent', async ([, value]) => {
    const error = await failure(room.note(value));
    expect(error).toMatchObject({ name: 'DataCloneError' });
    expect(error.remote).toBe(undefined);
    expect(await room.notes()).toEqual([]);
  });

  test('[STUB5] a result that cannot be cloned rejects with the reason', async () => {
    expect(await failure(room.range() as unknown as Promise<unknown>)).toMatchObject({
      name: 'DataCloneError',
      remote: true,
    });
  });

  test('[STUB44] streams are used up and end when another argument is refused', async () => {
    const [cancel, abort] = [vi.fn(), vi.fn()];
    const [from, to] = [new ReadableStream({ cancel }), new WritableStream({ abort })];
    expect(await failure(room.note([from, to, Symbol('s')]))).toMatchObject({
      name: 'DataCloneError',
    });
    expect([from.locked, to.locked]).toEqual([true, true]);
    expect([cancel.mock.calls.length, abort.mock.calls.length]).toEqual([1, 1]);
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
    expect(await failure(room.failWith({ reason: 1 }))).toEqual({
      reason: 1,
      remote: true,
      durableObjectId: expect.any(String),
    });
    const detailed = Object.assign(new RangeError('far'), { at: [1] });
    expect(await failure(room.failWith(detailed))).toMatchObject({ name: 'RangeError', at: [1] });
  });

  test('[STUB7] a reset rejects pending calls, and the next stub gets a fresh instance', async () => {
    await room.note('lost');
    const errors: (Error & { remote?: boolean })[] = [];
    for (const call of [room.wait(), room.reset()] as Promise<unknown>[]) {
      void failure(call).then((error) => errors.push(error));
    }
    await host.turns(20);
    expect(errors).toHaveLength(2);
    for (const error of errors) {
      expect(error).toMatchObject({
        message: 'on purpose',
        code: 'OBJECT_RESET',
        durableObjectReset: true,
        retryable: false,
      });
      expect(error.remote).toBeUndefined();
    }
    expect(await env.Room.getByName('a').notes()).toEqual([]);
  });
});

describe('one object calls another', () => {
  test('[STUB5] calls of one stub arrive in the order they were made', async () => {
    await Promise.all([1, 2, 3, 4].map((value) => room.note(value)));
    expect(await room.notes()).toEqual([1, 2, 3, 4]);
  });

  test("[STUB14] a call waits until its object's writes are on disk", async () => {
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

  test("[STUB15] env has the namespaces of all classes and the app's own env", async () => {
    const { greeting } = env as unknown as { greeting: string };
    expect([greeting, Object.keys(env).sort()]).toEqual([
      'hi',
      ['Peer', 'Plain', 'Room', 'greeting'],
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
