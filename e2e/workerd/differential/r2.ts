// An R2 bucket, and every question about single objects that code can ask it.

import {
  bytesOf,
  factsOf,
  firstBytes,
  MD5_OF_HELLO,
  sourceOf,
  told,
  type Untyped,
} from './r2-answers.ts';

const HEX: Readonly<Record<string, string>> = {
  md5: MD5_OF_HELLO,
  sha1: 'aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d',
  sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
  sha384:
    '59e1748777448c69de6b800d7a33bbfb9ff1b463e44354c3553bcdb9c666fa90125a3c79f90397bdf5f6a13de828684f',
  sha512:
    '9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043',
};

// Globals of both engines while a worker runs.
declare const FixedLengthStream: new (length: number) => TransformStream<Uint8Array, Uint8Array>;
declare const IdentityTransformStream: new () => TransformStream<Uint8Array, Uint8Array>;

export const ASKS: Readonly<Record<string, (r2: Untyped) => unknown>> = {
  'the kind': (r2) => [typeof r2, String(r2), Object.prototype.toString.call(r2)],
  'a missing key': async (r2) => [await r2.head('none'), await r2.get('none')],
  'a put': async (r2) => factsOf(await r2.put('text', 'hello')),
  'a head': async (r2) => factsOf(await r2.head('text')),
  'a get': async (r2) => {
    const found = await r2.get('text');
    return [factsOf(found), found.bodyUsed, await found.text(), found.bodyUsed];
  },
  'kinds of results': async (r2) => {
    const [put, got] = [await r2.put('kinds', 'v'), await r2.get('kinds')];
    const kind = (one: Untyped) => [
      Object.prototype.toString.call(one),
      one.constructor.name,
      Object.keys(one).sort(),
    ];
    return [kind(put), kind(got), kind(put.checksums)];
  },
  'an object as JSON': async (r2) => {
    const shown = JSON.parse(JSON.stringify(await r2.head('text')));
    return [Object.keys(shown).sort(), shown.checksums];
  },
  'the ways to read': async (r2) => {
    await r2.put('json', '{"a":[1]}', { httpMetadata: { contentType: 'application/json' } });
    const blob = await (await r2.get('json')).blob();
    const bytes = await (await r2.get('text')).bytes();
    return [
      await (await r2.get('json')).json(),
      bytesOf(await (await r2.get('text')).arrayBuffer()),
      [bytes instanceof Uint8Array, bytesOf(bytes)],
      [blob.type, blob.size, await blob.text()],
      (await (await r2.get('text')).blob()).type,
      await new Response((await r2.get('text')).body).text(),
    ];
  },
  'json that is text': async (r2) => {
    const found = await r2.get('text');
    return (await told(() => found.json())).name;
  },
  'a body read twice': async (r2) => {
    const found = await r2.get('text');
    await found.text();
    return [
      await told(() => found.text()),
      await told(() => found.arrayBuffer()),
      found.body instanceof ReadableStream,
    ];
  },
  'a locked body': async (r2) => {
    const found = await r2.get('text');
    found.body.getReader();
    return [found.bodyUsed, (await told(() => found.text())).name];
  },
  'a body half read': async (r2) => {
    await r2.put('large', new Uint8Array(3 * 1024 * 1024 + 5).fill(7));
    const found = await r2.get('large');
    const reader = found.body.getReader();
    const { done, value } = await reader.read();
    await reader.cancel('enough');
    return [done, value instanceof Uint8Array, value[0], found.bodyUsed];
  },
  'a body that nobody reads': async (r2) => {
    const found = await r2.get('large');
    return [found.size, found.bodyUsed];
  },
  'a body read after the object was replaced': async (r2) => {
    const found = await r2.get('large');
    await r2.put('large', 'new');
    const bytes = new Uint8Array(await found.arrayBuffer());
    return [bytes.length, bytes.every((byte) => byte === 7), await (await r2.get('large')).text()];
  },
  'a body read after the object was deleted': async (r2) => {
    await r2.put('deleted', new Uint8Array(3 * 1024 * 1024).fill(9));
    const found = await r2.get('deleted');
    const reader = found.body.getReader();
    let length = (await reader.read()).value.length;
    await r2.delete('deleted');
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      length += next.value.length;
    }
    return [length, await r2.get('deleted')];
  },
  'a body for a reader with its own buffer': async (r2) => {
    const reader = (await r2.get('text')).body.getReader({ mode: 'byob' });
    const { value, done } = await reader.read(new Uint8Array(2));
    return [bytesOf(value), done];
  },
  'kinds of values': async (r2) => {
    const values = {
      text: 'häßlich',
      empty: '',
      buffer: new Uint8Array([1, 2, 255]).buffer,
      view: new Uint8Array([1, 2, 3, 4]).subarray(1, 3),
      words: new Uint16Array([1, 2]),
      blob: new Blob(['in a blob']),
      null: null,
      undefined: undefined,
    };
    const stored: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(values)) {
      const { size, etag } = await r2.put('kind', value);
      stored[name] = [size, etag, bytesOf(await (await r2.get('kind')).arrayBuffer())];
    }
    return stored;
  },
  'values of other types': async (r2) => [
    await told(() => r2.put('other', 5)),
    await told(() => r2.put('other', true)),
    await told(() => r2.put('other', { a: 1 })),
    await told(() => r2.put('other', [1])),
    await told(() => r2.put('other', new Date(0))),
  ],
  'calls with too few arguments': async (r2) => [
    await told(() => r2.put('few')),
    await told(() => r2.put()),
    await told(() => r2.get()),
    await told(() => r2.head()),
    await told(() => r2.delete()),
    await told(() => r2.createMultipartUpload()),
    await told(() => r2.resumeMultipartUpload('few')),
  ],
  'keys of other types': async (r2) => {
    await r2.put(5, 'five');
    await r2.put(null, 'null');
    await r2.put(undefined, 'undefined');
    return [
      (await r2.head(5)).key,
      await (await r2.get('5')).text(),
      await (await r2.get('null')).text(),
      await (await r2.get('undefined')).text(),
    ];
  },
  'streams of a known length': async (r2) => {
    const fixed = new FixedLengthStream(5);
    const writer = fixed.writable.getWriter();
    writer.write(new TextEncoder().encode('fixed'));
    writer.close();
    const request = new Request('http://here/', { method: 'POST', body: 'a request' });
    const streams = [
      fixed.readable,
      request.body,
      new Response('a response').body,
      new Response(new Uint8Array([1, 2])).body,
      new Response(new Blob(['a blob'])).body,
      new Blob(['blob']).stream(),
      (await r2.get('text')).body,
      (await r2.get('text', { range: { offset: 1, length: 2 } })).body,
    ];
    const sizes = [];
    for (const stream of streams) sizes.push((await told(() => r2.put('stream', stream))).size);
    return [sizes, await (await r2.get('stream')).text()];
  },
  'streams of an unknown length': async (r2) => [
    await told(() => r2.put('unknown', sourceOf('one', 'two'))),
    await told(() => r2.put('unknown', new Response(sourceOf('one')).body)),
    await told(() => r2.put('unknown', new IdentityTransformStream().readable)),
    await told(() => r2.put('unknown', new TransformStream().readable)),
    await told(() => r2.put('unknown', sourceOf('one').tee()[0])),
    await r2.head('unknown'),
  ],
  'a stream that was read': async (r2) => {
    const { body } = new Response('read');
    await new Response(body).text();
    return (await told(() => r2.put('read', body))).name;
  },
  'a stream that fails': async (r2) => {
    const { readable, writable } = new FixedLengthStream(10);
    const writer = writable.getWriter();
    writer.write(new TextEncoder().encode('half')).catch(() => {});
    const put = told(() => r2.put('failing', readable));
    await writer.abort(new Error('the source broke')).catch(() => {});
    return [(await put).message, await r2.head('failing')];
  },
  'a stream that is too short': async (r2) => {
    const { readable, writable } = new FixedLengthStream(10);
    const writer = writable.getWriter();
    const put = told(() => r2.put('short', readable));
    await told(() => writer.write(new TextEncoder().encode('half')));
    await told(() => writer.close());
    return [(await put).message, await r2.head('short')];
  },
  'a large stream': async (r2) => {
    const chunk = new Uint8Array(100_000).map((_, i) => i % 251);
    const { readable, writable } = new FixedLengthStream(chunk.length * 40);
    const put = r2.put('large stream', readable);
    const writer = writable.getWriter();
    for (let i = 0; i < 40; i++) await writer.write(chunk.slice());
    await writer.close();
    const { size, etag } = await put;
    const read = new Uint8Array(await (await r2.get('large stream')).arrayBuffer());
    const isSame = read.every((byte, i) => byte === (i % 100_000) % 251);
    return [size, etag, read.length, isSame];
  },
  'metadata of HTTP': async (r2) => {
    const httpMetadata = {
      contentType: 'text/plain',
      contentLanguage: 'de',
      contentDisposition: 'inline',
      contentEncoding: 'identity',
      cacheControl: 'no-store',
      cacheExpiry: new Date(Date.UTC(2030, 0, 1)),
      other: 'ignored',
    };
    const put = await r2.put('http', 'v', { httpMetadata });
    const { httpMetadata: read } = await r2.head('http');
    const headers = new Headers({ 'x-mine': '1', 'content-type': 'x' });
    (await r2.get('http')).writeHttpMetadata(headers);
    return [
      put.httpMetadata,
      Object.keys((await r2.put('http', 'v')).httpMetadata),
      read,
      read.cacheExpiry instanceof Date,
      [...headers],
    ];
  },
  'metadata of HTTP from headers': async (r2) => {
    const headers = new Headers({
      'content-type': 'text/html',
      'content-language': 'en',
      'content-disposition': 'attachment',
      'content-encoding': 'gzip',
      'cache-control': 'max-age=5',
      expires: 'Tue, 01 Jan 2030 00:00:00 GMT',
      'x-other': 'ignored',
    });
    const put = await r2.put('headers', 'v', { httpMetadata: headers });
    return [put.httpMetadata, (await r2.head('headers')).httpMetadata];
  },
  'other metadata of HTTP': async (r2) => [
    (await told(() => r2.put('other', 'v', { httpMetadata: 5 }))).name,
    await told(() => r2.put('other', 'v', { httpMetadata: null })).then(factsOf),
    (await r2.put('other', 'v', { httpMetadata: { contentType: 5 } })).httpMetadata,
    (await r2.put('other', 'v', { httpMetadata: { contentType: undefined } })).httpMetadata,
    (await r2.put('other', 'v', { httpMetadata: {} })).httpMetadata,
    await told(() => (r2.head('other') as Untyped).then((o: Untyped) => o.writeHttpMetadata({}))),
  ],
  'metadata of its own': async (r2) => {
    const put = await r2.put('custom', 'v', { customMetadata: { b: '2', a: 'é', n: 5 } });
    const first = await r2.head('custom');
    await r2.put('custom', 'w');
    return [put.customMetadata, first.customMetadata, (await r2.head('custom')).customMetadata];
  },
  'too much metadata': async (r2) => [
    await told(() => r2.put('much', 'v', { customMetadata: { a: 'x'.repeat(2048) } })),
    await told(() => r2.put('much', 'v', { customMetadata: { a: `${'x'.repeat(1023)}😀` } })),
    (await r2.put('much', 'v', { customMetadata: { a: 'x'.repeat(2047) } })).size,
  ],
  'keys of 1,024 and 1,025 bytes': async (r2) => {
    const key = 'ß'.repeat(512);
    await r2.put(key, 'fits');
    return [
      await (await r2.get(key)).text(),
      await told(() => r2.get(`${key}x`)),
      await told(() => r2.head(`${key}x`)),
      await told(() => r2.put(`${key}x`, 'v')),
      await told(() => r2.delete(`${key}x`)),
      await told(() => r2.delete(['a', `${key}x`])),
      await told(() => r2.createMultipartUpload(`${key}x`)),
    ];
  },
  'keys of many kinds': async (r2) => {
    const keys = ['', '.', '..', 'a/b', '/', 'a?b=c&d#e', '%20', ' ', 'ü', '😀', 'a\nb'];
    const values = [];
    for (const key of keys) {
      await r2.put(key, `<${key}>`);
      values.push([(await r2.head(key)).key, await (await r2.get(key)).text()]);
    }
    await r2.delete(keys);
    return [values, await r2.head('ü')];
  },
  'storage classes': async (r2) => [
    (await r2.put('class', 'v', { storageClass: 'InfrequentAccess' })).storageClass,
    (await r2.head('class')).storageClass,
    (await told(() => r2.put('class', 'v', { storageClass: 'Cold' }))).storageClass,
  ],
  checksums: async (r2) => {
    const stored: Record<string, unknown> = {};
    for (const [name, hex] of Object.entries(HEX)) {
      const put = await r2.put('sum', 'hello', { [name]: hex });
      const bytes = Uint8Array.from(hex.match(/../g)!, (pair) => Number.parseInt(pair, 16));
      const { checksums } = await r2.put('sum', 'hello', { [name]: bytes });
      const head = await r2.head('sum');
      stored[name] = [
        put.checksums.toJSON(),
        checksums.toJSON(),
        head.checksums.toJSON(),
        bytesOf(head.checksums[name]),
        head.checksums[name] instanceof ArrayBuffer,
      ];
    }
    return stored;
  },
  'checksums in capitals and as buffers': async (r2) => [
    (await r2.put('sum', 'hello', { md5: MD5_OF_HELLO.toUpperCase() })).checksums.toJSON(),
    (await r2.put('sum', 'hello', { sha1: firstBytes(HEX.sha1!, 20).buffer })).checksums.toJSON(),
  ],
  'checksums that do not match': async (r2) => {
    await r2.put('kept', 'before');
    const refused = [];
    for (const [name, hex] of Object.entries(HEX)) {
      refused.push(await told(() => r2.put('kept', 'other', { [name]: hex })));
    }
    return [refused, await (await r2.get('kept')).text()];
  },
  'checksums of another form': async (r2) => {
    const refused = [];
    for (const name of Object.keys(HEX)) {
      refused.push(await told(() => r2.put('no', 'v', { [name]: 'abc' })));
      refused.push(await told(() => r2.put('no', 'v', { [name]: 'z'.repeat(HEX[name]!.length) })));
      refused.push(await told(() => r2.put('no', 'v', { [name]: new Uint8Array(3) })));
    }
    refused.push((await told(() => r2.put('no', 'v', { md5: 5 }))).name);
    return [refused, await r2.head('no')];
  },
  'two checksums': (r2) => told(() => r2.put('no', 'v', { md5: HEX.md5, sha1: HEX.sha1 })),
  ranges: async (r2) => {
    await r2.put('range', '0123456789');
    const asked = [
      { offset: 3 },
      { offset: 3, length: 4 },
      { length: 4 },
      { suffix: 3 },
      { suffix: 30 },
      { offset: 8, length: 5 },
      { offset: 0 },
      { offset: 9, length: 1 },
      {},
    ];
    const parts = [];
    for (const range of asked) {
      const found = await r2.get('range', { range });
      parts.push([found.range, found.size, await found.text()]);
    }
    return parts;
  },
  'ranges outside': async (r2) => {
    const asked = [
      { offset: 10 },
      { offset: 11 },
      { length: 0 },
      { suffix: 0 },
      { offset: 100, length: 1 },
      { offset: -1 },
      { length: -1 },
      { suffix: -1 },
      { offset: 1.5 },
      { length: 1.5 },
      { suffix: 1.5 },
      { offset: 1, suffix: 1 },
      { length: 1, suffix: 1 },
      { offset: Number.NaN },
      { offset: '2', length: '3' },
    ];
    const parts = [];
    for (const range of asked) {
      const found = await told(() => r2.get('range', { range }));
      parts.push(found.text === undefined ? found : [found.range, await found.text()]);
    }
    return parts;
  },
  'ranges of headers': async (r2) => {
    const asked = [
      'bytes=2-4',
      'bytes=5-',
      'bytes=-3',
      'bytes=-30',
      'bytes=-10',
      'bytes=-0',
      'bytes=0-0',
      'bytes=8-50',
      'bytes=10-',
      'bytes=4-2',
      'bytes=0-1,3-4',
      'items=0-1',
      'bytes=',
      'bytes=x',
      'BYTES = 1 - 2',
      '',
    ];
    const parts = [];
    for (const range of asked) {
      const found = await told(() => r2.get('range', { range: new Headers({ range }) }));
      parts.push(found.text === undefined ? found : [found.range, await found.text()]);
    }
    return [parts, (await r2.get('range', { range: new Headers() })).range];
  },
  'ranges of other types': async (r2) => [
    (await told(() => r2.get('range', { range: 5 }))).name,
    (await told(() => r2.get('range', { range: 'bytes=1-2' }))).name,
    (await told(() => r2.get('range', 5))).name,
    (await r2.get('range', { range: undefined })).range,
    (await r2.get('range', null)).range,
  ],
  'ranges of an empty object': async (r2) => {
    await r2.put('empty', '');
    const whole = await r2.get('empty');
    return [
      [whole.range, whole.size, await whole.text()],
      await told(() => r2.get('empty', { range: {} })),
      await told(() => r2.get('empty', { range: { offset: 0 } })),
      await told(() => r2.get('empty', { range: { suffix: 1 } })),
      (await r2.get('empty', { range: new Headers({ range: 'bytes=0-1' }) })).range,
    ];
  },
  'a range of a large object': async (r2) => {
    const size = 3 * 1024 * 1024 + 7;
    await r2.put(
      'parts',
      new Uint8Array(size).map((_, i) => (i * 7) % 253),
    );
    const asked = [
      { offset: 1024 * 1024 - 2, length: 5 },
      { offset: 1024 * 1024, length: 1024 * 1024 },
      { offset: 2 * 1024 * 1024 - 1 },
      { suffix: 3 },
      { offset: size - 1, length: 9 },
    ];
    const parts = [];
    for (const range of asked) {
      const found = await r2.get('parts', { range });
      const bytes = new Uint8Array(await found.arrayBuffer());
      const { offset } = found.range;
      const isSame = bytes.every((byte, i) => byte === ((offset + i) * 7) % 253);
      parts.push([found.range, bytes.length, isSame]);
    }
    return parts;
  },
  deletes: async (r2) => {
    await r2.put('d1', '1');
    await r2.put('d2', '2');
    return [
      (await r2.delete('d1')) === undefined,
      (await r2.delete('d1')) === undefined,
      (await r2.delete(['d2', 'none', 'd2'])) === undefined,
      (await r2.delete([])) === undefined,
      await r2.head('d1'),
      await r2.head('d2'),
    ];
  },
  'a delete of 1,000 and of 1,001 keys': async (r2) => {
    const keys = Array.from({ length: 1001 }, (_, i) => `many/${i}`);
    return [await told(() => r2.delete(keys.slice(1))), await told(() => r2.delete(keys))];
  },
  'two puts of one key at once': async (r2) => {
    const puts = await Promise.all(['first', 'second'].map((value) => r2.put('twice', value)));
    const found = await r2.get('twice');
    const text = await found.text();
    return [puts.map(({ size }) => size), text === 'first' || text === 'second', found.size];
  },
  'a bucket and an object as values': async (r2) => [
    (await told(() => structuredClone(r2))).name,
    (await told(async () => structuredClone(await r2.head('text')))).name,
  ],
};
