import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { Namespaces } from '../../../worker/objects/calls/namespaces.ts';
import type { ObjectManager } from '../../../worker/objects/host/object-manager.ts';
import { PageSessions } from '../../../worker/objects/sessions/page-sessions.ts';
import { DurableObject } from '../../../worker/realm/library/library.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { withSocket } from '../../shared/calls/sockets/install.ts';
import { WebSocketPair } from '../../shared/calls/sockets/web-socket.ts';
import { withSignal } from '../../shared/calls/stubs/with-signal.ts';
import type { RpcStub } from '../../shared/contract/object.ts';
import type { ObjectAddress } from '../../shared/contract/object-id.ts';
import { RpcTarget } from '../../shared/contract/rpc-target.ts';
import type { RemoteObjects } from './connect.ts';

class Room extends DurableObject {
  #listener: RpcStub<(event: string) => void> | undefined;
  add(by: number): number {
    const sum = (this.ctx.storage.kv.get<number>('sum') ?? 0) + by;
    this.ctx.storage.kv.put('sum', sum);
    return sum;
  }
  get sum(): number {
    return this.ctx.storage.kv.get<number>('sum') ?? 0;
  }
  hold(): Promise<void> {
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    return this.ctx.blockConcurrencyWhile(() => held);
  }
  async write(word: string): Promise<string> {
    this.ctx.storage.put('word', word);
    return word;
  }
  listen(listener: RpcStub<(event: string) => void>): void {
    this.#listener = listener.dup();
  }
  async say(event: string): Promise<void> {
    await this.#listener?.(event);
  }
  /** Stores the reason when the listener breaks. */
  listenUntilBroken(listener: RpcStub<(event: string) => void>): void {
    const mine = listener.dup();
    mine.onRpcBroken((error) => {
      this.ctx.storage.kv.put('gone', (error as { code?: string }).code ?? 'no code');
    });
    this.#listener = mine;
  }
  gone(): string | undefined {
    return this.ctx.storage.kv.get<string>('gone');
  }
  reset(): void {
    this.ctx.abort('on purpose');
  }
  wait(): Promise<never> {
    return new Promise(() => {});
  }
  counter(): Counter {
    return new Counter();
  }
  async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === '/wait') {
      return new Promise((resolve) => {
        request.signal.addEventListener('abort', () => {
          aborted.push(String(request.signal.reason.name));
          resolve(new Response());
        });
      });
    }
    if (request.headers.get('Upgrade') === 'websocket') {
      const { 0: client, 1: server } = new WebSocketPair();
      server.accept();
      server.addEventListener('message', ({ data }: MessageEventInit) => {
        server.send(`heard ${data}`);
      });
      return withSocket(new Response(), client);
    }
    if (request.method === 'GET') {
      const headers = { 'Set-Cookie': 'a=1', 'X-From': 'room' };
      return new Response(null, { status: 204, headers });
    }
    return new Response(request.body, { status: 201 });
  }
}

class Counter extends RpcTarget {
  #count = 0;
  next(): number {
    return ++this.#count;
  }
}

let asked: unknown[] = [];

/** Replaces the host's manager, and records its requests. */
const manager = {
  async list(className: string) {
    return [{ address: addressOf(className), sizeBytes: 4096, nextAlarm: 5, branches: ['draft'] }];
  },
  async delete({ id }: ObjectAddress) {
    asked.push(id.name);
  },
  clock: {
    now: () => 7,
    set: async (timeMs: number) => void asked.push(timeMs),
    async advance(durationMs: number) {
      if (durationMs < 0) throw new RangeError('not back');
      asked.push(durationMs);
    },
    runNextAlarm: async () => ({ address: addressOf('Room'), dueMs: 9 }),
    resume: async () => void asked.push('resume'),
  },
} as unknown as ObjectManager;

function addressOf(className: string): ObjectAddress {
  return { className, id: host.host.classes.get(className).ids.fromName('a') };
}

let release = () => {};
let aborted: string[] = [];
let host: TestHost;
let tabs: FakeTabs;
let first: FakeTab;
let second: FakeTab;

beforeEach(async () => {
  aborted = [];
  let namespaces: Namespaces | undefined;
  host = await createTestHost({}, { Room }, (context) => {
    return namespaces!.bindings(context);
  });
  asked = [];
  namespaces = new Namespaces(host.host, {}, manager);
  const { calls } = namespaces;
  const sessions = new PageSessions(host.host, () => () => {});
  tabs = new FakeTabs(runCandidate, () => calls, sessions);
  first = tabs.tab();
  second = tabs.tab();
});

afterEach(async () => {
  tabs.close();
  await host.close();
});

type Classes = { Room: Room };

function connect(tab: FakeTab): Promise<RemoteObjects<Classes>> {
  return tab.connect<Classes>();
}

function failure(call: Promise<unknown>): Promise<Error & { code?: string; remote?: boolean }> {
  return call.then(
    () => expect.fail('it succeeded'),
    (error) => error,
  );
}

describe('a page', () => {
  test('[CONN1] calls the objects of its worker, from every tab', async () => {
    const mine = (await connect(first)).env.Room.getByName('a');
    const theirs = (await connect(second)).env.Room.getByName('a');
    expect([await mine.add(1), await theirs.add(2), await mine.add(3)]).toEqual([1, 3, 6]);
    expect(second.host).toBe(null);
  });

  test('[CONN1] has the same ids as the worker', async () => {
    const { env } = await connect(first);
    const id = env.Room.idFromName('a');
    expect(String(id)).toBe(String(host.host.classes.get('Room').ids.fromName('a')));
    expect(env.Room.get(env.Room.idFromString(String(id))).name).toBe(undefined);
    expect(env.Room.jurisdiction('eu').newUniqueId().jurisdiction).toBe('eu');
    expect(() => env.Room.idFromString('f'.repeat(64))).toThrow('namespace');
    expect(() => env.Room.get({} as never)).toThrow(
      expect.objectContaining({ name: 'TypeError', code: 'INVALID_ARGUMENT' }),
    );
  });

  test('[CONN2] a class that is not served throws, by name', async () => {
    const { env } = await connect(first);
    const read = () => (env as unknown as { Nope: unknown }).Nope;
    expect(read).toThrow('"Nope"; it serves: Room');
  });

  test('[CONN3] calls made in one turn arrive in order', async () => {
    const { env } = await connect(second);
    const room = env.Room.getByName('a');
    expect(await Promise.all([1, 2, 3].map((by) => room.add(by)))).toEqual([1, 3, 6]);
  });

  test('[CONN4] a function it passed is called from the worker, over both kinds of connection', async () => {
    const mine = (await connect(first)).env.Room.getByName('a');
    const theirs = (await connect(second)).env.Room.getByName('a');
    const heard: string[] = [];
    await theirs.listen((event) => void heard.push(event));
    await mine.say('one');
    await theirs.say('two');
    expect(heard).toEqual(['one', 'two']);
  });

  test('[CONN4] an RpcTarget of the worker is a stub on the page', async () => {
    const counter = await (await connect(second)).env.Room.getByName('a').counter();
    expect([await counter.next(), await counter.next()]).toEqual([1, 2]);
  });

  test('[CONN4] fetch streams bodies both ways and keeps every header', async () => {
    for (const tab of [first, second]) {
      const room = (await connect(tab)).env.Room.getByName('a');
      const sent = new TransformStream<Uint8Array, Uint8Array>();
      const writer = sent.writable.getWriter();
      const response = await room.fetch('http://room/', { method: 'POST', body: sent.readable });
      expect(response.status).toBe(201);
      const reader = response.body!.getReader();
      for (const word of ['one', 'two']) {
        void writer.write(new TextEncoder().encode(word));
        expect(new TextDecoder().decode((await reader.read()).value)).toBe(word);
      }
      await writer.close();
      expect((await reader.read()).done).toBe(true);
      const { status, headers } = await room.fetch('http://room/');
      expect([status, headers.get('X-From'), headers.getSetCookie()]).toEqual([
        204,
        'room',
        ['a=1'],
      ]);
    }
  });

  test('[STUB18] an aborted fetch rejects at once, and the object is told', async () => {
    const room = (await connect(second)).env.Room.getByName('a');
    const abort = new AbortController();
    const pending = room.fetch('http://room/wait', { signal: abort.signal });
    await room.add(1);
    abort.abort();
    expect(await failure(pending)).toMatchObject({ name: 'AbortError' });
    await vi.waitUntil(() => aborted.length > 0);
    expect(aborted).toEqual(['AbortError']);
  });

  test('[STUB20] an upgrade gives a socket, also to a page of another tab', async () => {
    await connect(first);
    for (const tab of [first, second]) {
      const room = (await connect(tab)).env.Room.getByName('a');
      const response = await room.fetch('http://room/', { headers: { Upgrade: 'websocket' } });
      const webSocket = response.webSocket!;
      expect(response.status).toBe(101);
      const heard: unknown[] = [];
      webSocket.accept();
      webSocket.addEventListener('message', ({ data }: MessageEventInit) => heard.push(data));
      for (const word of ['one', 'two', 'three']) webSocket.send(word);
      await vi.waitUntil(() => heard.length === 3);
      expect(heard).toEqual(['heard one', 'heard two', 'heard three']);
      webSocket.close();
    }
  });

  test('[CONN1] the storage of an object can be looked into', async () => {
    const objects = await connect(first);
    const room = objects.env.Room.getByName('a');
    await room.write('hello');
    const storage = await objects.storage(room);
    expect(await storage.get('word')).toBe('hello');
    expect(await failure(objects.storage({} as never))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('tools', () => {
  test('[CONN1] objects are listed and deleted through the worker that leads', async () => {
    const { env, list, deleteObject } = await connect(second);
    const [found] = await list('Room');
    expect(found).toMatchObject({
      className: 'Room',
      sizeBytes: 4096,
      nextAlarm: 5,
      branches: ['draft'],
    });
    expect(found!.id.equals(env.Room.idFromName('a'))).toBe(true);
    await deleteObject(env.Room.get(found!.id));
    expect(asked).toEqual(['a']);
    expect(await failure(list('Nope' as 'Room'))).toMatchObject({ code: 'UNKNOWN_CLASS' });
  });

  test('[CONN1] the clock of the worker is driven, and its errors come back', async () => {
    const { clock } = await connect(second);
    await clock.set(new Date(3));
    await clock.advance(2);
    await clock.resume();
    expect([await clock.now(), asked]).toEqual([7, [3, 2, 'resume']]);
    const ran = await clock.runNextAlarm();
    expect([ran?.className, ran?.id.name, ran?.dueTime]).toEqual(['Room', 'a', 9]);
    expect(await failure(clock.advance(-1))).toMatchObject({ name: 'RangeError' });
  });
});

describe('a call', () => {
  test('[STATE3] of a method is a pending write of the connection, the read of a getter is not', async () => {
    const objects = await connect(first);
    const room = objects.env.Room.getByName('a');
    const added = room.add(2);
    expect(objects.pendingWrites).toBe(1);
    await added;
    await turns();
    const counts: number[] = [];
    objects.addEventListener('statechange', () => counts.push(objects.pendingWrites));
    expect(await room.sum).toBe(2);
    await turns();
    expect([objects.pendingWrites, counts]).toEqual([0, []]);
  });

  test('[CANCEL7] that waits for its object never begins once its page has cancelled it', async () => {
    await connect(first);
    const room = (await connect(second)).env.Room.getByName('a');
    await room.add(1);
    const holding = room.hold();
    await turns(20);
    const abort = new AbortController();
    const cancelled = failure(withSignal(room, abort.signal).add(5));
    await turns(20);
    abort.abort(new Error('enough'));
    expect(await cancelled).toMatchObject({ message: 'enough' });
    await turns(20);
    release();
    await holding;
    expect(await room.add(0)).toBe(1);
  });
});

describe('a worker that dies', () => {
  test('[CONN7] rejects the calls under way, and stubs reach the next one', async () => {
    await connect(first);
    const theirs = (await connect(second)).env.Room.getByName('a');
    const pending = failure(theirs.wait());
    await theirs.add(1);
    first.close();
    expect(await pending).toMatchObject({ code: 'CONNECTION_CLOSED', retryable: true });
    expect(await theirs.add(1)).toBe(2);
  });

  test('[CONN7] the page’s own is started again', async () => {
    const room = (await connect(first)).env.Room.getByName('a');
    const pending = failure(room.wait());
    await room.add(1);
    first.terminateWorker();
    expect(await pending).toMatchObject({ code: 'CONNECTION_CLOSED', retryable: true });
    expect(await room.add(1)).toBe(2);
    expect(first.workers.length).toBe(2);
  });

  test('[CONN7] takes the values that it passed by reference with it', async () => {
    const room = (await connect(first)).env.Room.getByName('a');
    const counter = await room.counter();
    first.terminateWorker();
    await turns();
    expect(await failure(counter.next())).toMatchObject({ code: 'CONNECTION_CLOSED' });
  });
});

describe('onRpcBroken', () => {
  test('[STUB35] tells a page once that a target has ended with its worker, and later callers at once', async () => {
    await connect(first);
    const counter = await (await connect(second)).env.Room.getByName('a').counter();
    const seen: unknown[] = [];
    counter.onRpcBroken((error) => seen.push(error));
    counter.onRpcBroken((error) => seen.push(error));
    await turns();
    expect(seen).toEqual([]);
    first.close();
    await turns();
    expect(seen).toEqual(Array(2).fill(expect.objectContaining({ code: 'CONNECTION_CLOSED' })));
    counter.onRpcBroken((error) => seen.push(error));
    await turns();
    expect(seen.length).toBe(3);
  });

  test('[STUB35] tells a page that a target has ended with its object, and why', async () => {
    const room = (await connect(second)).env.Room.getByName('a');
    const counter = await room.counter();
    const told = new Promise((resolve) => counter.onRpcBroken(resolve));
    await failure(room.reset());
    expect(await told).toMatchObject({ message: 'on purpose', retryable: false });
  });

  test('[STUB35] tells nothing once the stub was disposed', async () => {
    const room = (await connect(second)).env.Room.getByName('a');
    const counter = await room.counter();
    let isTold = false;
    counter.onRpcBroken(() => {
      isTold = true;
    });
    counter[Symbol.dispose]();
    await failure(room.reset());
    await turns();
    expect(isTold).toBe(false);
  });

  test('[STUB35] tells an object that the page of a function has gone', async () => {
    const mine = (await connect(first)).env.Room.getByName('a');
    await (await connect(second)).env.Room.getByName('a').listenUntilBroken(() => {});
    expect(await mine.gone()).toBe(undefined);
    second.close();
    await vi.waitFor(async () => expect(await mine.gone()).toBe('CONNECTION_CLOSED'));
  });

  test('[STUB36] tells a page that the object of a subscription was reset', async () => {
    const { env } = await connect(second);
    const room = env.Room.getByName('a');
    await room.listen(() => {});
    const told = new Promise((resolve) => room.onRpcBroken(resolve));
    await failure(env.Room.getByName('a').reset());
    expect(await told).toMatchObject({ code: 'OBJECT_RESET', message: 'on purpose' });
    // The stub reaches the next instance, to which the page subscribes again.
    const again = new Promise((resolve) => room.onRpcBroken(resolve));
    await room.listen(() => {});
    await failure(env.Room.getByName('a').reset());
    expect(await again).toMatchObject({ code: 'OBJECT_RESET', message: 'on purpose' });
  });

  test('[STUB36] tells a page that the worker is gone; the stub reaches the next one', async () => {
    await connect(first);
    const room = (await connect(second)).env.Room.getByName('a');
    const told = new Promise((resolve) => room.onRpcBroken(resolve));
    await room.add(1);
    first.close();
    expect(await told).toMatchObject({ code: 'CONNECTION_CLOSED' });
    expect(await room.add(1)).toBe(2);
  });

  test('[STUB36] keeps the object in memory while its page is open', async () => {
    await connect(first);
    const room = (await connect(second)).env.Room.getByName('a');
    const counter = new CalledBack();
    await room.listen(() => counter.call());
    room.onRpcBroken(() => counter.end());
    await turns();
    await host.advance(60_000);
    await room.say('still the same instance');
    expect(counter).toMatchObject({ calls: 1, ends: 0 });
    const mine = (await connect(first)).env.Room.getByName('a');
    second.close();
    await turns();
    await host.advance(60_000);
    await mine.say('a fresh instance, which has no listener');
  });

  test('[STUB37] a page’s function keeps the object that holds it in memory until the page goes', async () => {
    await connect(first);
    const room = (await connect(second)).env.Room.getByName('a');
    const counter = new CalledBack();
    await room.listen(() => counter.call());
    await host.advance(60_000);
    const mine = (await connect(first)).env.Room.getByName('a');
    await mine.say('still the same instance');
    expect(counter.calls).toBe(1);
    second.close();
    await turns();
    await host.advance(60_000);
    await mine.say('a fresh instance, which has no listener');
    expect(counter.calls).toBe(1);
  });

  test('[STUB37] functions that a page passed over its first connection are called after it made a second', async () => {
    const heard: string[] = [];
    const earlier = (await connect(first)).env.Room.getByName('a');
    await earlier.listen((event) => void heard.push(event));
    const later = (await connect(first)).env.Room.getByName('a');
    await later.add(1);
    await later.say('to the first');
    expect(heard).toEqual(['to the first']);
    await later.listen((event) => void heard.push(`${event}, again`));
    await earlier.say('to the second');
    expect(heard).toEqual(['to the first', 'to the second, again']);
  });

  test('[STUB36] takes nothing but a function', async () => {
    const room = (await connect(first)).env.Room.getByName('a');
    expect(() => room.onRpcBroken('no' as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });
});

class CalledBack {
  calls = 0;
  ends = 0;
  call(): void {
    this.calls += 1;
  }
  end(): void {
    this.ends += 1;
  }
}

describe('a page that goes', () => {
  test('[CONN8] is let go of: its references no longer keep objects in memory', async () => {
    await connect(first);
    const theirs = (await connect(second)).env.Room.getByName('a');
    await theirs.listen(() => {});
    await theirs.counter();
    second.close();
    await turns();
    await host.advance(20_000);
    const mine = (await connect(first)).env.Room.getByName('a');
    await mine.say('nobody hears'); // a fresh instance, which has no listener
  });

  test('[CONN9] calls before close() are answered, of stubs and handles, which its promise waits for; later ones reject', async () => {
    const objects = await connect(first);
    const room = objects.env.Room.getByName('a');
    const storage = await objects.storage(room);
    const before = [room.add(1), storage.put('a', 1), objects.clock.now()];
    let isClosed = false;
    const closing = objects.close().then(() => {
      isClosed = true;
    });
    const late = [room.add(1), storage.put('b', 1), objects.clock.now()];
    for (const call of late) {
      expect(await failure(call)).toMatchObject({ code: 'CONNECTION_CLOSED' });
    }
    expect(objects.state).toBe('lost');
    expect(await Promise.all(before)).toEqual([1, undefined, 7]);
    await closing;
    expect(isClosed).toBe(true);
    const again = await connect(first);
    const next = again.env.Room.getByName('a');
    expect(await next.add(1)).toBe(2);
    expect([...(await (await again.storage(next)).list()).keys()]).toEqual(['a', 'sum']);
  });

  test('[CONN9] a call that does not end is waited for 30 s', async () => {
    const objects = await connect(first);
    const room = objects.env.Room.getByName('a');
    const endless = failure(room.wait());
    expect(await room.add(1)).toBe(1);
    let isClosed = false;
    const closing = objects.close().then(() => {
      isClosed = true;
    });
    first.advance(29_999);
    await turns();
    expect(isClosed).toBe(false);
    first.advance(1);
    expect(await endless).toMatchObject({ code: 'CONNECTION_CLOSED' });
    await closing;
    const again = await connect(first);
    expect(await again.env.Room.getByName('a').add(1)).toBe(2);
  });

  test('[CONN9] whoever watches an object is not waited for', async () => {
    const objects = await connect(first);
    const room = objects.env.Room.getByName('a');
    const broken: unknown[] = [];
    room.onRpcBroken((reason: unknown) => broken.push(reason));
    expect(await room.add(1)).toBe(1);
    await objects.close();
    await vi.waitUntil(() => broken.length === 1);
    expect(broken).toMatchObject([{ code: 'CONNECTION_CLOSED' }]);
  });
});
