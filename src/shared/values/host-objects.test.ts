// Tests which members and classes of errors and platform objects are stored, and which objects are refused.

import { describe, expect, test } from 'vitest';
import { deserialize } from './decode.ts';
import { ObjectNumbers, serialize } from './encode.ts';
import { UNICODE_SOURCE_LENGTH_MAX, UnicodeSources } from './wire.ts';

const roundTrip = <Value>(value: Value) => deserialize(serialize(value)) as Value;
const read = (hex: string) =>
  deserialize(Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex')));
const hexOf = (value: unknown) => Buffer.from(serialize(value)).toString('hex');

function refusalOf(value: unknown): Error {
  try {
    serialize(value);
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}

describe('[VAL2] an error', () => {
  test('keeps every property except indexes of an array', () => {
    const error = Object.assign(new Error('m'), {
      0: 'index',
      12: 'index',
      4294967294: 'index',
      4294967295: 'kept',
      '01': 'kept',
      '1a': 'kept',
      a1: 'kept',
      '-1': 'kept',
      99999999999: 'kept',
    });
    const { stack: _, ...kept } = roundTrip<Error>(error);
    expect(kept).toEqual({
      4294967295: 'kept',
      '01': 'kept',
      '1a': 'kept',
      a1: 'kept',
      '-1': 'kept',
      99999999999: 'kept',
    });
  });

  test('without a stack is stored without one', () => {
    const error = new Error('m');
    delete error.stack;
    expect(hexOf(error)).toBe('ff0f5c0a0122016d6f7b00');
  });

  test('has its message as a hidden property, an empty one too, and its others as visible ones', () => {
    for (const message of ['', 'm']) {
      const error = roundTrip(Object.assign(new TypeError(message), { code: 1 }));
      expect(Object.getOwnPropertyDescriptor(error, 'message')).toEqual({
        value: message,
        writable: true,
        enumerable: false,
        configurable: true,
      });
      expect(Object.getOwnPropertyDescriptor(error, 'code')).toEqual({
        value: 1,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
  });

  test('whose message is not a string has its text as message', () => {
    const error = Object.assign(new Error('m'), { message: 5 });
    expect(roundTrip(error).message).toBe('5');
    const plain = read('ff0f 72 6d 22016d 2e') as Error;
    expect([Object.keys(plain), typeof plain.stack]).toEqual([[], 'string']);
  });

  test('of a name of its own has the name as a property', () => {
    const custom = roundTrip(Object.assign(new RangeError('m'), { name: 'Custom' }));
    expect(Object.getPrototypeOf(custom)).toBe(Error.prototype);
    expect(Object.getOwnPropertyDescriptor(custom, 'name')).toMatchObject({
      value: 'Custom',
      enumerable: true,
    });
    expect(Object.hasOwn(roundTrip(new RangeError('m')), 'name')).toBe(false);
  });

  test('[VAL4] of WebAssembly is read as one, and of a class that is younger as a plain one', () => {
    const classOf = (kind: string) =>
      Object.getPrototypeOf(read(`ff0f 5c 0a ${kind} 22016d 6f7b00`)).constructor;
    expect(['06', '07', '08'].map(classOf)).toEqual([
      WebAssembly.CompileError,
      WebAssembly.LinkError,
      WebAssembly.RuntimeError,
    ]);
    expect(['09', '0e', '63'].map(classOf)).toEqual([Error, Error, Error]);
  });

  test('[VAL6] of V8 takes message and stack in any order, also after its cause', () => {
    const late = read('ff0f 72 52 63 4902 6d 22016d 73 22025354 2e') as Error;
    expect([late.message, late.cause, late.stack]).toEqual(['m', 1, 'ST']);
    expect(Object.getPrototypeOf(late)).toBe(RangeError.prototype);
    expect(Object.keys(late)).toEqual([]);
  });
});

describe('[VAL1] a request', () => {
  test('keeps members that differ from the default, and omits the others', () => {
    const request = new Request('http://x/', {
      method: 'PUT',
      headers: { 'x-a': 'b' },
      redirect: 'error',
      cache: 'no-store',
      integrity: 'sha256-abc',
    });
    const copy = roundTrip(request);
    const keys = ['url', 'method', 'redirect', 'cache', 'integrity'] as const;
    for (const key of keys) expect(copy[key]).toBe(request[key]);
    expect(copy.headers.get('x-a')).toBe('b');
    const usual = Buffer.from(serialize(new Request('http://x/'))).toString('latin1');
    for (const word of ['GET', 'follow', 'default']) expect(usual).not.toContain(word);
  });

  test('with a body is refused; where the body is hidden, its method tells', () => {
    const body = refusalOf(new Request('http://x/', { method: 'POST', body: 'b' }));
    expect([body.name, body.message]).toEqual([
      'DataCloneError',
      expect.stringMatching(/has a body, a stream, which cannot be stored/),
    ]);
    const hiding = (method: string) =>
      Object.defineProperty(new Request('http://x/', { method }), 'body', { value: undefined });
    expect(refusalOf(hiding('POST'))).toMatchObject({ name: 'DataCloneError' });
    for (const method of ['GET', 'HEAD']) {
      expect((deserialize(serialize(hiding(method))) as Request).method).toBe(method);
    }
  });

  test('that is aborted is refused', () => {
    const error = refusalOf(new Request('http://x/', { signal: AbortSignal.abort() }));
    expect([error.name, error.message]).toEqual([
      'DataCloneError',
      expect.stringMatching(/is aborted, which cannot be stored/),
    ]);
  });
});

describe('[VAL1] a response', () => {
  test('keeps status, text and headers; the usual ones are not stored', () => {
    const init = { status: 418, statusText: 'Tea', headers: { 'x-a': 'b' } };
    const copy = roundTrip(new Response(null, init));
    expect([copy.status, copy.statusText, copy.headers.get('x-a')]).toEqual([418, 'Tea', 'b']);
    const usual = hexOf(new Response(null));
    for (const name of ['status', 'statusText']) {
      expect(usual, name).toContain(`${Buffer.from(name).toString('hex')}5f`); // it is undefined
    }
    expect(usual).toContain(`${Buffer.from('headers').toString('hex')}5c040300`); // there are none
  });

  test('of an error stays one', () => {
    const copy = roundTrip(Response.error());
    expect([copy.type, copy.status]).toEqual(['error', 0]);
  });

  test('with a body is refused', () => {
    const error = refusalOf(new Response('b'));
    expect([error.name, error.message]).toEqual([
      'DataCloneError',
      expect.stringMatching(/has a body, a stream, which cannot be stored/),
    ]);
  });
});

describe('[VAL1] headers and exceptions', () => {
  test('headers with any guard are read, and may be changed', () => {
    for (const guard of ['00', '01', '02', '03']) {
      const headers = read(`ff0f 5c 04 ${guard} 01 00 01 61 01 62`) as Headers;
      headers.append('c', 'd');
      expect([...headers]).toEqual([
        ['a', 'b'],
        ['c', 'd'],
      ]);
    }
  });

  test('the first and the last of the common names have their numbers', () => {
    const names = ['accept-charset', 'www-authenticate'];
    const headers = read('ff0f 5c 04 03 02 01 01 61 2f 01 62') as Headers;
    expect([...headers.keys()]).toEqual(names);
    expect(hexOf(headers)).toBe('ff0f5c0403020101612f0162');
  });

  test('an exception whose stack is not a string is stored with an empty one', () => {
    const exception = new DOMException('m', 'AbortError');
    Object.defineProperty(exception, 'stack', { value: 5 });
    const copy = roundTrip(exception);
    expect([copy.name, copy.message]).toEqual(['AbortError', 'm']);
    expect(Object.getOwnPropertyDescriptor(copy, 'stack')).toEqual({
      value: '',
      writable: true,
      enumerable: false,
      configurable: true,
    });
  });
});

test('[VAL1] an object has the number at which it was first claimed, however many there are', () => {
  const numbers = new ObjectNumbers();
  const objects = Array.from({ length: 20 }, () => ({}));
  for (const [number, object] of objects.entries()) {
    expect(numbers.has(object)).toBe(false);
    expect(numbers.claim(object)).toBeUndefined();
    expect(numbers.has(object)).toBe(true);
    const known = objects.slice(0, number + 1).map((each) => numbers.claim(each));
    expect(known).toEqual(known.map((_, i) => i));
  }
  numbers.clear();
  expect(numbers.has(objects[0]!)).toBe(false);
  expect(numbers.claim(objects[5]!)).toBeUndefined();
  expect(numbers.claim(objects[5]!)).toBe(0);
});

test('[VAL8] the sources of expressions in Unicode mode count together, others do not', () => {
  const sources = new UnicodeSources();
  const half = 'a'.repeat(UNICODE_SOURCE_LENGTH_MAX / 2);
  expect(sources.add('a'.repeat(10_000), 'gi')).toBeUndefined();
  expect([sources.add(half, 'u'), sources.add(half, 'gv')]).toEqual([undefined, undefined]);
  expect(sources.add('b', 'u')).toBe(
    'its regular expressions with the flag u or v have 2049 characters, at most 2048 together',
  );
  expect(sources.add('b', 'i')).toBeUndefined();
  expect(new UnicodeSources().add(half, 'u')).toBeUndefined();
});
