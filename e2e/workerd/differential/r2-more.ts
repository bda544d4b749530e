// An R2 bucket: conditions, lists and uploads in parts.

import { ASKS } from './r2.ts';
import { answersOf, factsOf, MD5_OF_HELLO, told, type Untyped } from './r2-answers.ts';

const PART_BYTES = 5 * 1024 * 1024;
const OLD = new Date(0);
const FUTURE = new Date(Date.UTC(2100, 0, 1));

/** Whether a get met the condition, and what a put did. */
async function met(r2: Untyped, onlyIf: unknown): Promise<unknown> {
  const got = await told(() => r2.get('cond', { onlyIf }));
  const put = await told(() => r2.put('cond put', 'v', { onlyIf }));
  const kind = (one: Untyped) => (one.message === undefined ? typeof one.size : one);
  return [got.message === undefined ? 'body' in got && got.body !== undefined : got, kind(put)];
}

async function metAll(r2: Untyped, conditions: readonly unknown[]): Promise<unknown> {
  await r2.put('cond', 'hello');
  const answers = [];
  for (const condition of conditions) {
    await r2.put('cond put', 'hello');
    answers.push(await met(r2, condition));
  }
  return answers;
}

async function keysOf(r2: Untyped, options: unknown): Promise<unknown> {
  const listed = await told(() => r2.list(options));
  if (listed.objects === undefined) return listed;
  const { objects, truncated, cursor, delimitedPrefixes } = listed;
  return [objects.map(({ key }: Untyped) => key), truncated, typeof cursor, delimitedPrefixes];
}

const FURTHER_ASKS: Readonly<Record<string, (r2: Untyped) => unknown>> = {
  'conditions by etag': (r2) =>
    metAll(r2, [
      { etagMatches: MD5_OF_HELLO },
      { etagMatches: 'other' },
      { etagMatches: '*' },
      { etagDoesNotMatch: MD5_OF_HELLO },
      { etagDoesNotMatch: 'other' },
      { etagDoesNotMatch: '*' },
      { etagMatches: MD5_OF_HELLO, etagDoesNotMatch: MD5_OF_HELLO },
      { etagMatches: `"${MD5_OF_HELLO}"` },
      { etagDoesNotMatch: '"x"' },
      { etagMatches: '' },
      {},
    ]),
  'conditions by time': (r2) =>
    metAll(r2, [
      { uploadedBefore: FUTURE },
      { uploadedBefore: OLD },
      { uploadedAfter: FUTURE },
      { uploadedAfter: OLD },
      { uploadedAfter: FUTURE, etagDoesNotMatch: 'other' },
      { uploadedBefore: OLD, etagMatches: MD5_OF_HELLO },
      { uploadedAfter: OLD, secondsGranularity: true },
      { uploadedBefore: FUTURE.getTime() },
    ]),
  'conditions by seconds': async (r2) => {
    const { uploaded } = await r2.put('cond', 'hello');
    const second = Math.floor(uploaded.getTime() / 1000) * 1000;
    const conditions = [
      { uploadedAfter: uploaded, secondsGranularity: true },
      { uploadedBefore: new Date(second + 999), secondsGranularity: true },
      { uploadedAfter: uploaded },
      { uploadedBefore: new Date(uploaded.getTime() + 1) },
    ];
    const answers = [];
    for (const onlyIf of conditions) {
      answers.push((await r2.get('cond', { onlyIf })).body !== undefined);
    }
    return answers;
  },
  'conditions of headers': (r2) =>
    metAll(
      r2,
      [
        { 'if-match': `"${MD5_OF_HELLO}"` },
        { 'if-match': '"other"' },
        { 'if-match': `"other", "${MD5_OF_HELLO}"` },
        { 'if-match': `W/"${MD5_OF_HELLO}"` },
        { 'if-none-match': `W/"${MD5_OF_HELLO}"` },
        { 'if-none-match': `"a","b" , W/"c"` },
        { 'if-none-match': '*' },
        { 'if-match': '*' },
        { 'if-match': 'no quotes' },
        { 'if-none-match': 'no quotes' },
        { 'if-match': '"a" "b"' },
        { 'if-match': '"a" W/"b"' },
        { 'if-match': '"a" *' },
        { 'if-match': '"open' },
        { 'if-match': 'W"a"' },
        { 'if-match': ' , ' },
        { 'if-match': '"a", b' },
        { 'if-modified-since': OLD.toUTCString() },
        { 'if-modified-since': FUTURE.toUTCString() },
        { 'if-unmodified-since': OLD.toUTCString() },
        { 'if-unmodified-since': FUTURE.toUTCString() },
        {},
      ].map((headers) => new Headers(headers as HeadersInit)),
    ),
  'conditions of other types': async (r2) => [
    (await told(() => r2.get('cond', { onlyIf: 5 }))).name,
    (await told(() => r2.get('cond', { onlyIf: { etagMatches: 5 } }))).name,
    (await told(() => r2.get('cond', { onlyIf: { uploadedBefore: 'x' } }))).name,
    (await told(() => r2.get('cond', { onlyIf: { uploadedBefore: new Date(Number.NaN) } }))).name,
    (await told(() => r2.get('cond', { onlyIf: null }))).size,
  ],
  'an object whose condition failed': async (r2) => {
    await r2.put('cond', 'hello', { customMetadata: { a: '1' } });
    const found = await r2.get('cond', { onlyIf: { etagMatches: 'other' }, range: { offset: 1 } });
    return [factsOf(found), Object.prototype.toString.call(found), 'text' in found];
  },
  'a condition on a missing object': async (r2) => {
    const conditions = [
      { etagMatches: '*' },
      { etagDoesNotMatch: '*' },
      { uploadedAfter: OLD },
      { uploadedBefore: OLD },
    ];
    const answers = [];
    for (const onlyIf of conditions) {
      await r2.delete('missing');
      const got = await r2.get('missing', { onlyIf });
      answers.push([got, (await r2.put('missing', 'v', { onlyIf })) !== null]);
    }
    return answers;
  },
  'a put whose condition failed': async (r2) => {
    await r2.put('cond', 'kept');
    const put = await r2.put('cond', 'lost', { onlyIf: { etagMatches: 'other' } });
    return [put, await (await r2.get('cond')).text()];
  },
  'a stream whose condition failed': async (r2) => {
    const onlyIf = { etagDoesNotMatch: '*' };
    const put = await r2.put('cond', new Response('lost').body, { onlyIf });
    return [put, await (await r2.get('cond')).text()];
  },
  'a list': async (r2) => {
    for (const name of ['b', 'a', 'c/1', 'c/2', 'd/e/f', 'Z', 'é', '😀', '\uffff']) {
      await r2.put(`list:${name}`, name, {
        customMetadata: { name },
        httpMetadata: { contentType: 'x/y' },
        ...(name === 'b' && { sha1: 'e9d71f5ee7c92d6dc9e92ffdad17b8bd49418f98' }),
      });
    }
    const { objects, ...rest } = await r2.list({ prefix: 'list:' });
    return [objects.map(factsOf), rest];
  },
  'the members of a list': async (r2) => {
    const listed = await r2.list({ prefix: 'list:', limit: 1 });
    return [
      Object.keys(listed).sort(),
      Object.keys(await r2.list({ prefix: 'list:' })).sort(),
      Object.prototype.toString.call(listed.objects[0]),
      Array.isArray(listed.objects),
    ];
  },
  'what a list includes': async (r2) => {
    const include = async (fields?: string[]) => {
      const { objects } = await r2.list({ prefix: 'list:a', ...(fields && { include: fields }) });
      const [{ httpMetadata, customMetadata }] = objects;
      return [httpMetadata ?? 'none', customMetadata ?? 'none'];
    };
    return [
      await include(),
      await include([]),
      await include(['httpMetadata']),
      await include(['customMetadata']),
      await include(['httpMetadata', 'customMetadata']),
      await told(() => include(['other'])),
    ];
  },
  'metadata that a list does not include': async (r2) => {
    const { objects } = await r2.list({ prefix: 'list:a' });
    return told(() => objects[0].writeHttpMetadata(new Headers()));
  },
  'a list in parts': async (r2) => {
    const parts = [];
    let cursor: string | undefined;
    do {
      const part: Untyped = await r2.list({ prefix: 'list:', limit: 4, cursor });
      parts.push([part.objects.map(({ key }: Untyped) => key), part.truncated, part.cursor]);
      cursor = part.cursor;
    } while (cursor !== undefined);
    return parts;
  },
  'a list that fits': (r2) => keysOf(r2, { prefix: 'list:', limit: 9 }),
  'a list of nothing': (r2) => keysOf(r2, { prefix: 'nothing' }),
  'a list after a key': async (r2) => [
    await keysOf(r2, { prefix: 'list:', startAfter: 'list:b' }),
    await keysOf(r2, { prefix: 'list:', startAfter: 'list:bb' }),
    await keysOf(r2, { prefix: 'list:', startAfter: 'z' }),
    await keysOf(r2, { prefix: 'list:', startAfter: 'list:b', cursor: btoa('list:c/1') }),
    await keysOf(r2, { prefix: 'list:', startAfter: 'list:c/1', cursor: btoa('list:a') }),
  ],
  delimiters: async (r2) => [
    await keysOf(r2, { prefix: 'list:', delimiter: '/' }),
    await keysOf(r2, { prefix: 'list:c/', delimiter: '/' }),
    await keysOf(r2, { prefix: 'list:d/', delimiter: '/' }),
    await keysOf(r2, { prefix: 'list', delimiter: ':' }),
    await keysOf(r2, { prefix: 'list:', delimiter: '' }),
    await keysOf(r2, { prefix: 'list:', delimiter: 'c/' }),
    await keysOf(r2, { prefix: 'list:', delimiter: '/', startAfter: 'list:c/1' }),
  ],
  'delimiters in parts': async (r2) => {
    const parts = [];
    let cursor: string | undefined;
    do {
      const part: Untyped = await r2.list({ prefix: 'list:', delimiter: '/', limit: 2, cursor });
      const { objects, delimitedPrefixes } = part;
      parts.push([objects.map(({ key }: Untyped) => key), delimitedPrefixes, part.cursor]);
      cursor = part.cursor;
    } while (cursor !== undefined);
    return parts;
  },
  'wildcards in a prefix': async (r2) => [
    await keysOf(r2, { prefix: 'l_st' }),
    await keysOf(r2, { prefix: '%' }),
    await keysOf(r2, { prefix: 'LIST:' }),
  ],
  'limits of a list': async (r2) => [
    await keysOf(r2, { prefix: 'list:a', limit: 0 }),
    await keysOf(r2, { prefix: 'list:a', limit: -1 }),
    await keysOf(r2, { prefix: 'list:a', limit: -2 }),
    await keysOf(r2, { prefix: 'list:a', limit: 1000 }),
    await keysOf(r2, { prefix: 'list:a', limit: 1001 }),
    await keysOf(r2, { prefix: 'list:a', limit: 1.5 }),
    await keysOf(r2, { prefix: 'list:a', limit: '1' }),
    await keysOf(r2, { prefix: 'list:a', limit: 'x' }),
  ],
  'options of a list of other types': async (r2) => [
    await told(() => r2.list({ prefix: 5 })),
    await told(() => r2.list({ cursor: 5 })),
    await told(() => r2.list({ prefix: null })),
    (await told(() => r2.list({ include: 'httpMetadata' }))).name,
    (await told(() => r2.list(5))).name,
    await keysOf(r2, { prefix: 'list:a', cursor: undefined }),
    (await keysOf(r2, undefined)) !== undefined,
  ],
  'a list with metadata, of at most 100': async (r2) => {
    for (let i = 0; i < 102; i++) await r2.put(`hundred/${i}`, '');
    const { objects, truncated } = await r2.list({
      prefix: 'hundred/',
      include: ['httpMetadata'],
    });
    const all = await r2.list({ prefix: 'hundred/' });
    return [objects.length, truncated, all.objects.length, all.truncated];
  },
  'an upload in parts': async (r2) => {
    const upload = await r2.createMultipartUpload('multi', {
      httpMetadata: { contentType: 'a/b' },
      customMetadata: { a: '1' },
    });
    const first = await upload.uploadPart(1, new Uint8Array(PART_BYTES).fill(1));
    const again = r2.resumeMultipartUpload('multi', upload.uploadId);
    const last = await again.uploadPart(2, 'the rest');
    const before = await r2.head('multi');
    const done = await again.complete([first, last]);
    const found = await r2.get('multi');
    const bytes = new Uint8Array(await found.arrayBuffer());
    const tail = await r2.get('multi', { range: { offset: PART_BYTES - 1, length: 4 } });
    return [
      [typeof upload.uploadId, upload.uploadId.length, upload.key],
      [Object.prototype.toString.call(upload), upload.constructor.name, Object.keys(upload)],
      [Object.keys(first), first.partNumber, first.etag.length],
      before,
      factsOf(done),
      factsOf(await r2.head('multi')),
      [bytes.length, bytes[0], new TextDecoder().decode(bytes.subarray(PART_BYTES))],
      [tail.range, await tail.text()],
    ];
  },
  'parts in any order, one of them twice': async (r2) => {
    const upload = await r2.createMultipartUpload('order');
    const second = await upload.uploadPart(5, 'end');
    const old = await upload.uploadPart(2, new Uint8Array(PART_BYTES).fill(1));
    const first = await upload.uploadPart(2, new Uint8Array(PART_BYTES).fill(2));
    await upload.uploadPart(7, 'unused');
    const refused = await told(() => upload.complete([old, second]));
    const done = await upload.complete([second, first]).catch((error: Error) => error.message);
    const other = await r2.createMultipartUpload('order');
    const parts = [
      await other.uploadPart(5, 'end'),
      await other.uploadPart(2, new Uint8Array(PART_BYTES).fill(2)),
    ];
    const sorted = await other.complete(parts.reverse());
    return [refused, done, sorted.size, sorted.etag];
  },
  'kinds of parts': async (r2) => {
    const upload = await r2.createMultipartUpload('part kinds');
    const values = ['text', new Uint8Array([1]), new Blob(['b']), new Response('response').body];
    const stored = [];
    for (const value of values) stored.push(typeof (await upload.uploadPart(1, value)).etag);
    return [
      stored,
      await told(() => upload.uploadPart(1, null)),
      await told(() => upload.uploadPart(1)),
      await told(() => upload.uploadPart(1, 5)),
      await told(() => upload.uploadPart(1, sourceless())),
    ];
  },
  'numbers of parts': async (r2) => {
    const upload = await r2.createMultipartUpload('numbers');
    const answers = [];
    for (const number of [0, -1, 10_001, 1.5, '3', 'x']) {
      const part = await told(() => upload.uploadPart(number, 'v'));
      answers.push(part.message === undefined ? part.partNumber : part);
    }
    answers.push(await told(() => upload.complete([{ partNumber: 0, etag: 'x' }])));
    return answers;
  },
  'an upload without parts': async (r2) => {
    const upload = await r2.createMultipartUpload('no parts');
    return [
      await told(async () => factsOf(await upload.complete([]))),
      await told(async () => (await (await r2.get('no parts')).text()).length),
    ];
  },
  'parts that are too small': async (r2) => {
    const upload = await r2.createMultipartUpload('small');
    const parts = [await upload.uploadPart(1, 'a'), await upload.uploadPart(2, 'b')];
    return [
      await told(() => upload.complete(parts)),
      (await upload.complete(parts.slice(0, 1))).etag,
      await (await r2.get('small')).text(),
    ];
  },
  'parts of several sizes': async (r2) => {
    const upload = await r2.createMultipartUpload('sizes');
    const parts = [
      await upload.uploadPart(1, new Uint8Array(PART_BYTES)),
      await upload.uploadPart(2, new Uint8Array(PART_BYTES + 1)),
      await upload.uploadPart(3, 'end'),
    ];
    return [
      await told(() => upload.complete(parts)),
      await told(() => upload.complete(parts.slice(0, 2))),
      (await upload.complete([parts[0], parts[2]])).size,
    ];
  },
  'null for an option': async (r2) => {
    const names = [
      ...['md5', 'sha1', 'sha256', 'sha384', 'sha512', 'customMetadata'],
      ...['httpMetadata', 'onlyIf'],
    ];
    const puts = names.map((name) => told(() => r2.put('null', 'a', { [name]: null })));
    const answers = (await Promise.all(puts)) as { name?: unknown }[];
    return [
      answers.map(({ name }) => name ?? 'stored'),
      await told(() => r2.list({ limit: null })),
    ];
  },
  'numbers beyond a range': async (r2) => {
    const upload = await r2.createMultipartUpload('beyond');
    const asked = [];
    for (const given of [2 ** 31, -(2 ** 31) - 1, 1e300, Infinity]) {
      asked.push(
        await told(() => upload.uploadPart(given, 'a')),
        await told(() => r2.list({ limit: given })),
      );
    }
    return asked;
  },
  'headers with times that cannot be read': async (r2) => {
    await r2.put('times', 'a');
    const asked = [];
    for (const name of ['if-modified-since', 'if-unmodified-since']) {
      for (const time of ['', 'soon', 'Thu, 01 Jan 1998 00:00:00 GMT']) {
        const onlyIf = new Headers({ [name]: time });
        const put = await r2.put('times', 'a', { onlyIf });
        asked.push('body' in (await r2.get('times', { onlyIf })), put !== null);
      }
    }
    return asked;
  },
  'parts that do not exist': async (r2) => {
    const upload = await r2.createMultipartUpload('wrong');
    const part = await upload.uploadPart(1, 'a');
    return [
      await told(() => upload.complete([{ ...part, etag: 'other' }])),
      await told(() => upload.complete([{ ...part, partNumber: 2 }])),
      await told(() => upload.complete([part, part])),
      (await told(() => upload.complete('x'))).name,
      (await told(() => upload.complete())).name,
      (await told(() => upload.complete([{}]))).name,
    ];
  },
  'an upload that was completed': async (r2) => {
    const upload = await r2.createMultipartUpload('over');
    const part = await upload.uploadPart(1, 'a');
    await upload.complete([part]);
    return [
      await told(() => upload.uploadPart(2, 'b')),
      await told(() => upload.complete([part])),
      await told(() => upload.abort()),
      await (await r2.get('over')).text(),
    ];
  },
  'an upload that was aborted': async (r2) => {
    const upload = await r2.createMultipartUpload('aborted');
    const part = await upload.uploadPart(1, 'a');
    return [
      (await upload.abort()) === undefined,
      await told(() => upload.abort()),
      await told(() => upload.uploadPart(2, 'b')),
      await told(() => upload.complete([part])),
      await r2.head('aborted'),
    ];
  },
  'an upload that does not exist': async (r2) => {
    const none = r2.resumeMultipartUpload('none', 'x');
    const upload = await r2.createMultipartUpload('mine');
    const other = r2.resumeMultipartUpload('not mine', upload.uploadId);
    return [
      [none.key, none.uploadId],
      await told(() => none.uploadPart(1, 'a')),
      await told(() => none.complete([])),
      await told(() => none.abort()),
      await told(() => other.uploadPart(1, 'a')),
      await told(() => other.abort()),
    ];
  },
  'metadata of an upload that is too large': async (r2) => {
    const customMetadata = { a: 'x'.repeat(3000) };
    const upload = await told(() => r2.createMultipartUpload('much', { customMetadata }));
    return upload.uploadId === undefined ? upload : upload.key;
  },
  'an upload over an object, and an object over an upload': async (r2) => {
    await r2.put('both', 'single');
    const upload = await r2.createMultipartUpload('both');
    const done = await upload.complete([await upload.uploadPart(1, 'multi')]);
    const text = await (await r2.get('both')).text();
    await r2.put('both', 'single again');
    return [done.etag, text, await (await r2.get('both')).text()];
  },
};

function sourceless(): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.close() });
}

export function r2All(r2: Untyped): Promise<Record<string, unknown>> {
  return answersOf(r2, { ...ASKS, ...FURTHER_ASKS });
}
