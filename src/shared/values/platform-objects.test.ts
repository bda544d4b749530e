// Tests objects of the platform in Node. As in browsers and workerd, only those that structured clone accepts are stored.

import { describe, expect, test } from 'vitest';
import { deserialize } from './decode.ts';
import { serialize } from './encode.ts';

/** The platform classes whose objects can be stored. */
const STORED = new Set(['Headers', 'Request', 'Response', 'Blob', 'DOMException']);

const pool = Buffer.from('x').buffer;
const channel = new MessageChannel();
channel.port1.close();

/** Makers of platform objects that programs commonly have. */
const MET: Record<string, () => unknown> = {
  URL: () => new URL('http://x/'),
  URLSearchParams: () => new URLSearchParams('a=1'),
  'iterator of URLSearchParams': () => new URLSearchParams('a=1').entries(),
  FormData: () => new FormData(),
  'iterator of FormData': () => new FormData().values(),
  'iterator of Headers': () => new Headers({ a: 'b' }).keys(),
  Event: () => new Event('x'),
  CustomEvent: () => new CustomEvent('x', { detail: 1 }),
  MessageEvent: () => new MessageEvent('message', { data: 1 }),
  EventTarget: () => new EventTarget(),
  'subclass of EventTarget': () =>
    new (class extends EventTarget {
      own = 1;
    })(),
  AbortController: () => new AbortController(),
  AbortSignal: () => AbortSignal.abort('reason'),
  TextEncoder: () => new TextEncoder(),
  TextDecoder: () => new TextDecoder(),
  TextDecoderStream: () => new TextDecoderStream(),
  CompressionStream: () => new CompressionStream('gzip'),
  ReadableStream: () => new ReadableStream(),
  'reader of a stream': () => new ReadableStream().getReader(),
  WritableStream: () => new WritableStream(),
  TransformStream: () => new TransformStream(),
  CountQueuingStrategy: () => new CountQueuingStrategy({ highWaterMark: 1 }),
  performance: () => performance,
  'time of the process': () => (performance as unknown as { nodeTiming: object }).nodeTiming,
  PerformanceMark: () => performance.mark('x'),
  crypto: () => crypto,
  'crypto.subtle': () => crypto.subtle,
  MessagePort: () => channel.port1,
  File: () => new File(['x'], 'name'),
};

function outcomeOf(value: unknown): string {
  try {
    serialize(value);
    return 'stored';
  } catch (error) {
    return (error as Error).name;
  }
}

/** Lists the platform's classes among the globals, which are not enumerable. */
function platformClasses(): [name: string, prototype: object][] {
  const found: [string, object][] = [];
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(globalThis))) {
    const isLanguage =
      typeof property.value === 'function' && /native code/.test(String(property.value));
    if (property.enumerable || isLanguage || !/^[A-Z]/.test(name)) continue;
    const { prototype } = (Reflect.get(globalThis, name) ?? {}) as { prototype?: object };
    if (typeof prototype === 'object') found.push([name, prototype]);
  }
  return found;
}

describe('[VAL3] in Node', () => {
  test.each(Object.entries(MET))('%s is refused, alone and inside of a value', (_, make) => {
    expect(outcomeOf(make())).toBe('DataCloneError');
    expect(outcomeOf({ deep: new Map([[1, [make()]]]) })).toBe('DataCloneError');
  });

  test('an object of every class of the platform is refused, except classes with a stored form', () => {
    const classes = platformClasses();
    expect(classes.length).toBeGreaterThan(35);
    const stored = classes
      // Without its slots, an object that inherits from a class with a stored form is a plain object.
      .filter(([, prototype]) => outcomeOf(Object.create(prototype)) === 'stored')
      .map(([name]) => name);
    expect(new Set(stored)).toEqual(STORED);
  });

  test('a class that an app adds to the globals is stored like any other', () => {
    const scope = globalThis as { Added?: new () => object };
    scope.Added = class {
      a = 1;
    };
    try {
      expect(deserialize(serialize(new scope.Added()))).toEqual({ a: 1 });
    } finally {
      delete scope.Added;
    }
  });
});

describe('[VAL10] a Buffer of Node', () => {
  const bytesOf = (value: unknown) => Buffer.from(serialize(value)).toString('latin1');

  test('is stored with its own bytes, and nothing else of the memory that Buffers share', () => {
    Buffer.from('a secret of others');
    const buffer = Buffer.from('hi');
    expect(buffer.buffer.byteLength).toBe(pool.byteLength);
    expect(bytesOf(buffer)).not.toContain('secret');
    const read = deserialize(serialize({ deep: [buffer] })) as { deep: [Uint8Array] };
    expect(read.deep[0]).toEqual(new Uint8Array([104, 105]));
    expect(read.deep[0].buffer.byteLength).toBe(2);
  });

  test('that occurs twice is read as one object, beside others of the same memory', () => {
    const [first, second] = [Buffer.from('one'), Buffer.from('two')];
    const read = deserialize(serialize([first, second, first, { first }])) as Uint8Array[] & {
      3: { first: Uint8Array };
    };
    expect(read[2]).toBe(read[0]);
    expect(read[3].first).toBe(read[0]);
    expect(read.slice(0, 2).map((bytes) => Buffer.from(bytes).toString())).toEqual(['one', 'two']);
    expect(read[1]!.buffer).not.toBe(read[0]!.buffer);
  });

  test('that fills its memory shares it with other views, and so does any other view', () => {
    const memory = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
    const views = [
      Buffer.from(memory),
      new Uint16Array(memory, 2, 1),
      new Uint8Array(memory, 3, 2),
    ];
    const read = deserialize(serialize(views)) as Uint8Array[];
    expect(read.map((view) => [...view])).toEqual([[1, 2, 3, 4, 5, 6, 7, 8], [0x0403], [4, 5]]);
    for (const { buffer } of read) expect(buffer).toBe(read[0]!.buffer);
    const part = deserialize(serialize(new Uint8Array(memory, 3, 2))) as Uint8Array;
    expect([...part]).toEqual([4, 5]);
    expect([...new Uint8Array(part.buffer)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('over shared memory is refused', () => {
    expect(outcomeOf(Buffer.from(new SharedArrayBuffer(8), 1, 2))).toBe('DataCloneError');
  });
});

test('[VAL3] an object of the platform whose class has no name is refused with the way out', () => {
  expect(() => serialize(process.env)).toThrow(
    '#<Object> could not be cloned: it belongs to the platform, as process.env does. Store a copy of its ' +
      'properties: { ...object }.',
  );
  expect(deserialize(serialize({ ...process.env }))).toEqual({ ...process.env });
});
