import { describe, expect, test } from 'vitest';
import { storageError } from '../contract/errors.ts';
import { fromWire, toWire } from './errors-on-wire.ts';

// Sends the value as through a port.
const across = (thrown: unknown) => fromWire(structuredClone(toWire(thrown)));

describe('an error across the thread', () => {
  test('[RPC1] keeps class, name, message, stack, code and retryable', () => {
    const error = storageError('STORAGE_LOCKED', 'held by another');
    const copy = across(error) as Error;
    expect(copy).toBeInstanceOf(Error);
    expect(copy).toMatchObject({ name: 'Error', message: 'held by another', stack: error.stack });
    expect(copy).toMatchObject({ code: 'STORAGE_LOCKED', retryable: true });
    expect(Object.keys(copy)).toEqual([]);
  });

  test.for([
    ['INVALID_ARGUMENT', TypeError],
    ['VALUE_TOO_LARGE', RangeError],
  ] as const)('[RPC1] %s is still a %o', ([code, Class]) => {
    expect(across(storageError(code, 'wrong'))).toBeInstanceOf(Class);
  });

  test('[RPC1] keeps the chain of causes', () => {
    const error = storageError('IO', 'flush failed', {
      cause: new RangeError('short write', { cause: 'a string' }),
    });
    const cause = (across(error) as Error).cause as Error;
    expect(cause).toBeInstanceOf(RangeError);
    expect(cause.message).toBe('short write');
    expect(cause.cause).toBe('a string');
  });

  test.for(['DataCloneError', 'NotReadableError', 'QuotaExceededError', 'SomeFutureError'])(
    '[RPC1] a DOMException called %s stays one',
    (name) => {
      const original = new DOMException('refused', name);
      const copy = across(original) as DOMException;
      expect(copy).toBeInstanceOf(DOMException);
      expect(copy.name).toBe(name);
      expect(copy.code).toBe(original.code);
    },
  );

  test('[RPC1] the name of an own class is kept, the class is not', () => {
    class NoteError extends Error {
      override name = 'NoteError';
    }
    const copy = across(new NoteError('lost')) as Error;
    expect(copy.name).toBe('NoteError');
    expect(Object.getPrototypeOf(copy)).toBe(Error.prototype);
  });

  test('[RPC1] an AggregateError keeps the errors it holds, and is one', () => {
    const copy = across(
      new AggregateError([new RangeError('one'), 'two'], 'both'),
    ) as AggregateError;
    expect(copy).toBeInstanceOf(AggregateError);
    expect(copy.message).toBe('both');
    expect(copy.errors[0]).toBeInstanceOf(RangeError);
    expect(copy.errors[1]).toBe('two');
    const spoiled = Object.assign(new AggregateError([], 'spoiled'), { errors: 'none' });
    expect((across(spoiled) as Error).message).toBe('spoiled');
  });

  test('[RPC1] own properties come along, except values that cannot be cloned', () => {
    const error = Object.assign(new TypeError('refused'), {
      status: 404,
      detail: { at: new Date(5) },
      retry: () => {},
    });
    const copy = across(error) as Error;
    expect(copy).toBeInstanceOf(TypeError);
    expect({ ...copy }).toEqual({ status: 404, detail: { at: new Date(5) } });
  });

  test('[RPC1] a property that callers decide by stays enumerable, and hidden, as it was thrown', () => {
    const shown = across(Object.assign(new Error('shown'), { code: 7, overloaded: true }));
    expect({ ...(shown as Error) }).toEqual({ code: 7, overloaded: true });
    const hidden = across(storageError('OBJECT_RESET', 'hidden')) as Error;
    expect({ ...hidden }).toEqual({});
    expect(hidden).toMatchObject({ code: 'OBJECT_RESET', durableObjectReset: true });
  });

  test('[RPC1] a thrown value that is not an error arrives as itself', () => {
    expect(across({ reason: 7 })).toEqual({ reason: 7 });
    expect(across(undefined)).toBe(undefined);
  });

  test('[STUB7] [RPC1] a thrown value that cannot be copied arrives as an error that names it', () => {
    class Own {
      method = () => {};
    }
    const shown = Object.assign(new Own(), { toString: () => 'mine' });
    const values = [
      new Response('x'),
      { code: 404, f() {} },
      new Own(),
      [() => {}],
      shown,
      Symbol('s'),
    ];
    const arrived = values.map(across);
    expect(arrived.map((error) => error instanceof Error && error.message)).toEqual([
      '#<Response>',
      '#<Object>',
      '#<Own>',
      '[object Array]',
      '[object Object]',
      'Symbol(s)',
    ]);
  });

  test('[RPC1] a value that cannot even be read becomes an error', () => {
    const hostile = Object.create(null, {
      toString: {
        get() {
          throw new Error('no');
        },
      },
    });
    hostile.method = () => {};
    expect(across(hostile)).toBeInstanceOf(Error);
    const error = new Error('outer', { cause: hostile });
    expect(across(error)).toMatchObject({ message: 'outer' });
  });

  test.for<[string, unknown]>([
    ['null', null],
    ['a number', 7],
    ['no properties', { name: 'Error', message: 'x' }],
    ['a cause that is not an error', { name: 'Error', message: 'x', properties: {}, cause: 7 }],
    [
      'a name that is not a string',
      { name: { toString: 1 }, message: { toString: 1 }, properties: {} },
    ],
  ])('[BORDER4] an error that cannot be read (%s) is INTERNAL', ([, wire]) => {
    expect(fromWire(wire as never)).toMatchObject({ code: 'INTERNAL' });
  });

  test('[BORDER4] a chain of causes that ends nowhere is INTERNAL', () => {
    const wire: Record<string, unknown> = { name: 'Error', message: 'x', properties: {} };
    wire.cause = wire;
    expect(fromWire(wire as never)).toMatchObject({ code: 'INTERNAL' });
  });

  test('[BORDER4] the own properties of an error change no prototype', () => {
    const own = JSON.parse('{"__proto__":{"polluted":1},"mine":2}');
    const error = fromWire({ name: 'Error', message: 'x', properties: {}, own }) as Error;
    expect(error).toMatchObject({ mine: 2 });
    expect(Object.getPrototypeOf(error)).toBe(Error.prototype);
  });
});
