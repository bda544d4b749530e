// Values of each type that is stored and sent, and their bytes.

import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';

const error = () => Object.assign(new RangeError('too far'), { stack: 'frames', code: 'FAR' });

const VALUES: Readonly<Record<string, () => unknown>> = {
  primitives: () => [1, -1.5, 2n ** 70n, true, null, undefined, 'é', '€', '€'.repeat(3000)],
  containers: () => ({
    map: new Map([[1, new Set(['x'])]]),
    hole: Object.assign([1], { 2: 3 }),
    date: new Date(7),
  }),
  buffers: () => [new Uint8Array([1, 2]), new Float64Array([0.5]), new ArrayBuffer(3)],
  'regular expressions': () => [/a/giu, /[a--b]/v],
  errors: () =>
    [error(), new TypeError('x', { cause: 1 })].map((e) => Object.assign(e, { stack: '' })),
  'a DOMException': () => {
    const exception = new DOMException('no clone', 'DataCloneError');
    return Object.defineProperty(exception, 'stack', { value: '' });
  },
  headers: () => new Headers({ accept: 'text/html', 'x-own': '1' }),
  'a request': () => new Request('https://a.example/', { method: 'DELETE' }),
  'a response': () => new Response(null, { status: 204, statusText: 'None' }),
  'a cycle': () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    return cycle;
  },
};

const REFUSED: Readonly<Record<string, () => unknown>> = {
  'a function': () => () => 1,
  'a promise': () => Promise.resolve(1),
  'a stream': () => new ReadableStream(),
  'a weak map': () => new WeakMap(),
  'an object of the platform': () => new AbortController(),
};

/** The bytes of each value, and those of what they give; the error of each value that is refused. */
export function valueBytes(): Record<string, unknown> {
  const hex = (value: unknown) =>
    Array.from(serialize(value), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const stored = Object.entries(VALUES).map(([name, make]) => {
    const bytes = serialize(make());
    return [name, [hex(make()), hex(deserialize(bytes))]] as const;
  });
  const refused = Object.entries(REFUSED).map(([name, make]) => {
    try {
      return [name, hex(make())] as const;
    } catch (error) {
      return [name, (error as Error).name] as const;
    }
  });
  return Object.fromEntries([...stored, ...refused]);
}
