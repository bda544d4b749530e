// Uses of Node's modules, as a program with the flag `nodejs_compat` has them, and the globals.

import assert from 'node:assert';
import { Buffer } from 'node:buffer';
import * as crypto from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import querystring from 'node:querystring';
import { Readable, Transform } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as delay } from 'node:timers/promises';
import * as url from 'node:url';
import * as util from 'node:util';

const QUESTIONS: Record<string, () => unknown> = {
  globals: () =>
    ['process', 'Buffer', 'global', 'setImmediate', 'clearImmediate'].map(
      (name) => typeof Reflect.get(globalThis, name),
    ),
  'globals: Buffer is the module’s': () => Reflect.get(globalThis, 'Buffer') === Buffer,
  setImmediate: () => new Promise((done) => setImmediate(done, 4)),
  'buffer: utf8': () => Buffer.from('hé').toString('hex'),
  'buffer: base64': () => Buffer.from('aGk=', 'base64').toString(),
  'buffer: base64url': () => Buffer.from([251, 255]).toString('base64url'),
  'buffer: latin1': () => Buffer.from('é', 'latin1').toString('hex'),
  'buffer: utf16le': () => Buffer.from('hi', 'utf16le').toString('hex'),
  'buffer: concat': () => Buffer.concat([Buffer.from('a'), Buffer.from('b')]).toString(),
  'buffer: alloc': () => Buffer.alloc(3, 'ab').toString(),
  'buffer: ints': () => {
    const b = Buffer.alloc(8);
    b.writeUInt32BE(1, 0);
    b.writeInt16LE(-2, 4);
    return [b.toString('hex'), b.readInt16LE(4)];
  },
  'buffer: compare': () => [
    Buffer.compare(Buffer.from('a'), Buffer.from('b')),
    Buffer.from('a').equals(Buffer.from('a')),
  ],
  'buffer: indexOf': () => Buffer.from('hello').indexOf('l'),
  'buffer: byteLength': () => Buffer.byteLength('é'),
  'buffer: JSON': () => JSON.stringify(Buffer.from('a')),
  'buffer: is a Uint8Array': () => Buffer.from('a') instanceof Uint8Array,
  'assert: equal': () => {
    try {
      assert.equal(1, 2);
    } catch (e) {
      const { name, code } = e as { name: string; code: string };
      return [name, code];
    }
  },
  'assert: deepStrictEqual': () => {
    assert.deepStrictEqual({ a: [1] }, { a: [1] });
    return 'ok';
  },
  'assert: throws': () => {
    assert.throws(() => {
      throw new Error('x');
    });
    return 'ok';
  },
  'crypto: randomUUID': () => /^[0-9a-f-]{36}$/.test(crypto.randomUUID()),
  'crypto: randomBytes': () => crypto.randomBytes(4).length,
  'crypto: createHash': () => crypto.createHash('sha256').update('a').digest('hex'),
  'crypto: createHmac': () => crypto.createHmac('sha256', 'k').update('a').digest('hex'),
  'crypto: timingSafeEqual': () => crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')),
  'events: emit': () => {
    const e = new EventEmitter();
    const got: number[] = [];
    e.on('a', (x) => got.push(x));
    e.once('a', (x) => got.push(-x));
    e.emit('a', 1);
    e.emit('a', 2);
    return got;
  },
  'events: once': async () => {
    const e = new EventEmitter();
    const p = once(e, 'a');
    e.emit('a', 5);
    return p;
  },
  'events: an error that nobody handles': () => {
    try {
      new EventEmitter().emit('error', new Error('x'));
    } catch (e) {
      return (e as Error).message;
    }
  },
  'path: join': () => path.join('/a', '..', 'b', './c'),
  'path: parse': () => path.parse('/a/b.txt'),
  'path: relative': () => path.relative('/a/b', '/a/c'),
  'path: resolve': () => path.resolve('/a', 'b'),
  'process: env': () => typeof process.env,
  'process: nextTick': () => new Promise((done) => process.nextTick(done, 3)),
  'process: cwd': () => process.cwd(),
  'process: platform': () => process.platform,
  'querystring: parse': () => ({ ...querystring.parse('a=1&b=2&b=3') }),
  'stream: Readable.from': async () => {
    const r: unknown[] = [];
    for await (const x of Readable.from([1, 2])) r.push(x);
    return r;
  },
  'stream: Transform': async () => {
    const t = new Transform({
      transform(c, _e, cb) {
        cb(null, String(c).toUpperCase());
      },
    });
    t.end('ab');
    let s = '';
    for await (const x of t) s += x;
    return s;
  },
  'string_decoder: a split character': () => {
    const d = new StringDecoder('utf8');
    return [d.write(Buffer.from([0xc3])), d.write(Buffer.from([0xa9])), d.end()];
  },
  'timers/promises: setTimeout': () => delay(1, 'v'),
  'url: fileURLToPath': () => url.fileURLToPath('file:///a/b'),
  'url: parse': () => url.parse('http://a/b?c=d').pathname,
  'url: URL': () => url.URL === URL,
  'util: promisify': () =>
    util.promisify((x: number, cb: (error: null, value: number) => void) => cb(null, x + 1))(1),
  'util: inspect': () => util.inspect({ a: [1, { b: 2 }], c: new Map([[1, 2]]) }),
  'util: format': () => util.format('%s %d %j', 'a', 1, { b: 2 }),
  'util: inherits': () => {
    class A {}
    class B {}
    util.inherits(A, B);
    return new A() instanceof B;
  },
  'util: types': () => util.types.isDate(new Date(0)),
  'util: isDeepStrictEqual': () => util.isDeepStrictEqual({ a: 1 }, { a: 1 }),
  'util: TextEncoder': () => util.TextEncoder === TextEncoder,
};
export async function answersAll(): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(QUESTIONS)) {
    try {
      answers[what] = (await ask()) ?? null;
    } catch (error) {
      answers[what] = `throws ${(error as Error).message}`;
    }
  }
  return answers;
}
