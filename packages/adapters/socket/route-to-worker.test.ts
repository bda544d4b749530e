// Routes the `fetch` and `WebSocket` of a fake page to a fake worker.

import { expect, test } from 'vitest';
import { WebSocketPair } from '../../../src/shared/calls/sockets/web-socket.ts';
import type { ObjectResponse } from '../../../src/shared/contract/object.ts';
import { type RoutedScope, routeToWorker } from './route-to-worker.ts';

class NetworkSocket {
  static readonly CLOSED = 3;
  readonly url: string;
  constructor(url: string) {
    this.url = url;
  }
}

/** Makes the globals of a page at https://app.example/rooms/, whose network answers with the address, and a worker. */
function pageScope() {
  const scope: RoutedScope = {
    location: { href: 'https://app.example/rooms/', origin: 'https://app.example' },
    fetch: async (input) => new Response(`network ${input instanceof Request ? input.url : input}`),
    WebSocket: NetworkSocket as never,
  };
  const requests: string[] = [];
  const worker = {
    async fetch(input: Request | string | URL, init?: RequestInit): Promise<ObjectResponse> {
      const { url, method, headers } = new Request(input, init);
      const upgrade = new Headers(init?.headers);
      const upgradeHeaders = [upgrade.get('upgrade'), upgrade.get('sec-websocket-protocol')];
      requests.push([method, url, headers.get('x-a'), ...upgradeHeaders].filter(Boolean).join(' '));
      if (upgradeHeaders[0] === null) return new Response('worker');
      const { 0: client, 1: server } = new WebSocketPair();
      server.accept();
      return Object.assign(new Response(null), { webSocket: client as never });
    },
  };
  return { scope, requests, worker };
}

test('[SOCK5] chosen addresses of the page’s origin ask the worker; all others the network, and after its end all', async () => {
  const { scope, requests, worker } = pageScope();
  const originals = { ...scope };
  const end = routeToWorker(worker, ({ pathname }) => pathname.startsWith('/api/'), scope);
  const ask = async (...parameters: Parameters<typeof fetch>) =>
    (await scope.fetch(...parameters)).text();
  const init = { method: 'PUT', headers: { 'X-A': 'a' } };
  expect(await ask('/api/x?y', init)).toBe('worker');
  expect(await ask(new URL('https://app.example/api/url'))).toBe('worker');
  expect(await ask(new Request('https://app.example/api/request', init), { method: 'POST' })).toBe(
    'worker',
  );
  expect(await ask('api/x')).toBe('network api/x');
  expect(await ask('https://other.example/api/x')).toBe('network https://other.example/api/x');
  expect(new scope.WebSocket('wss://app.example/rooms/api/')).toBeInstanceOf(NetworkSocket);
  expect(new scope.WebSocket('wss://other.example/api/')).toBeInstanceOf(NetworkSocket);
  expect(new scope.WebSocket('wss://[')).toBeInstanceOf(NetworkSocket);
  expect(scope.WebSocket.CLOSED).toBe(3);
  const socket = new scope.WebSocket('wss://app.example/api/room', ['a', 'b']);
  expect(socket.url).toBe('wss://app.example/api/room');
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  expect(requests).toEqual([
    'PUT https://app.example/api/x?y a',
    'GET https://app.example/api/url',
    'POST https://app.example/api/request a',
    'GET https://app.example/api/room websocket a, b',
  ]);
  end();
  expect(scope).toEqual(originals);
  expect(await ask('/api/x')).toBe('network /api/x');
});

test('[SOCK5] a request waits for the worker; a worker that cannot be reached fails it', async () => {
  const { scope, worker } = pageScope();
  let connect: (target: typeof worker) => void = () => {};
  const connected = new Promise<typeof worker>((resolve) => {
    connect = resolve;
  });
  routeToWorker(connected, () => true, scope);
  const answer = scope.fetch('/');
  connect(worker);
  expect(await (await answer).text()).toBe('worker');
  const lost = pageScope().scope;
  routeToWorker(Promise.reject(new Error('no worker')), () => true, lost);
  await expect(lost.fetch('/')).rejects.toThrow('no worker');
});
