// Compares with values that workerd 1.20260730.1 (compatibility date 2026-07-30) has stored in `_cf_KV`.
//
// Each row was recorded by evaluating its `value` in a Durable Object and storing it with
// `storage.put`; stacks of errors were set to "ST" first.

import { describe, expect, test } from 'vitest';
import { deserialize } from './decode.ts';
import { serialize } from './encode.ts';

interface Row {
  readonly name: string;
  readonly value: () => unknown;
  readonly hex: string;
}

const ROWS: readonly Row[] = [
  { name: 'null', value: () => null, hex: 'ff0f30' },
  { name: 'booleans', value: () => [true, false], hex: 'ff0f41025446240002' },
  {
    name: 'small integers',
    value: () => [0, 1, -1, 63, 64, -64, -65, 2 ** 30 - 1, -(2 ** 30)],
    hex: 'ff0f4109490049024901497e498001497f49810149feffffff0749ffffffff07240009',
  },
  {
    name: 'doubles',
    value: () => [
      -0,
      1.5,
      Number.NaN,
      Number.NEGATIVE_INFINITY,
      2 ** 30,
      -(2 ** 30) - 1,
      2 ** 53,
      5e-324,
    ],
    hex: 'ff0f41084e00000000000000804e000000000000f83f4e000000000000f87f4e000000000000f0ff4e000000000000d0414e000040000000d0c14e00000000000040434e0100000000000000240008',
  },
  {
    name: 'bigints',
    value: () => [0n, -1n, 2n ** 64n - 1n, 2n ** 64n, -(2n ** 200n)],
    hex: 'ff0f41055a005a1101000000000000005a10ffffffffffffffff5a20000000000000000001000000000000005a410000000000000000000000000000000000000000000000000001000000000000240005',
  },
  {
    name: 'Latin-1 strings',
    value: () => ['', 'x', 'é\u0080ÿ', '\0', 'y'.repeat(130)],
    hex: 'ff0f410522002201782203e980ff22010022820179797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979797979240005',
  },
  {
    name: 'two-byte strings',
    value: () => ['€', '😀', 'a€', '\ud800', 'x\udfffy', 'ж'.repeat(70)],
    hex: 'ff0f41066302ac2063043dd800de63046100ac20630200d863067800ffdf790000638c013604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604360436043604240006',
  },
  {
    name: 'undefined inside',
    value: () => ({ a: undefined, b: [undefined], c: new Map([[undefined, undefined]]) }),
    hex: 'ff0f6f2201615f220162610149005f4001012201633b5f5f3a027b03',
  },
  {
    name: 'dates',
    value: () => [new Date(0), new Date(-1.5e12), new Date(Number.NaN)],
    hex: 'ff0f41034400000000000000004400008079efd375c244000000000000f87f240003',
  },
  {
    name: 'regular expressions',
    value: () => [/a\/b/dgimsuy, /[a--b]/v, /(?:)/, /€/i],
    hex: 'ff0f4104522204615c2f62bf015222065b612d2d625d8002522204283f3a290052006302ac2002240004',
  },
  {
    name: 'boxed primitives',
    value: () => [Object(-0), Object('é€'), Object(true), Object(false), Object(7n)],
    hex: 'ff0f41056e0000000000000080736304e900ac2079787a100700000000000000240005',
  },
  {
    name: 'object with every sort of key',
    value: () =>
      JSON.parse(
        '{"z":1,"2":2,"01":3,"-1":4,"1073741823":5,"1073741824":6,"4294967294":7,"4294967295":8,"":9,"é":10,"__proto__":{"x":1}}',
      ),
    hex: 'ff0f6f4904490449feffffff07490a4e000000000000d041490c4e0000c0ffffffef41490e22017a490222023031490622022d314908220a343239343936373239354910220049122201e9491422095f5f70726f746f5f5f6f22017849027b017b0b',
  },
  {
    name: 'class instance',
    value: () =>
      new (class Point {
        x = 1;
        #y = 2;
        get y() {
          return this.#y;
        }
      })(),
    hex: 'ff0f6f22017849027b01',
  },
  {
    name: 'object without prototype',
    value: () => Object.assign(Object.create(null), { a: 1 }),
    hex: 'ff0f6f22016149027b01',
  },
  {
    name: 'arrays with holes',
    value: () => [
      Object.assign(new Array(3), { 0: 1, 2: 3 }),
      new Array(3),
      Object.assign([], { 500: 1 }),
    ],
    hex: 'ff0f410361034900490249044906400203610340000361f50349e80749024001f503240003',
  },
  {
    name: 'arrays with properties',
    value: () => [
      Object.assign([1, 2], { foo: 'bar' }),
      Object.assign(new Array(3), { 0: 1, 2: 2, foo: 'bar' }),
    ],
    hex: 'ff0f41024102490249042203666f6f2203626172240102610349004902490449042203666f6f2203626172400303240002',
  },
  {
    name: 'maps and sets',
    value: () => [
      new Map<unknown, unknown>([
        ['a', { b: 1 }],
        [{}, new Map()],
      ]),
      new Set([1, 'x', new Set([2])]),
    ],
    hex: 'ff0f41023b2201616f22016249027b016f7b003b3a003a042749022201782749042c012c03240002',
  },
  {
    name: 'a cycle',
    value: () => {
      const a: Record<string, unknown> = { n: 1 };
      a.self = a;
      a.list = [a];
      return a;
    },
    hex: 'ff0f6f22016e4902220473656c665e0022046c69737441015e002400017b03',
  },
  {
    name: 'cycles through a map and a set',
    value: () => {
      const map = new Map();
      map.set('me', map);
      const set = new Set();
      set.add(set);
      return [map, set];
    },
    hex: 'ff0f41023b22026d655e013a02275e022c01240002',
  },
  {
    name: 'one object twice',
    value: () => {
      const a = { x: 1 };
      return [a, new Map([[a, a]]), a];
    },
    hex: 'ff0f41036f22017849027b013b5e015e013a025e01240003',
  },
  {
    name: 'buffers',
    value: () => [
      new ArrayBuffer(0),
      new Uint8Array([9, 8]).buffer,
      new ArrayBuffer(4, { maxByteLength: 16 }),
    ],
    hex: 'ff0f41034200420209087e041000000000240003',
  },
  {
    name: 'typed arrays',
    value: () => [
      new Int8Array([-1]),
      new Uint8Array([255]),
      new Uint8ClampedArray([7]),
      new Int16Array([-2]),
      new Uint16Array([65535]),
      new Int32Array([-3]),
      new Uint32Array([4294967295]),
      new Float32Array([1.5]),
      new Float64Array([0.1]),
      new BigInt64Array([-1n]),
      new BigUint64Array([2n ** 64n - 1n]),
    ],
    hex: 'ff0f410b4201ff56620001004201ff564200010042010756430001004202feff56770002004202ffff56570002004204fdffffff56640004004204ffffffff564400040042040000c03f566600040042089a9999999999b93f56460008004208ffffffffffffffff56710008004208ffffffffffffffff565100080024000b',
  },
  {
    name: 'parts of a buffer',
    value: () => [
      new Uint8Array(new ArrayBuffer(8), 2, 3),
      new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2),
    ],
    hex: 'ff0f4102420800000000000000005642020300420401020304563f010200240002',
  },
  {
    name: 'views and their buffer',
    value: () => {
      const b = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
      return [new Uint8Array(b, 0, 4), b, new Uint16Array(b, 4)];
    },
    hex: 'ff0f41034208010203040506070856420004005e015e015657040400240003',
  },
  {
    name: 'a buffer before its views',
    value: () => {
      const b = new Uint8Array([1, 2, 3, 4]).buffer;
      return [b, new Uint8Array(b, 1), new DataView(b)];
    },
    hex: 'ff0f41034204010203045e0156420103005e01563f000400240003',
  },
  {
    name: 'views of resizable buffers',
    value: () => {
      const b = new ArrayBuffer(8, { maxByteLength: 16 });
      return [
        new Uint8Array(b),
        new Uint16Array(b, 2),
        new DataView(b, 2),
        new Uint8Array(b, 4, 4),
        new DataView(b, 2, 6),
        new Uint8Array(b, 0, 2),
      ];
    },
    hex: 'ff0f41067e0810000000000000000056420000035e0156570200035e01563f0200035e0156420404025e01563f0206025e015642000202240006',
  },
  {
    name: 'errors of every class',
    value: () =>
      [Error, TypeError, RangeError, ReferenceError, SyntaxError, EvalError, URIError].map((type) =>
        withStack(new type('m')),
      ),
    hex: 'ff0f41075c0a0122016d6f2205737461636b220253547b015c0a0222016d6f2205737461636b220253547b015c0a0322016d6f2205737461636b220253547b015c0a0422016d6f2205737461636b220253547b015c0a0522016d6f2205737461636b220253547b015c0a0a22016d6f2205737461636b220253547b015c0a0b22016d6f2205737461636b220253547b01240007',
  },
  {
    name: 'error with own properties',
    value: () =>
      withStack(Object.assign(new Error('é€'), { code: 'X', extra: { a: 1 }, 3: 'index' })),
    hex: 'ff0f5c0a01006304e900ac206f2205737461636b220253542204636f6465220158220565787472616f22016149027b017b03',
  },
  {
    name: 'error with a hidden property',
    value: () => Object.defineProperty(withStack(new Error('m')), 'code', { value: 'X' }),
    hex: 'ff0f5c0a0122016d6f2205737461636b220253542204636f64652201587b02',
  },
  {
    name: 'error with a cause',
    value: () => withStack(new Error('m', { cause: withStack(new TypeError('inner')) })),
    hex: 'ff0f5c0a0122016d6f2205737461636b22025354220563617573655c0a022205696e6e65726f2205737461636b220253547b017b02',
  },
  {
    name: 'errors with other names',
    value: () => [
      withStack(Object.assign(new Error('m'), { name: 'Custom' })),
      withStack(Object.assign(new TypeError('m'), { name: 5 })),
      withStack(Object.assign(new Error('m'), { name: 'TypeError' })),
    ],
    hex: 'ff0f41035c0a002206437573746f6d22016d6f2205737461636b220253547b015c0a00490a22016d6f2205737461636b220253547b015c0a0222016d6f2205737461636b220253547b01240003',
  },
  {
    name: 'error without a message',
    value: () => withStack(new Error()),
    hex: 'ff0f5c0a0122006f2205737461636b220253547b01',
  },
  {
    name: 'aggregate error',
    value: () => withStack(new AggregateError([1, withStack(new Error('a'))], 'm')),
    hex: 'ff0f5c0a0c22016d6f2205737461636b2202535422066572726f7273410249025c0a012201616f2205737461636b220253547b012400027b02',
  },
  {
    name: 'objects numbered after an error',
    value: () => {
      const a = {};
      const e = withStack(new Error('m'));
      return [e, a, a, e];
    },
    hex: 'ff0f41045c0a0122016d6f2205737461636b220253547b016f7b005e035e01240004',
  },
  {
    name: 'headers',
    value: () =>
      new Headers([
        ['x-b', 'é'],
        ['a', '1'],
        ['content-type', 'text/x'],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ]),
    hex: 'ff0f5c0403051106746578742f782903613d312903623d320003782d6202c3a90001610131',
  },
  {
    name: 'objects numbered after headers',
    value: () => {
      const a = {};
      const h = new Headers({ a: 'b' });
      return [h, a, a, h];
    },
    hex: 'ff0f41045c04030100016101626f7b005e025e01240004',
  },
  {
    name: 'request',
    value: () =>
      new Request('https://a.b/é?q#h', {
        method: 'POST',
        headers: { 'x-a': 'b' },
        redirect: 'manual',
      }),
    hex: 'ff0f5c051668747470733a2f2f612e622f2543332541393f7123686f22066d6574686f642204504f53542207686561646572735c0403010003782d6101622204626f6479302208726564697265637422066d616e75616c2207666574636865725f220263665f220563616368655f2209696e746567726974795f22067369676e616c5f2212656e636f6465526573706f6e7365426f64795f7b0a',
  },
  {
    name: 'objects numbered after a request',
    value: () => {
      const a = {};
      return [new Request('http://x/y'), a, a];
    },
    hex: 'ff0f41035c050a687474703a2f2f782f796f22066d6574686f645f2207686561646572735c0403002204626f647930220872656469726563745f2207666574636865725f220263665f220563616368655f2209696e746567726974795f22067369676e616c5f2212656e636f6465526573706f6e7365426f64795f7b0a6f7b005e04240003',
  },
  {
    name: 'response',
    value: () => new Response(null, { status: 404, statusText: 'Nope', headers: { a: 'b' } }),
    hex: 'ff0f5c06306f220673746174757349a806220a7374617475735465787422044e6f70652207686561646572735c0403010001610162220263665f2209776562536f636b65745f220a656e636f6465426f64795f7b06',
  },
  {
    name: 'objects numbered after a response',
    value: () => {
      const a = {};
      return [new Response(null), a, a];
    },
    hex: 'ff0f41035c06306f22067374617475735f220a737461747573546578745f2207686561646572735c040300220263665f2209776562536f636b65745f220a656e636f6465426f64795f7b066f7b005e04240003',
  },
  {
    name: 'blob',
    value: () => new Blob(['hé'], { type: 'text/plain' }),
    hex: 'ff0f5c0f0a746578742f706c61696e0368c3a9',
  },
  {
    name: 'DOMException',
    value: () => withStack(new DOMException('é', 'AbortError')),
    hex: 'ff0f5c080a41626f72744572726f7202c3a9025354',
  },
];

const HOST_ROWS = ['headers', 'request', 'response', 'blob', 'DOMException'];
/**
 * Headers come sorted from the engine here, numbered names first there; and V8 writes an array without
 * holes as sparse when it holds it as an array that might have them.
 */
const OTHERWISE_WRITTEN = ['headers', 'undefined inside'];

const hexOf = (value: unknown) => Buffer.from(serialize(value)).toString('hex');
const stored = (name: string) => Buffer.from(ROWS.find((row) => row.name === name)!.hex, 'hex');

describe('[VAL4] a value stored by workerd', () => {
  for (const { name, value, hex } of ROWS) {
    if (!OTHERWISE_WRITTEN.includes(name)) {
      test(`is written with the same bytes: ${name}`, () => {
        expect(hexOf(value())).toBe(hex);
      });

      test(`is read as what writes the same bytes again: ${name}`, () => {
        expect(hexOf(deserialize(Buffer.from(hex, 'hex')))).toBe(hex);
      });
    }

    if (!/error|headers|request|response|blob|DOMException/.test(name)) {
      test(`is read as an equal value: ${name}`, () => {
        expect(deserialize(Buffer.from(hex, 'hex'))).toStrictEqual(plain(value()));
      });
    }
  }
});

describe('[VAL4] a host object stored by workerd', () => {
  test('is an object of its class', () => {
    const names = HOST_ROWS.map((name) => {
      const value = deserialize(stored(name)) as object;
      return value.constructor.name;
    });
    expect(names).toEqual(['Headers', 'Request', 'Response', 'Blob', 'DOMException']);
  });

  test('headers keep names and values, several of one name too', () => {
    const headers = deserialize(stored('headers')) as Headers;
    expect([...headers]).toEqual([
      ['a', '1'],
      ['content-type', 'text/x'],
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['x-b', 'é'],
    ]);
  });

  test('a request keeps address, method, headers and redirect mode', () => {
    const { url, method, headers, redirect } = deserialize(stored('request')) as Request;
    expect([url, method, headers.get('x-a'), redirect]).toEqual([
      'https://a.b/%C3%A9?q#h',
      'POST',
      'b',
      'manual',
    ]);
  });

  test('a response keeps status and headers', () => {
    const { status, statusText, headers, body } = deserialize(stored('response')) as Response;
    expect([status, statusText, headers.get('a'), body]).toEqual([404, 'Nope', 'b', null]);
  });

  test('a blob keeps type and bytes', async () => {
    const blob = deserialize(stored('blob')) as Blob;
    expect([blob.type, await blob.text()]).toEqual(['text/plain', 'hé']);
  });

  test('a DOMException keeps name, message and stack', () => {
    const { name, message, code, stack } = deserialize(stored('DOMException')) as DOMException;
    expect([name, message, code, stack]).toEqual(['AbortError', 'é', 20, 'ST']);
  });
});

describe('[VAL4] an error stored by workerd', () => {
  test('has its class, and its other properties as enumerable ones', () => {
    const [plainError, typeError] = deserialize(stored('errors of every class')) as Error[];
    expect(Object.getPrototypeOf(typeError)).toBe(TypeError.prototype);
    expect(Object.keys(plainError!)).toEqual(['stack']);
    const cause = (deserialize(stored('error with a cause')) as Error).cause;
    expect(cause).toBeInstanceOf(TypeError);
  });

  test('of a foreign name is an Error of that name', () => {
    const [custom] = deserialize(stored('errors with other names')) as Error[];
    expect([custom!.name, Object.getPrototypeOf(custom)]).toEqual(['Custom', Error.prototype]);
  });
});

/** Converts a value as storing does: instances and objects without prototype become plain objects. */
function plain(value: unknown): unknown {
  const isInstance =
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(Symbol.iterator in value) &&
    Object.prototype.toString.call(value) === '[object Object]';
  return isInstance && Object.getPrototypeOf(value) !== Object.prototype ? { ...value } : value;
}

function withStack<Thrown extends Error>(error: Thrown): Thrown {
  error.stack = 'ST';
  return error;
}
