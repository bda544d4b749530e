import { describe, expect, test } from 'vitest';
import { deserializeFromPeer } from './decode.ts';
import { serialize } from './encode.ts';
import { passedValue, refusalOf } from './passed-value.ts';

const MEBIBYTE = 2 ** 20;
/** More than a value has that may have any keys. */
const PADDING = 'x'.repeat(131_072);

const codeOf = (value: unknown, bytes = serialize(value)) => {
  try {
    passedValue(bytes);
    return 'passed';
  } catch (error) {
    return (error as { code?: string }).code;
  }
};
/** Returns an array that contains itself at every place, `levels` deep. */
const doubled = (leaf: unknown, levels: number) => {
  let value = leaf;
  for (let i = 0; i < levels; i++) value = [value, value];
  return value;
};
const repeated = (item: object, count: number) => Array.from({ length: count }, () => item);

describe('[VAL11] a passed value', () => {
  test('that repeats an object 2⁴⁰ times in 350 bytes is refused, and names the way out', () => {
    const bytes = serialize(doubled(['a'], 40));
    expect(bytes.length).toBeLessThan(350);
    expect(() => passedValue(bytes)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/repeat more than 16 MiB.*Pass it once, and ids of it/),
      }),
    );
  });

  test.for<[string, (bytes: number) => object]>([
    ['an array', (bytes) => ['x'.repeat(bytes)]],
    ['an object', (bytes) => ({ member: 'x'.repeat(bytes) })],
    ['a Map', (bytes) => new Map([['key', 'x'.repeat(bytes)]])],
    ['a Set', (bytes) => new Set(['x'.repeat(bytes)])],
    ['an error', (bytes) => Object.assign(new Error('x'.repeat(bytes)), { stack: '' })],
    ['a string object', (bytes) => Object('x'.repeat(bytes))],
    ['a buffer', (bytes) => new ArrayBuffer(bytes)],
    ['a view', (bytes) => new Uint8Array(bytes)],
    ['headers', (bytes) => new Headers({ long: 'x'.repeat(bytes) })],
  ])('may repeat %s at most 16 MiB', ([, make]) => {
    // Sixteen references repeat it, beside its first occurrence.
    expect(codeOf(repeated(make(MEBIBYTE - 8000), 17))).toBe('passed');
    expect(codeOf(repeated(make(MEBIBYTE + 1), 17))).toBe('INVALID_ARGUMENT');
  });

  test('counts a shared object with what is shared within it', () => {
    const inner = ['x'.repeat(100_000)];
    const outer = repeated(inner, 80); // 8 MB, of which 7.9 are repeated
    expect(codeOf([outer, outer])).toBe('passed');
    expect(codeOf([outer, outer, outer])).toBe('INVALID_ARGUMENT');
  });

  test('may be larger if it repeats nothing', () => {
    expect(codeOf([new Uint8Array(20 * MEBIBYTE), {}, {}])).toBe('passed');
    const buffer = new ArrayBuffer(20 * MEBIBYTE);
    const views = Array.from({ length: 20 }, (_, i) => new Uint8Array(buffer, i * 1000, 1000));
    expect(codeOf(views)).toBe('passed');
  });

  test('may contain itself, which only followers are refused', () => {
    const self: Record<string, unknown> = { name: 'self' };
    self.self = self;
    const error = new Error('caused by itself');
    error.cause = error;
    const map = new Map<string, unknown>();
    map.set('map', map);
    for (const value of [self, error, map, [[self]]]) {
      const passed = deserializeFromPeer(serialize(value));
      expect([passed.isCyclic, passed.refusal]).toEqual([true, undefined]);
      expect(refusalOf(passed)).toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('contain themselves'),
      });
      expect(passedValue(serialize(value))).toBeInstanceOf(Object);
    }
    const shared = deserializeFromPeer(serialize(doubled(['a'], 3)));
    expect([shared.isCyclic, refusalOf(shared)]).toEqual([false, undefined]);
  });
});

describe('[VAL12] a large passed value', () => {
  const numbered = (count: number) => Array.from({ length: count }, (_, i) => i);

  test.for<[string, (keys: unknown[]) => unknown]>([
    ['numbers in a Set', (keys) => new Set(keys)],
    ['numbers in a Map', (keys) => new Map(keys.map((key) => [key, 0]))],
    ['bigints', (keys) => new Set(keys.map((key) => BigInt(key as number) << 128n))],
  ])('has at most 8,192 %s', ([, collect]) => {
    expect(codeOf([PADDING, collect(numbered(8192))])).toBe('passed');
    expect(codeOf([PADDING, collect(numbered(8193))])).toBe('INVALID_ARGUMENT');
    expect(codeOf([PADDING, collect(numbered(5000)), collect(numbered(5000))])).toBe(
      'INVALID_ARGUMENT',
    );
  });

  test('has any number of texts and objects as keys', () => {
    const keys = [new Set(numbered(20_000).map(String)), new Set(numbered(20_000).map(() => ({})))];
    expect(codeOf([PADDING, ...keys])).toBe('passed');
  });

  test('that is refused is read to its end, without the elements that take long', () => {
    const message = { keys: new Set(numbered(9000)), padding: PADDING, after: 'read' };
    const { value } = deserializeFromPeer(serialize(message)) as { value: typeof message };
    expect([value.keys.size, value.after]).toEqual([8192, 'read']);
  });

  test.for<[string, () => unknown]>([
    ['errors', () => new Error('e')],
    ['DOMExceptions', () => new DOMException('e')],
    ['Headers', () => new Headers()],
    ['resizable buffers', () => new ArrayBuffer(1, { maxByteLength: 2 })],
    ['arrays with holes', () => new Array(60)],
    ['objects with late indices', () => ({ 323: 1 })],
  ])('has at most 8,192 %s', ([, make]) => {
    expect(codeOf([PADDING, numbered(8192).map(make)])).toBe('passed');
    expect(codeOf([PADDING, numbered(8193).map(make)])).toBe('CORRUPT');
  });
});
