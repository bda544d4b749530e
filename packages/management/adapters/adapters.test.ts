// Tests the emulator behind a realm's fetch, a service worker, a Playwright route and an HTTP server.

import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { ACCOUNT_ID, startProvider, type TestProvider } from '../e2e/provider.ts';
import { ManagementObject } from '../objects/management-object.ts';
import {
  handleFetchEvent,
  installFetch,
  managementWorker,
  type RouteLike,
  routeManagement,
} from './adapters.ts';
import { type ManagementServer, serveManagement } from './node-server.ts';

let provider: TestProvider;
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(() => provider.close());

describe('in a realm', () => {
  test('[MG34] fetch reaches the provider below its address, and the network otherwise', async () => {
    const outside: string[] = [];
    const realm = {
      fetch: async (input: string | URL | Request, init?: RequestInit) => {
        const { method, url } = new Request(input, init);
        outside.push(`${method} ${url}`);
        return new Response('outside');
      },
    };
    const before = realm.fetch;
    const remove = installFetch(provider.api, `${provider.baseUrl}/`, realm);
    const inside = await realm.fetch(new Request(`${provider.baseUrl}/accounts/${ACCOUNT_ID}`));
    expect((await inside.json()).result.name).toBe('First');
    expect((await realm.fetch(new URL(`${provider.baseUrl}?x`))).status).toBe(404);
    const others = [`${provider.baseUrl}2/accounts`, 'https://other.example/client/v4/accounts'];
    for (const url of others) {
      expect(await (await realm.fetch(url, { method: 'PUT' })).text()).toBe('outside');
    }
    expect(outside).toEqual(others.map((url) => `PUT ${url}`));
    remove();
    expect(realm.fetch).toBe(before);
  });

  test('[MG34] the removal keeps a fetch that other code has installed since', () => {
    const realm = { fetch: async () => new Response() };
    const remove = installFetch(provider.api, provider.baseUrl, realm);
    const later = async () => new Response();
    realm.fetch = later;
    remove();
    expect(realm.fetch).toBe(later);
  });

  test('[MG37] a worker without the binding names it', () => {
    const worker = managementWorker('MANAGEMENT');
    const asked = () => worker.fetch(new Request(provider.baseUrl), { OTHER: {} });
    expect(asked).toThrow(
      new TypeError('env has no binding "MANAGEMENT" with the namespace of ManagementObject.'),
    );
  });

  test("[MG34] a service worker's event is answered when it is for the provider", async () => {
    const answers: Promise<Response>[] = [];
    const event = (url: string) => ({
      request: new Request(url),
      respondWith: (response: Promise<Response>) => void answers.push(response),
    });
    const { api, baseUrl } = provider;
    expect(handleFetchEvent(event('https://page.example/'), api, baseUrl)).toBe(false);
    expect(handleFetchEvent(event(`${baseUrl}/zones`), api, baseUrl)).toBe(true);
    expect(answers).toHaveLength(1);
    expect((await answers[0]!).status).toBe(200);
  });

  test('[MG34] a Playwright route is fulfilled with the answer', async () => {
    let handler: ((route: RouteLike) => Promise<void>) | undefined;
    const patterns: (string | RegExp)[] = [];
    const context = {
      route: async (pattern: string | RegExp, given: typeof handler) => {
        patterns.push(pattern);
        handler = given;
      },
    };
    await routeManagement(context, '**/client/v4/**', provider.api);
    const fulfilled: { status: number; headers: Record<string, string>; body: string }[] = [];
    const route = (method: string, path: string, body: object | null, at: string) =>
      handler!({
        request: () => ({
          url: () => `${provider.baseUrl}${path}`,
          method: () => method,
          allHeaders: async () => ({ ':authority': 'x', 'x-emulator-date': at }),
          postDataBuffer: () => (body === null ? null : Buffer.from(JSON.stringify(body))),
        }),
        fulfill: async (answer) => void fulfilled.push(answer),
      });
    await route('POST', '/zones', { name: 'routed.example' }, '2024-01-01');
    for (const at of ['2023-06-05', '2023-06-06']) {
      await route('GET', '/user/billing/profile', null, at);
    }
    expect(patterns).toEqual(['**/client/v4/**']);
    expect(fulfilled.map(({ status }) => status)).toEqual([400, 200, 410]);
    expect(JSON.parse(fulfilled[0]!.body).errors[0].source.pointer).toBe('/account/id');
    expect(fulfilled[0]!.headers['content-type']).toContain('json');
  });
});

describe('as an HTTP server', () => {
  let server: ManagementServer;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const objects = await createObjects({ ManagementObject });
    const namespace = objects.env.ManagementObject;
    const accounts = [{ id: ACCOUNT_ID, name: 'First' }];
    server = await serveManagement({ namespace, accounts, at: '2023-06-30' });
    close = async () => {
      await server.close();
      await objects.close();
    };
  });
  afterAll(() => close());

  /** Sends raw bytes to the server, and returns everything it answers until it closes the connection. */
  function raw(text: string): Promise<string> {
    const { hostname, port } = new URL(server.baseUrl);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(text));
      let answer = '';
      socket.setEncoding('utf8');
      socket.on('data', (chunk) => (answer += chunk));
      socket.on('end', () => resolve(answer));
      socket.on('error', reject);
    });
  }

  const BODY = JSON.stringify({ name: 'Raw', settings: {} });
  const BOTH = [
    'POST /client/v4/accounts HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    'Transfer-Encoding: chunked',
    `Content-Length: ${BODY.length}`,
    'Connection: close',
    '',
    `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`,
  ].join('\r\n');

  test('[MG36] both lengths in one request are declined from 2023-07-01', async () => {
    const before = await raw(BOTH);
    expect(before).toMatch(/^HTTP\/1\.1 200 /);
    expect(before).toContain('"name":"Raw"');
    server.clock.moveTo('2023-07-01');
    const after = await raw(BOTH);
    expect(after).toMatch(/^HTTP\/1\.1 400 /);
    expect(after).toContain('"code":1413');
    const chunkedAlone = BOTH.replace(/Content-Length: \d+\r\n/, '').replace('Raw', 'One');
    expect(await raw(chunkedAlone)).toMatch(/^HTTP\/1\.1 200 /);
    const response = await fetch(`${server.baseUrl}/accounts?name=Raw`);
    expect((await response.json()).result).toHaveLength(1);
    server.clock.moveTo('2023-06-30');
  });

  test('[MG36] both lengths without a type: the day decides before the type does, and an empty body needs none', async () => {
    const ask = async (method: string, body: string, day: string) => {
      const head = BOTH.split('\r\n').filter((line) => !line.startsWith('Content-Type'));
      head[0] = `${method} /client/v4/accounts HTTP/1.1`;
      const lines = [...head.slice(0, head.indexOf('')), `x-emulator-date: ${day}`];
      const chunk = body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`;
      const answer = await raw(`${lines.join('\r\n')}\r\n\r\n${chunk}0\r\n\r\n`);
      return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)![1]);
    };
    const [before, after] = ['2023-06-30', '2023-07-01'];
    expect(await ask('GET', '', before)).toBe(200);
    expect(await ask('POST', BODY, before)).toBe(415);
    expect(await ask('GET', '', after)).toBe(400);
    expect(await ask('POST', BODY, after)).toBe(400);
  });

  test('[MG11] a server that was started on a date ignores api-version', async () => {
    const url = `${server.baseUrl}/accounts/${ACCOUNT_ID}/tunnels`;
    const headers = { 'api-version': '2026-01-01' };
    expect((await fetch(url, { headers })).status).toBe(200);
    expect((await fetch(url, { headers: { 'x-emulator-date': '2026-01-01' } })).status).toBe(410);
  });

  test('[MG1] headers, queries and bodies arrive over the wire', async () => {
    const made = await fetch(`${server.baseUrl}/zones`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'wire.example', account: { id: ACCOUNT_ID } }),
    });
    expect(made.status).toBe(200);
    const { result } = await (await fetch(`${server.baseUrl}/zones?name=wire.example`)).json();
    expect(result).toHaveLength(1);
    const gone = await fetch(`${server.baseUrl}/user/billing/profile`);
    expect(gone.status).toBe(410);
    expect(gone.headers.get('sunset')).toBe('Tue, 06 Jun 2023 00:00:00 GMT');
  });

  test('[MG41] a day that is not a date is refused at the start', async () => {
    const namespace = { getByName: () => never() };
    await expect(serveManagement({ namespace, at: 'soon' })).rejects.toThrow('must be a date');
  });
});

function never(): never {
  throw new Error('No object is called.');
}
