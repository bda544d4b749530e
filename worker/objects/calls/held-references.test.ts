import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createCalledHost, failure } from '../../../packages/testing/worker/called-host.ts';
import type { TestHost } from '../../../packages/testing/worker/test-host.ts';
import type { DurableObjectStub, Namespace, RpcStub } from '../../../src/shared/contract/object.ts';
import { RpcTarget } from '../../../src/shared/contract/rpc-target.ts';
import { DurableObject } from '../../realm/library/library.ts';

type Listener = RpcStub<(event: string) => void>;

interface Env {
  Room: Namespace<Room>;
}

let born = 0;

class Room extends DurableObject<Env> {
  readonly number = ++born;
  held: unknown[] = [];
  reason = 'none';

  instance(): number {
    return this.number;
  }
  join(listener: Listener): number {
    this.held.push(listener.dup());
    return this.number;
  }
  /** Forgets `dup`. */
  joinLent(listener: Listener): number {
    this.held.push(listener);
    return this.number;
  }
  async say(event: string): Promise<number> {
    for (const listener of this.held as Listener[]) await listener(event);
    return this.held.length;
  }
  leave(): void {
    for (const listener of this.held.splice(0) as Listener[]) listener[Symbol.dispose]();
  }
  keep(thing: unknown): number {
    this.held.push(thing);
    return this.number;
  }
  echo(thing: unknown): unknown {
    return thing;
  }
  giveHeld(): unknown {
    return (this.held[0] as Listener).dup();
  }
  async closeAll(): Promise<void> {
    for (const stream of this.held as WritableStream[]) await stream.close();
  }
  async readAll(): Promise<string> {
    return new Response(this.held[0] as ReadableStream).text();
  }
  subscribe(name: string): Promise<number> {
    return this.env.Room.getByName(name).join(((event: string) => {
      this.reason = event;
    }) as Listener);
  }
  heard(): string {
    return this.reason;
  }
  watch(name: string): void {
    this.env.Room.getByName(name).onRpcBroken((error) => {
      this.reason = String(error);
    });
  }
  abort(): void {
    this.ctx.abort('on purpose');
  }
  async fetch(request: Request): Promise<Response> {
    this.held.push(request);
    return new Response(String(this.number));
  }
}

const REST_MS = 60_000;

let host: TestHost;
let env: Env;
let room: DurableObjectStub<Room>;

beforeEach(async () => {
  born = 0;
  ({ host, env } = await createCalledHost<Env>({ Room }));
  room = env.Room.getByName('a');
});

afterEach(() => host.close());

/** Whether the object is the same instance after a rest that would evict it. */
async function isKept(stub: DurableObjectStub<Room>): Promise<boolean> {
  const before = await stub.instance();
  await host.advance(REST_MS);
  return (await stub.instance()) === before;
}

describe("an object's references keep it in memory", () => {
  test('[STUB37] a function, which is still called after a rest, until it is disposed of', async () => {
    const heard: string[] = [];
    await room.join(((event: string) => heard.push(event)) as never);
    expect(await isKept(room)).toBe(true);
    expect([await room.say('later'), heard]).toEqual([1, ['later']]);
    await room.leave();
    expect(await isKept(room)).toBe(false);
  });

  test('[STUB37] a target, and a stub that is passed on', async () => {
    await room.join(new (class extends RpcTarget {})() as never);
    expect(await isKept(room)).toBe(true);
    const other = env.Room.getByName('b');
    await other.join((await room.giveHeld()) as Listener);
    expect(await isKept(other)).toBe(true);
  });

  test('[STUB37] a function of another object: both stay, and neither after the holder’s end', async () => {
    const other = env.Room.getByName('b');
    await other.subscribe('a');
    const before = [await room.instance(), await other.instance()];
    await host.advance(REST_MS);
    expect([await room.instance(), await other.instance()]).toEqual(before);
    await room.say('heard');
    expect(await other.heard()).toBe('heard');
    await failure(Promise.resolve(env.Room.getByName('a').abort()));
    expect(await isKept(other)).toBe(false);
  });

  test('[STUB37] a stream, until it has been read', async () => {
    await room.keep(new Response('streamed').body);
    expect(await isKept(room)).toBe(true);
    expect(await room.readAll()).toBe('streamed');
    expect(await isKept(room)).toBe(false);
  });

  test('[STUB37] a stream to write to, until it is closed', async () => {
    await room.keep(new WritableStream());
    expect(await isKept(room)).toBe(true);
    await room.closeAll();
    expect(await isKept(room)).toBe(false);
  });

  test('[STUB37] a signal, until it is aborted', async () => {
    const controller = new AbortController();
    await room.keep(controller.signal);
    expect(await isKept(room)).toBe(true);
    controller.abort();
    await host.turns(10);
    expect(await isKept(room)).toBe(false);
  });

  test('[STUB37] not a request: neither its body nor its signal', async () => {
    const { signal } = new AbortController();
    const init = { method: 'POST', body: 'unread', signal };
    await (await room.fetch('http://room', init)).text();
    expect(await isKept(room)).toBe(false);
  });
});

describe('stubs in arguments', () => {
  test('[STUB38] are lent for the call: without dup() they are disposed of when it is answered', async () => {
    await room.joinLent((() => {}) as never);
    expect(await failure(room.say('later'))).toMatchObject({
      code: 'CONNECTION_CLOSED',
      message: expect.stringContaining('dup()'),
    });
    expect(await isKept(room)).toBe(false);
  });

  test('[STUB38] so are those of calls of functions and targets', async () => {
    let kept: Listener | undefined;
    const give = (await room.echo((listener: Listener) => {
      kept = listener;
    })) as (listener: unknown) => Promise<void>;
    await give(() => {});
    expect(await failure(Promise.resolve(kept!('x')))).toMatchObject({ code: 'CONNECTION_CLOSED' });
  });

  test('[STUB38] a returned stub belongs to the receiver', async () => {
    const heard: string[] = [];
    const echoed = (await room.echo((event: string) => heard.push(event))) as Listener;
    await echoed('mine');
    echoed[Symbol.dispose]();
    expect(heard).toEqual(['mine']);
    expect(await isKept(room)).toBe(false);
  });

  test('[STUB38] those of a call that fails are disposed of, too', async () => {
    const disposed: string[] = [];
    const target = new (class extends RpcTarget {
      [Symbol.dispose](): void {
        disposed.push('target');
      }
    })();
    await failure((room as unknown as { nope(value: unknown): Promise<void> }).nope(target));
    await host.turns(5);
    expect(disposed).toEqual(['target']);
  });
});

describe('onRpcBroken', () => {
  test('[STUB36] of code beside the objects keeps the object in memory, until it ends', async () => {
    const told: unknown[] = [];
    await room.instance();
    room.onRpcBroken((error) => told.push(error));
    await host.turns(10);
    expect(await isKept(room)).toBe(true);
    await host.host.evict(host.address('a', 'Room'));
    await host.turns(10);
    expect(told).toEqual([expect.objectContaining({ code: 'OBJECT_RESET' })]);
    expect(await isKept(env.Room.getByName('a'))).toBe(false);
  });

  test('[STUB36] of another object keeps both in memory, and nobody after the watcher’s end', async () => {
    const watcher = env.Room.getByName('watcher');
    await watcher.watch('a');
    const before = [await room.instance(), await watcher.instance()];
    await host.advance(REST_MS);
    expect([await room.instance(), await watcher.instance()]).toEqual(before);
    await host.host.evict(host.address('watcher', 'Room'));
    expect(await isKept(room)).toBe(false);
  });

  test('[STUB36] tells a watcher that has rested', async () => {
    const watcher = env.Room.getByName('watcher');
    await watcher.watch('a');
    await host.advance(REST_MS);
    await failure(Promise.resolve(room.abort()));
    await host.turns(10);
    expect(await watcher.heard()).toContain('on purpose');
  });
});
