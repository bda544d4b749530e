import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createCalledHost, failure } from '../../../packages/testing/worker/called-host.ts';
import type { TestHost } from '../../../packages/testing/worker/test-host.ts';
import type { DurableObjectStub, Namespace } from '../../../src/shared/contract/object.ts';
import { DurableObject } from '../../realm/library/library.ts';

interface Env {
  Room: Namespace<Room>;
  Peer: Namespace<Peer>;
  Mute: Namespace<Mute>;
}

class Room extends DurableObject<Env> {
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
    if (pathname === '/endless') {
      return new Response(new ReadableStream({ cancel: () => void cancelled.push(pathname) }));
    }
    if (pathname === '/wait') {
      const { signal } = request;
      signal.addEventListener('abort', () => heard.push(`aborted: ${signal.reason.message}`));
      heard.push('begun');
      return new Promise(() => {});
    }
    if (pathname === '/headers') return Response.json(changes(request));
    if (pathname === '/url') return new Response(request.url);
    if (pathname === '/error') return Response.error();
    if (pathname === '/wrong') return 'no response' as never;
    const text = await request.text();
    return Response.json({
      method: request.method,
      text,
      upgrade: request.headers.get('upgrade'),
    });
  }
}

/** The outcomes of all ways to change the headers of a received message. */
function changes(message: Request | Response): unknown[] {
  const copied = message instanceof Request ? new Request(message) : new Response(null, message);
  const ways = [
    () => message.headers.set('a', '2'),
    () => message.headers.append('a', '2'),
    () => message.headers.delete('a'),
    () => message.clone().headers.set('a', '2'),
    () => message.clone().clone().headers.set('a', '2'),
    () => copied.headers.set('b', '3'),
    () => new Headers(message.headers).set('b', '3'),
  ];
  const outcomes = ways.map((change) => {
    try {
      return change() ?? 'changed';
    } catch (error) {
      return String(error);
    }
  });
  return [...outcomes, message.headers.get('a'), copied.headers.get('a'), copied.headers.get('b')];
}

const REFUSED = "TypeError: Can't modify immutable headers.";

class Peer extends DurableObject<Env> {
  async fetch(request: Request): Promise<Response> {
    return new Response(`${request.method} ${await request.text()} ${request.headers.get('a')}`);
  }
}

class Mute extends DurableObject<Env> {}

let host: TestHost;
const cancelled: unknown[] = [];
/** The reports of the handler of `/wait`. */
let heard: string[];
let env: Env;
let room: DurableObjectStub<Room>;

beforeEach(async () => {
  heard = [];
  ({ host, env } = await createCalledHost<Env>({ Room, Peer, Mute }));
  room = env.Room.getByName('a');
});

afterEach(() => host.close());

test('[STUB30] a request has the facts of its network, and the length of its body', async () => {
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

test('[STUB16] a request may be passed on to another object, with the members that init replaces', async () => {
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

test('[STUB16] every header arrives, of a request and of its answer, forbidden ones too', async () => {
  const headers = { a: '1', cookie: 'c=1', host: 'own.example', 'set-cookie': 's=1' };
  const response = await room.fetch('http://object/echo', { headers });
  expect(Object.fromEntries(response.headers)).toEqual(headers);
});

test('[STUB16] the fragment of an address stays with the caller', async () => {
  const response = await room.fetch('http://object/url?a=%23b#part#two');
  expect([response.url, await response.text()]).toEqual(Array(2).fill('http://object/url?a=%23b'));
});

test('[STUB16] text, buffers and views in a stream of a body arrive as bytes, an empty one too', async () => {
  const bytes = new TextEncoder().encode('-abcd-');
  const chunks = [
    'é',
    new Uint8Array(0),
    bytes.slice(1, 3).buffer,
    new DataView(bytes.buffer, 3, 2),
    bytes.subarray(5),
  ];
  const body = new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const init = { method: 'POST', body, duplex: 'half' };
  expect(await (await room.fetch('https://object/echo', init)).text()).toBe('éabcd-');
});

test('[STUB16] bodies are streamed both ways', async () => {
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

test('[STUB40] the answer to HEAD has its headers and no body', async () => {
  const asked = async (path: string, headers = {}) => {
    const url = `http://object${path}`;
    const response = await room.fetch(url, { method: 'HEAD', headers });
    const { body, bodyUsed } = response;
    return [body, bodyUsed, response.headers.get('content-type'), await response.text()];
  };
  expect(await asked('/url')).toEqual([null, false, 'text/plain;charset=UTF-8', '']);
  expect(await asked('/endless')).toEqual([null, false, null, '']);
  await vi.waitFor(() => expect(cancelled).toEqual(['/endless']));
});

test('[STUB41] headers of a received request or response are read-only, those of a copy are not', async () => {
  const outcomes = [...Array(5).fill(REFUSED), 'changed', 'changed', '1', '1', '3'];
  const received = await room.fetch('http://object/headers', { headers: { a: '1' } });
  expect(await received.json()).toEqual(outcomes);
  const upgrade = { headers: { a: '1', cookie: 'c=1', upgrade: 'websocket' } };
  expect(await (await room.fetch('http://object/headers', upgrade)).json()).toEqual(outcomes);
  const response = await room.fetch('http://object/echo', { headers: { a: '1' } });
  expect(changes(response)).toEqual(outcomes);
});

test('[STUB18] a fetch that is aborted before it leaves rejects with the reason of its signal', async () => {
  const abort = new AbortController();
  const pending = room.fetch('http://object/wait', { signal: abort.signal });
  const reason = new Error('changed my mind');
  abort.abort(reason);
  expect(await failure(pending)).toBe(reason);
});

test('[STUB18] a fetch that is aborted while the object works rejects, and the object hears the reason', async () => {
  const abort = new AbortController();
  const pending = room.fetch('http://object/wait', { signal: abort.signal });
  await vi.waitUntil(() => heard.length > 0);
  const reason = new Error('changed my mind');
  abort.abort(reason);
  expect(await failure(pending)).toBe(reason);
  await vi.waitUntil(() => heard.length > 1);
  expect(heard).toEqual(['begun', 'aborted: changed my mind']);
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
  expect(await failure(room.fetch('http://object/error'))).toMatchObject({
    name: 'TypeError',
    message: expect.stringContaining('Response.error()'),
  });
});
