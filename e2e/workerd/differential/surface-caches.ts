// Questions about caches.

import { attempt, names, type Questions, refusal, scope, type Untyped } from './surface-answers.ts';

const KEY = 'http://cache.example';
const store = () => scope.caches.default;

const cacheable = (text: string, headers: Record<string, string> = {}) =>
  new Response(text, { headers: { 'cache-control': 'max-age=60', ...headers } });

const hit = async (response: Untyped) =>
  response === undefined
    ? 'none'
    : [response.status, await response.text(), response.headers.get('cf-cache-status')];

/** The result of a cache for a key. */
const found = async (key: unknown, options?: object) => hit(await store().match(key, options));

/** The result of `put`, and of `match` after it. */
const kept = async (key: string, response: Response) => [
  await attempt(() => store().put(key, response)),
  await found(key),
];

const CONTROLS = [
  'no-store',
  'private',
  'no-cache',
  'max-age=0',
  'max-age=-1',
  'max-age=x',
  'max-age="60"',
  'max-age=60.5',
  'public',
  's-maxage=60, max-age=0',
  's-maxage=0, max-age=60',
  'private=set-cookie, max-age=60',
  'private="x-a", max-age=60',
  'no-cache=set-cookie, max-age=60',
  'max-age=60, must-revalidate',
];

const STATUSES = [
  ...[200, 201, 203, 204, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403],
  ...[404, 405, 410, 414, 418, 500, 501, 503],
];

const MODIFIED = 'Wed, 21 Oct 2015 07:28:00 GMT';
const CONDITIONS: readonly Record<string, string>[] = [
  { 'if-none-match': '"one"' },
  { 'if-none-match': 'W/"one", "two"' },
  { 'if-none-match': '"two"' },
  { 'if-none-match': '*' },
  { 'if-modified-since': MODIFIED },
  { 'if-modified-since': 'Wed, 21 Oct 2015 07:27:59 GMT' },
];

const RANGES = ['bytes=2-4', 'bytes=5-', 'bytes=-3', 'bytes=-30', 'bytes=5-90', 'bytes=20-30'];

export const CACHES: Questions = {
  'put and match': async () => {
    const key = `${KEY}/put`;
    const first = await kept(key, cacheable('first'));
    const byUrl = await found(new URL(key));
    await store().put(new Request(key), cacheable('second'));
    return [first, byUrl, await found(new Request(key))];
  },
  'a miss': () => found(`${KEY}/miss`),
  'addresses that are the same': async () => {
    await store().put(`${KEY}/query?a=1#b`, cacheable('x'));
    return [
      await found(`${KEY}/query?a=1`),
      await found(`${KEY}:80/query?a=1#c`),
      await found(`${KEY.toUpperCase()}/query?a=1`),
      await found(`${KEY}/query`),
    ];
  },
  delete: async () => {
    const key = `${KEY}/delete`;
    await store().put(key, cacheable('x'));
    return [await store().delete(key), await found(key), await store().delete(key)];
  },
  'a response is used up': async () => {
    const response = cacheable('x');
    const refused = new Response('x');
    await store().put(`${KEY}/used`, response);
    await store().put(`${KEY}/used`, refused);
    return [
      response.bodyUsed,
      refused.bodyUsed,
      String(await attempt(() => store().put(`${KEY}/used`, response))).split('.')[0],
    ];
  },
  'methods that are not GET': async () => {
    const key = `${KEY}/post`;
    const post = () => new Request(key, { method: 'POST', body: 'x' });
    const head = () => new Request(key, { method: 'HEAD' });
    const refused = [
      await attempt(() => store().put(post(), cacheable('x'))),
      await attempt(() => store().put(head(), cacheable('x'))),
    ];
    await store().put(key, cacheable('x'));
    return [
      refused,
      await found(post()),
      await found(head()),
      await found(post(), { ignoreMethod: true }),
      await store().delete(post()),
      await store().delete(post(), { ignoreMethod: true }),
    ];
  },
  'status 206': () => attempt(() => store().put(KEY, new Response('x', { status: 206 }))),
  statuses: async () => {
    const seen = [];
    for (const status of STATUSES) {
      const body = status === 204 || status === 304 ? null : 'x';
      const headers = { 'cache-control': 'max-age=60', location: 'http://other.example/' };
      seen.push([
        status,
        await kept(`${KEY}/status/${status}`, new Response(body, { status, headers })),
      ]);
    }
    return seen;
  },
  vary: async () => {
    const key = `${KEY}/varies`;
    const asked = (language: string) =>
      new Request(key, { headers: { 'accept-language': language } });
    await store().put(asked('en'), cacheable('en', { vary: 'accept-language' }));
    return [
      await found(asked('en')),
      await found(asked('de')),
      await attempt(() => store().put(key, cacheable('x', { vary: '*' }))),
    ];
  },
  'cache-control': async () => {
    const seen = [];
    for (const control of CONTROLS) {
      const response = new Response('x', { headers: { 'cache-control': control } });
      seen.push([control, await kept(`${KEY}/control/${encodeURIComponent(control)}`, response)]);
    }
    return [...seen, await kept(`${KEY}/no-control`, new Response('x'))];
  },
  expires: async () => {
    const at = (ms: number) =>
      new Response('x', { headers: { expires: new Date(Date.now() + ms).toUTCString() } });
    return [
      await kept(`${KEY}/later`, at(60_000)),
      await kept(`${KEY}/gone`, at(-60_000)),
      await kept(`${KEY}/never`, new Response('x', { headers: { expires: '0' } })),
      await kept(`${KEY}/both`, cacheable('x', { expires: '0' })),
    ];
  },
  age: () => kept(`${KEY}/aged`, cacheable('x', { age: '100' })),
  'set-cookie': async () => {
    const control = { 'cache-control': 'private=set-cookie, max-age=60', 'set-cookie': 'a=b' };
    const seen = [
      await kept(`${KEY}/cookie`, cacheable('x', { 'set-cookie': 'a=b' })),
      await kept(`${KEY}/cookies`, cacheable('x', control)),
    ];
    const response = await store().match(`${KEY}/cookies`);
    return [seen, response.headers.get('set-cookie')];
  },
  authorization: async () => {
    const seen = [];
    for (const control of ['max-age=60', 'max-age=60, public', 's-maxage=60']) {
      const key = `${KEY}/authorized/${encodeURIComponent(control)}`;
      const request = new Request(key, { headers: { authorization: 'x' } });
      await store().put(request, cacheable('x', { 'cache-control': control }));
      seen.push([control, await found(request), await found(key)]);
    }
    return seen;
  },
  'cache-control of a request': async () => {
    const key = `${KEY}/asked`;
    await store().put(key, cacheable('x'));
    return found(new Request(key, { headers: { 'cache-control': 'no-cache' } }));
  },
  conditions: async () => {
    const key = `${KEY}/conditions`;
    await store().put(key, cacheable('x', { etag: '"one"', 'last-modified': MODIFIED }));
    const seen = [];
    for (const headers of CONDITIONS)
      seen.push([headers, await found(new Request(key, { headers }))]);
    return seen;
  },
  ranges: async () => {
    const key = `${KEY}/ranges`;
    await store().put(key, cacheable('0123456789'));
    const seen = [];
    for (const range of RANGES) {
      const response = await store().match(new Request(key, { headers: { range } }));
      seen.push([range, response.headers.get('content-range'), await hit(response)]);
    }
    return seen;
  },
  'the response': async () => {
    const key = `${KEY}/response`;
    const headers = {
      'cache-control': 'max-age=60',
      'content-type': 'application/json',
      'x-a': 'b',
    };
    await store().put(key, new Response('{}', { status: 404, headers }));
    const response = await store().match(key);
    const copy = new Response(response.body, response);
    copy.headers.set('x-a', 'c');
    return [
      response.status,
      [...response.headers].filter(([name]) => name !== 'date').sort(),
      refusal(() => response.headers.set('x-a', 'c')),
      copy.headers.get('x-a'),
      await copy.json(),
    ];
  },
  'a body that is a stream': async () => {
    const key = `${KEY}/stream`;
    const headers = { 'cache-control': 'max-age=60' };
    await store().put(key, new Response(new Response('streamed').body, { headers }));
    const [one, other] = [await store().match(key), await store().match(key)];
    return [one.headers.get('content-length'), await one.text(), await other.text()];
  },
  'caches apart': async () => {
    const key = `${KEY}/apart`;
    const open = (name: string) => scope.caches.open(name);
    await (await open('other')).put(key, cacheable('other'));
    await (await open('default')).put(`${key}/default`, cacheable('named default'));
    return [
      await found(key),
      await hit(await (await open('other')).match(key)),
      await hit(await (await open('third')).match(key)),
      await found(`${key}/default`),
    ];
  },
  'what is refused': async () => {
    const methods = ['add', 'addAll', 'matchAll', 'keys'];
    const ofCaches = ['match', 'has', 'delete', 'keys'];
    const calls: (() => unknown)[] = [
      () => store().put('/relative', cacheable('x')),
      () => store().match('relative'),
      () => store().put(KEY),
      () => store().put(KEY, 'text'),
      () => store().match(),
      () => store().delete(),
      () => scope.caches.open(),
      () => new scope.Cache(),
      () => new scope.CacheStorage(),
      ...methods.map((name) => () => store()[name](KEY)),
      ...ofCaches.map((name) => () => scope.caches[name](KEY)),
    ];
    const seen = [];
    for (const call of calls) seen.push(await attempt(call));
    return seen;
  },
  'the kinds': () => [
    names(scope.caches),
    names(store()),
    store() instanceof scope.Cache,
    scope.caches instanceof scope.CacheStorage,
  ],
};
