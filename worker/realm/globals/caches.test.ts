import { afterEach, describe, expect, test, vi } from 'vitest';
import { createObjects, DurableObject } from '../../start/entries/node-objects.ts';
import { CacheEntries } from './cache-entries.ts';

interface Caching {
  readonly default: {
    put(key: string, response: Response): Promise<void>;
    match(key: string): Promise<Response | undefined>;
  };
}
const KEY = 'https://cache.example/';
const START_MS = Date.UTC(2030, 0, 1);
const scope = globalThis as unknown as { caches?: Caching };
const store = () => scope.caches!.default;

class Caller extends DurableObject {
  put(text: string, headers: Record<string, string>) {
    return store().put(KEY, new Response(text, { headers }));
  }
  async match() {
    const response = await store().match(KEY);
    return response && [await response.text(), response.headers.get('age')];
  }
  async matchByteCount() {
    const response = await store().match(KEY);
    return response && (await response.arrayBuffer()).byteLength;
  }
  async putTime() {
    const source: UnderlyingDefaultSource = {
      pull(controller) {
        controller.enqueue(new TextEncoder().encode(`${Date.now()}`));
        controller.close();
      },
    };
    const stream = new ReadableStream(source, { highWaterMark: 0 }); // pulled when it is read
    const headers = { 'cache-control': 'max-age=60' };
    await store().put(KEY, new Response(stream, { headers }));
  }
  async putFailing() {
    const stream = new ReadableStream({ start: (its) => its.error(new RangeError('cut')) });
    await store().put(KEY, new Response(stream, { headers: { 'cache-control': 'max-age=60' } }));
  }
  async putLarge(byteCount: number) {
    const headers = { 'cache-control': 'max-age=60' };
    const response = new Response(new Uint8Array(byteCount), { headers });
    await store().put(KEY, response);
    return response.bodyUsed;
  }
}

const hosts = new Set<{ close(): Promise<void> }>();
async function start() {
  const objects = await createObjects({ Caller });
  hosts.add(objects);
  await objects.clock.set(START_MS);
  return { ...objects, object: objects.env.Caller.getByName('a') };
}
afterEach(async () => {
  for (const host of hosts) await host.close();
  hosts.clear();
  vi.unstubAllGlobals();
});

describe('caches', () => {
  test('[OBJ20] a response is kept as long as it is fresh by the host’s clock', async () => {
    const { object, clock } = await start();
    await object.put('x', { 'cache-control': 'max-age=60', age: '10' });
    await clock.advance(49_999);
    expect(await object.match()).toEqual(['x', '59']);
    await clock.advance(1);
    expect(await object.match()).toBe(undefined);
    const expires = new Date(START_MS + 60_000).toUTCString();
    await object.put('y', { expires });
    await clock.advance(9999);
    expect(await object.match()).toEqual(['y', '9']);
    await clock.advance(1);
    expect(await object.match()).toBe(undefined);
  });

  test('[OBJ20] hosts share no cache, and objects of a host do', async () => {
    const [first, second] = [await start(), await start()];
    await first.object.put('x', { 'cache-control': 'max-age=60' });
    expect(await first.env.Caller.getByName('b').match()).toEqual(['x', '0']);
    expect(await second.object.match()).toBe(undefined);
  });

  test('[OBJ20] other code has the platform’s caches, which get nothing', async () => {
    const native = { default: { put: vi.fn(), match: vi.fn() } };
    vi.stubGlobal('caches', native);
    const { object } = await start();
    await object.put('x', { 'cache-control': 'max-age=60' });
    expect(await object.match()).toEqual(['x', '0']);
    expect(scope.caches).toBe(native);
    expect(native.default.put).not.toHaveBeenCalled();
    expect(native.default.match).not.toHaveBeenCalled();
  });

  test('[OBJ20] where the platform has none, code outside of objects has caches, which are those of the object that uses them', async () => {
    vi.stubGlobal('caches', undefined);
    let held: Caching['default'] | undefined;
    class Holder extends DurableObject {
      async keep() {
        await held!.put(KEY, new Response('x', { headers: { 'cache-control': 'max-age=60' } }));
        return [await (await store().match(KEY))!.text(), await (await held!.match(KEY))!.text()];
      }
    }
    const objects = await createObjects({ Holder });
    hosts.add(objects);
    held = store();
    expect(await objects.env.Holder.getByName('a').keep()).toEqual(['x', 'x']);
    await expect(held.match(KEY)).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  });

  test('[OBJ20] the last accepted response is kept; a refused one leaves it', async () => {
    const { object } = await start();
    await object.put('x', { 'cache-control': 'max-age=60' });
    await object.put('y', { 'cache-control': 'max-age=60' });
    await object.put('z', { 'cache-control': 'no-store' });
    expect(await object.match()).toEqual(['y', '0']);
  });

  test('[OBJ20] the code that makes a body runs as the object', async () => {
    const { object } = await start();
    await object.putTime();
    expect(await object.match()).toEqual([`${START_MS}`, '0']);
  });

  test('[OBJ20] a body that fails rejects the put, and nothing else', async () => {
    const { object } = await start();
    await expect(object.putFailing()).rejects.toThrow('cut');
    expect(await object.match()).toBe(undefined);
  });

  test('[OBJ20] a body of more than 64 MiB is not kept, and is used up; one of nearly as many is kept', async () => {
    const { object } = await start();
    expect(await object.putLarge(64 * 1024 * 1024 + 1)).toBe(true);
    expect(await object.match()).toBe(undefined);
    expect(await object.putLarge(64 * 1024 * 1024 - 2000)).toBe(true);
    expect(await object.matchByteCount()).toBe(64 * 1024 * 1024 - 2000);
  });

  test('[OBJ20] beyond the bound, the least recently used responses go', () => {
    const entries = new CacheEntries(10_000);
    const put = (key: string, byteCount: number) =>
      entries.set(key, {
        status: 200,
        statusText: '',
        headers: new Headers(),
        bytes: new Uint8Array(byteCount),
        storedMs: 0,
        freshUntilMs: 1,
      });
    const keys = () => ['a', 'b', 'c'].filter((key) => entries.get(key, 0) !== undefined);
    put('a', 4000);
    put('b', 4000);
    entries.get('a', 0);
    put('c', 4000);
    expect(keys()).toEqual(['a', 'c']);
    put('a', 1);
    put('b', 4000);
    expect(keys()).toEqual(['a', 'b', 'c']);
    put('b', 10_000); // too large by itself
    expect(keys()).toEqual(['a', 'c']);
    entries.delete('b');
    put('b', 9000);
    expect(keys()).toEqual(['b']);
    expect(entries.get('b', 1)).toBe(undefined);
    put('a', 9000);
    expect(keys()).toEqual(['a']);
  });

  test('[OBJ20] responses without a body count, too', () => {
    const entries = new CacheEntries(10_000);
    const headers = new Headers({ location: 'x'.repeat(1000) });
    const kept = { status: 301, statusText: '', headers, bytes: new Uint8Array() };
    for (let i = 0; i < 100; i++) {
      entries.set(`${i}`, { ...kept, storedMs: 0, freshUntilMs: 1 });
    }
    const all = Array.from({ length: 100 }, (_, i) => `${i}`);
    const live = all.filter((key) => entries.get(key, 0) !== undefined);
    expect(live).toEqual(['97', '98', '99']);
  });
});
