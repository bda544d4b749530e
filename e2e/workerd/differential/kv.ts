// A KV namespace, and every question that code can ask it.

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

const ASKS: Readonly<Record<string, (kv: Untyped) => unknown>> = {
  'the kind': (kv) => [typeof kv, String(kv), Object.prototype.toString.call(kv)],
  'a missing key': async (kv) => [await kv.get('none'), await kv.getWithMetadata('none')],
  text: async (kv) => {
    await kv.put('text', 'häßlich');
    return [
      await kv.get('text'),
      await kv.get('text', 'text'),
      await kv.get('text', { type: 'text' }),
    ];
  },
  'results of put and delete': async (kv) => [
    (await kv.put('gone', '1')) === undefined,
    (await kv.delete('gone')) === undefined,
    (await kv.delete('gone')) === undefined,
    await kv.get('gone'),
  ],
  'empty values': async (kv) => {
    await kv.put('empty', '');
    return [await kv.get('empty'), bytesOf(await kv.get('empty', 'arrayBuffer'))];
  },
  json: async (kv) => {
    await kv.put('json', JSON.stringify({ a: [1, null] }));
    return [await kv.get('json', 'json'), await kv.get('json', { type: 'json', cacheTtl: 60 })];
  },
  'json that is text': async (kv) => {
    await kv.put('no json', '{');
    return nameOf(() => kv.get('no json', 'json'));
  },
  bytes: async (kv) => {
    await kv.put('buffer', new Uint8Array([1, 2, 255]).buffer);
    await kv.put('view', new Uint8Array([1, 2, 3, 4]).subarray(1, 3));
    return [
      bytesOf(await kv.get('buffer', 'arrayBuffer')),
      bytesOf(await kv.get('view', 'arrayBuffer')),
      await kv.get('buffer'),
    ];
  },
  streams: async (kv) => {
    await kv.put('stream', new Response('streamed').body);
    const stream = await kv.get('stream', 'stream');
    return [
      await kv.get('stream'),
      stream instanceof ReadableStream,
      await new Response(stream).text(),
    ];
  },
  'a missing stream': (kv) => kv.get('none', 'stream'),
  'a large value': async (kv) => {
    const bytes = new Uint8Array(5 * 1024 * 1024 + 3).map((_, i) => i % 251);
    await kv.put('large', bytes);
    const read = new Uint8Array(await kv.get('large', 'arrayBuffer'));
    await kv.delete('large');
    return [read.length, read.every((byte, i) => byte === i % 251), await kv.get('large')];
  },
  metadata: async (kv) => {
    await kv.put('meta', 'v', { metadata: { a: [1, 'x'] } });
    const first = await kv.getWithMetadata('meta');
    await kv.put('meta', 'w');
    return [
      first,
      await kv.getWithMetadata('meta'),
      await kv.getWithMetadata('meta', 'json').catch(told),
    ];
  },
  'metadata of other types': async (kv) => {
    await kv.put('number', 'v', { metadata: 5 });
    await kv.put('null', 'v', { metadata: null });
    return [await kv.getWithMetadata('number'), await kv.getWithMetadata('null')];
  },
  'types with metadata': async (kv) => {
    await kv.put('typed', '[1]', { metadata: 'm' });
    const { value, ...rest } = await kv.getWithMetadata('typed', { type: 'arrayBuffer' });
    return [bytesOf(value), rest, await kv.getWithMetadata('typed', { type: 'json' })];
  },
  'many keys': async (kv) => {
    await kv.put('many 1', '1');
    await kv.put('many 2', '{"a":2}', { metadata: { m: 2 } });
    const keys = ['many 1', 'many 2', 'none'];
    const one = await kv.get(keys);
    return [
      one instanceof Map,
      [...one],
      [...(await kv.get(keys, 'json'))],
      [...(await kv.get(keys, { type: 'json' }))],
      [...(await kv.getWithMetadata(keys))],
      [...(await kv.getWithMetadata(keys, 'json'))],
    ];
  },
  'the same key twice': async (kv) => [...(await kv.get(['many 1', 'many 1']))],
  'no keys': (kv) => told(() => kv.get([])),
  '101 keys': (kv) => told(() => kv.get(Array.from({ length: 101 }, (_, i) => `k${i}`))),
  'many keys as bytes': (kv) => told(() => kv.get(['text'], 'arrayBuffer')),
  'many keys, one not json': (kv) => told(() => kv.get(['text'], 'json')),
  'an unknown type': (kv) => told(() => kv.get('text', 'xml')),
  'an empty key': async (kv) => [
    await told(() => kv.get('')),
    await told(() => kv.put('', 'v')),
    await told(() => kv.delete('')),
  ],
  'keys of dots': async (kv) => [
    await told(() => kv.get('.')),
    await told(() => kv.put('..', 'v')),
    await told(() => kv.delete('.')),
  ],
  'keys of 512 and 513 bytes': async (kv) => {
    await kv.put('ß'.repeat(256), 'fits');
    const long = `${'ß'.repeat(256)}x`;
    return [
      await kv.get('ß'.repeat(256)),
      await told(() => kv.get(long)),
      await told(() => kv.put(long, 'v')),
      await told(() => kv.delete(long)),
      await told(() => kv.list({ prefix: long })),
    ];
  },
  'keys of many kinds': async (kv) => {
    const keys = ['a/b', 'a?b=c&d#e', '%20', ' ', 'ü', '😀', 'a\nb'];
    for (const key of keys) await kv.put(key, `<${key}>`);
    const values = await Promise.all(keys.map((key) => kv.get(key)));
    await Promise.all(keys.map((key) => kv.delete(key)));
    return values;
  },
  'a key that is a number': async (kv) => {
    await kv.put(5, 'five');
    return [await kv.get(5), await kv.get('5')];
  },
  'values of other types': async (kv) => [
    await told(() => kv.put('other', 5)),
    await told(() => kv.put('other', null)),
    await told(() => kv.put('other', { a: 1 })),
    await told(() => kv.put('other')),
  ],
  'too large values': async (kv) => [
    await told(() => kv.put('too large', new Uint8Array(25 * 1024 * 1024 + 1))),
    await told(() => kv.put('too large', 'v', { metadata: 'x'.repeat(1023) })),
    await kv.get('too large'),
    (await kv.put('just', 'v', { metadata: 'x'.repeat(1022) })) ?? 'stored',
  ],
  expirations: async (kv) => {
    const now = Math.floor(Date.now() / 1000);
    await kv.put('expires', 'v', { expiration: now + 1000 });
    await kv.put('expires in', 'v', { expirationTtl: 1000 });
    await kv.put('expires text', 'v', { expirationTtl: '2000' });
    const { keys } = await kv.list({ prefix: 'expires' });
    return keys.map(({ name, expiration }: Untyped) => [
      name,
      Math.round((expiration - now) / 100),
    ]);
  },
  'expirations that are refused': async (kv) => {
    const now = Math.floor(Date.now() / 1000);
    const refused = [];
    for (const expirationTtl of [59, 0, -1, 1.5, Number.NaN, 'x']) {
      refused.push(await told(() => kv.put('no', 'v', { expirationTtl })));
    }
    for (const expiration of [now - 10, 0, -5, Number.NaN]) {
      refused.push(withoutTime(await told(() => kv.put('no', 'v', { expiration }))));
    }
    refused.push(withoutTime(await told(() => kv.put('no', 'v', { expiration: now + 30 }))));
    return [...refused, await kv.get('no')];
  },
  cacheTtl: async (kv) => [
    await kv.get('text', { cacheTtl: 30 }),
    await told(() => kv.get('text', { cacheTtl: 29 })),
    await told(() => kv.get('text', { cacheTtl: -1 })),
    await told(() => kv.getWithMetadata('text', { cacheTtl: 5 })),
    await told(() => kv.get(['text'], { cacheTtl: 5 })),
  ],
  'a list': async (kv) => {
    for (const name of ['b', 'a', 'c/1', 'c/2', 'Z', 'é']) {
      await kv.put(`list:${name}`, 'v', name === 'b' ? { metadata: { is: 'b' } } : {});
    }
    return kv.list({ prefix: 'list:' });
  },
  'a list in parts': async (kv) => {
    const parts = [];
    let cursor: string | undefined;
    do {
      const part: Untyped = await kv.list({ prefix: 'list:', limit: 2, cursor });
      parts.push([
        part.keys.map(({ name }: Untyped) => name),
        part.list_complete,
        typeof part.cursor,
      ]);
      cursor = part.cursor;
    } while (cursor !== undefined);
    return parts;
  },
  'a list that fits': async (kv) => {
    const { list_complete, cursor, keys } = await kv.list({ prefix: 'list:', limit: 6 });
    return [list_complete, cursor ?? 'no cursor', keys.length];
  },
  'a list of nothing': (kv) => kv.list({ prefix: 'nothing' }),
  'wildcards in a prefix': async (kv) => [
    await kv.list({ prefix: 'l_st' }),
    await kv.list({ prefix: '%' }),
    await kv.list({ prefix: 'LIST:' }),
  ],
  'limits of a list': async (kv) => [
    await told(() => kv.list({ prefix: 'list:', limit: 0 })),
    await told(() => kv.list({ prefix: 'list:', limit: -1 })),
    await told(() => kv.list({ prefix: 'list:', limit: 1001 })),
  ],
  'a list with null': async (kv) => {
    const { keys } = await kv.list({ prefix: 'list:', cursor: null, limit: null });
    return keys.length;
  },
  'null for a number': async (kv) => {
    const answers = await Promise.all([
      told(() => kv.put('null', 'a', { expiration: null })),
      told(() => kv.put('null', 'a', { expirationTtl: null })),
      told(() => kv.put('null', 'a', { expirationTtl: null, expiration: 2_000_000_000 })),
      told(() => kv.get('null', { cacheTtl: null })),
      told(() => kv.getWithMetadata('null', { cacheTtl: null })),
      told(() => kv.get(['null'], { cacheTtl: null })),
    ]);
    return [answers, await kv.get('null')];
  },
  'a time in milliseconds, and other numbers beyond a range': async (kv) => {
    const asked = [];
    for (const given of [1_900_000_000_000, 2 ** 31, -(2 ** 31) - 1, Infinity, -Infinity, '1e12']) {
      asked.push(
        await told(() => kv.put('beyond', 'a', { expiration: given })),
        await told(() => kv.put('beyond', 'a', { expirationTtl: given })),
        await told(() => kv.get('beyond', { cacheTtl: given })),
        await told(async () => (await kv.list({ prefix: 'list:', limit: given })).keys.length),
      );
    }
    return [asked, await told(() => kv.put('last', 'a', { expiration: 2 ** 31 - 1 }))];
  },
  'a list without options': async (kv) => {
    const { keys, list_complete } = await kv.list();
    return [keys.length > 6, list_complete];
  },
  'order of writes': async (kv) => {
    await Promise.all([1, 2, 3].map((value) => kv.put('order', String(value))));
    return kv.get('order');
  },
};

/** The result of each. */
export async function kvAll(kv: Untyped): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(ASKS))
    answers[what] = (await told(() => ask(kv))) ?? null;
  return answers;
}

async function told(ask: () => unknown): Promise<unknown> {
  if (typeof ask !== 'function') return `${(ask as Error).name}`;
  try {
    return (await ask()) ?? 'nothing';
  } catch (error) {
    const { name, message } = error as Error;
    return { name, message };
  }
}

async function nameOf(ask: () => unknown): Promise<unknown> {
  try {
    return await ask();
  } catch (error) {
    return (error as Error).name;
  }
}

function bytesOf(buffer: ArrayBuffer | null): number[] | null {
  return buffer && [...new Uint8Array(buffer)];
}

/** Messages name the time in seconds. */
function withoutTime(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer).replace(/\d{9,}/g, 'N'));
}
