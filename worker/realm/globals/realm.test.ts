import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  createObjects,
  DurableObject,
  exports,
  RpcStub,
} from '../../start/entries/node-objects.ts';
import { Realm } from './realm.ts';

const START_MS = Date.UTC(2030, 0, 1);
const NAMES = [
  ...['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval', 'scheduler', 'Date'],
  ...['fetch', 'Request', 'Response', 'IdentityTransformStream', 'FixedLengthStream'],
  ...['navigator', 'caches', 'Cloudflare', 'CloseEvent', 'WebSocket', 'WebSocketPair'],
  'WebSocketRequestResponsePair',
] as const;
const CHANGED_OBJECTS = [
  ...[Request, Response, Headers, Blob, SubtleCrypto, ReadableStreamBYOBReader, Date],
].map(({ prototype }) => prototype as object);
/** All that hosts replace: global names, and members of the platform's classes. */
const globals = () => [
  NAMES.map((name) => Object.getOwnPropertyDescriptor(globalThis, name)),
  ...[crypto, ...CHANGED_OBJECTS].map((owner) =>
    Reflect.ownKeys(owner).map((name) => [name, Object.getOwnPropertyDescriptor(owner, name)]),
  ),
];
const values = () => NAMES.map((name) => Reflect.get(globalThis, name));

interface Sockets {
  readonly WebSocketPair: new () => WebSocket[];
}

class Worker extends DurableObject {
  readonly made = crypto.randomUUID();

  async wait(delayMs: number): Promise<number> {
    const begunMs = Date.now();
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    return Date.now() - begunMs;
  }

  now(): number {
    return Date.now();
  }

  async text(url: string): Promise<string> {
    return (await fetch(url)).text();
  }

  classes(): string[] {
    return Object.keys(exports);
  }

  madeAs(): string {
    return this.made;
  }

  fetch(request: Request): Response {
    const { 0: client, 1: server } = new (globalThis as unknown as Sockets).WebSocketPair();
    const accepted = server as unknown as { accept(): void };
    if (request.url.endsWith('/kept')) this.ctx.acceptWebSocket(accepted as never);
    else {
      accepted.accept();
      server!.addEventListener('message', ({ data }) => server!.send(`${data} at ${Date.now()}`));
    }
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }

  webSocketMessage(socket: WebSocket, message: string): void {
    socket.send(`${message} at ${Date.now()}`);
  }
}

class Other extends Worker {}

const create = () => createObjects({ Worker });
type Objects = Awaited<ReturnType<typeof create>>;
const object = ({ env }: Objects, name = 'a') => env.Worker.getByName(name);

/** Opens a socket to the object. Returns it with the list of the messages and close codes that it receives. */
async function connect(objects: Objects, path: string): Promise<[WebSocket, unknown[]]> {
  const headers = { Upgrade: 'websocket' };
  const { webSocket } = await object(objects).fetch(`https://object/${path}`, { headers });
  const socket = webSocket as unknown as WebSocket & { accept(): void };
  const heard: unknown[] = [];
  socket.addEventListener('message', ({ data }) => heard.push(data));
  socket.addEventListener('close', (event) => heard.push((event as CloseEvent).code));
  socket.accept();
  return [socket, heard];
}

const open = new Set<{ close(): Promise<void> }>();
async function opened<T extends { close(): Promise<void> }>(creating: Promise<T>): Promise<T> {
  const objects = await creating;
  open.add(objects);
  return objects;
}
afterEach(async () => {
  for (const objects of open) await objects.close();
  open.clear();
  vi.unstubAllGlobals();
});

describe('hosts in one process', () => {
  test('[NODE11] each has its own time: timers and Date go by the clock of their host', async () => {
    const [held, free] = await Promise.all([opened(create()), opened(create())]);
    await held.clock.set(START_MS);
    const waiting = object(held).wait(60_000);
    expect(await object(free).wait(5)).toBeGreaterThanOrEqual(4);
    expect(await object(held).now()).toBe(START_MS);
    expect(Math.abs((await object(free).now()) - Date.now())).toBeLessThan(1e9);
    await held.clock.advance(60_000);
    expect(await waiting).toBe(60_000);
    expect(Date.now()).not.toBe(START_MS + 60_000);
  });

  test.each([0, 1])('[NODE11] host %i closes, the other goes on', async (closing) => {
    const both = [await opened(create()), await opened(create())] as const;
    const [gone, stays] = closing === 0 ? both : ([both[1], both[0]] as const);
    for (const { clock } of both) await clock.set(START_MS);
    const lost = object(gone).wait(1000);
    const waiting = object(stays).wait(1000);
    await object(gone).now();
    lost.catch(() => {});
    await gone.close();
    await expect(lost).rejects.toMatchObject({ code: 'OBJECT_RESET' });
    expect(await object(stays).now()).toBe(START_MS);
    await stays.clock.advance(1000);
    expect(await waiting).toBe(1000);
    const [socket, heard] = await connect(stays, 'own');
    socket.send('hi');
    await vi.waitFor(() => expect(heard).toEqual([`hi at ${START_MS + 1000}`]));
    socket.close(1000);
    expect(await object(stays).classes()).toEqual(['Worker']);
  });

  test('[NODE11] a request belongs to the object that makes it', async () => {
    const answers = new Map<string, () => void>();
    vi.stubGlobal(
      'fetch',
      (request: string | Request) =>
        new Promise((resolve) => {
          const url = typeof request === 'string' ? request : request.url;
          answers.set(url, () => resolve(new Response(`of ${url}`)));
        }),
    );
    const [first, second] = [await opened(create()), await opened(create())];
    await second.clock.set(START_MS);
    const [made] = [await object(second).madeAs()];
    const texts = [object(first).text('http://one/'), object(second).text('http://two/')];
    await vi.waitFor(() => expect(answers.size).toBe(2));
    await second.clock.advance(60_000); // the pending request keeps the object in memory
    for (const url of ['http://two/', 'http://one/']) answers.get(url)!();
    expect(await Promise.all(texts)).toEqual(['of http://one/', 'of http://two/']);
    expect(await object(second).madeAs()).toBe(made);
    await first.close();
    const after = object(second).text('http://after/');
    await vi.waitFor(() => expect(answers.size).toBe(3));
    answers.get('http://after/')!();
    expect(await after).toBe('of http://after/');
  });

  test('[NODE11] sockets belong to the object that accepts them, and end with its host', async () => {
    const [first, second] = [await opened(create()), await opened(create())];
    await first.clock.set(START_MS);
    await second.clock.set(0);
    const clients = await Promise.all([connect(first, 'own'), connect(second, 'own')]);
    const kept = await Promise.all([connect(first, 'kept'), connect(second, 'kept')]);
    for (const [socket] of [...clients, ...kept]) socket.send('hi');
    const heard = [...clients, ...kept].map(([, log]) => log);
    await vi.waitFor(() =>
      expect(heard).toEqual([
        [`hi at ${START_MS}`],
        ['hi at 0'],
        [`hi at ${START_MS}`],
        ['hi at 0'],
      ]),
    );
    await first.close();
    await vi.waitFor(() => expect([heard[0]![1], heard[2]![1]]).toEqual([1006, 1006]));
    for (const [socket] of [clients[1]!, kept[1]!]) socket.send('again');
    await vi.waitFor(() =>
      expect([heard[1]![1], heard[3]![1]]).toEqual(['again at 0', 'again at 0']),
    );
  });

  test('[NODE11] an object that calls one of another host gets an answer; each keeps its time', async () => {
    const second = await opened(create());
    await second.clock.set(0);
    class Caller extends DurableObject {
      async ask(): Promise<number[]> {
        const before = Date.now();
        const theirs = await object(second).now();
        return [before, theirs, Date.now()];
      }
    }
    const first = await opened(createObjects({ Caller }));
    await first.clock.set(START_MS);
    expect(await first.env.Caller.getByName('a').ask()).toEqual([START_MS, 0, START_MS]);
  });

  test("[NODE11] a class's imports belong to its own host", async () => {
    const first = await opened(create());
    const second = await opened(createObjects({ Worker, Other }));
    expect(await object(first).classes()).toEqual(['Worker']);
    expect(await second.env.Other.getByName('a').classes()).toEqual(['Worker', 'Other']);
    await second.close();
    expect(Object.keys(exports)).toEqual(['Worker']);
    await first.close();
    expect(Object.keys(exports)).toEqual([]);
  });

  test('[STUB24] a target runs as the object that calls its own stub of it', async () => {
    class Own extends DurableObject {
      async ask(): Promise<number[]> {
        const now = new RpcStub(() => Date.now()) as unknown as () => Promise<number>;
        return [Date.now(), await now(), Date.now()];
      }
    }
    const objects = await opened(createObjects({ Own }));
    await objects.clock.set(START_MS);
    const seen = await objects.env.Own.getByName('a').ask();
    expect(seen).toEqual([START_MS, START_MS, START_MS]);
  });

  test('[NODE11] many at once, as tests make them', async () => {
    const runs = Array.from({ length: 12 }, async (_, i) => {
      const objects = await create();
      await objects.clock.set(i * 1000);
      const waiting = object(objects).wait(500);
      expect(await object(objects, 'b').now()).toBe(i * 1000);
      await objects.clock.advance(500);
      expect(await waiting).toBe(500);
      await objects.close();
    });
    await Promise.all(runs);
  });
});

describe('the global scope', () => {
  test('[NODE12] is the platform’s before the first host and after the last, for 100 hosts', async () => {
    const before = [globals(), values()] as const;
    for (let i = 0; i < 50; i++) {
      const [first, second] = await Promise.all([create(), create()]);
      expect(values()).not.toEqual(before[1]);
      expect(Headers.prototype).toHaveProperty('getAll');
      expect(crypto).toHaveProperty('DigestStream');
      await object(first).now();
      await first.close();
      await second.close();
      expect(globals()).toEqual(before[0]);
      const after = values();
      for (const [index, value] of before[1].entries()) expect(after[index]).toBe(value);
    }
    expect(new Date().constructor).toBe(Date);
  });

  test('[NODE12] a part that an entry adds, before the first host or beside it, is the platform’s after the last', () => {
    const scope = { early: 'platform', late: 'platform' };
    const realm = new Realm(scope as never, []);
    const replace = (name: keyof typeof scope) => () => {
      scope[name] = 'replaced';
      return () => {
        scope[name] = 'platform';
      };
    };
    const early = replace('early');
    realm.extend(early);
    realm.extend(early);
    expect(scope).toEqual({ early: 'platform', late: 'platform' });
    for (const late of [replace('late'), early]) {
      const release = realm.hold();
      const releaseSecond = realm.hold();
      realm.extend(late);
      expect(scope).toEqual({ early: 'replaced', late: 'replaced' });
      release();
      release();
      expect(scope).toEqual({ early: 'replaced', late: 'replaced' });
      releaseSecond();
      expect(scope).toEqual({ early: 'platform', late: 'platform' });
    }
  });

  test('[NODE12] to import the library and the entries changes nothing', async () => {
    vi.resetModules();
    for (const name of NAMES.slice(-2)) Reflect.deleteProperty(globalThis, name);
    const before = values();
    await import('../library/library.ts');
    await import('../../start/entries/node-objects.ts');
    await import('../../start/entries/in-process.ts');
    expect(values()).toEqual(before);
  });

  test('[NODE12] a name replaced above a host is left alone, and a kept function of an ended host is the platform’s', async () => {
    const objects = await opened(create());
    const kept = globalThis.setTimeout;
    const above = (...call: Parameters<typeof setTimeout>) => kept(...call);
    vi.stubGlobal('setTimeout', above);
    await objects.close();
    expect(globalThis.setTimeout).toBe(above);
    vi.unstubAllGlobals();
    expect(globalThis.setTimeout).toBe(kept);
    const next = await opened(create());
    await next.clock.set(0);
    const waiting = object(next).wait(10);
    await new Promise((resolve) => kept(resolve, 1));
    await next.clock.advance(10);
    expect(await waiting).toBe(10);
  });
});
