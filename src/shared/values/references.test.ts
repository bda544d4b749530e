// Tests messages: values passed by reference, cloned values, and values that are refused only in messages.

import { describe, expect, test } from 'vitest';
import { deserialize, deserializeWith } from './decode.ts';
import { serialize, serializeWith } from './encode.ts';

class Target {
  readonly number: number;
  constructor(number: number) {
    this.number = number;
  }
}
class Point {
  x = 1;
}

const fn = () => 1;

/** Describes the things that these messages pass by reference: targets, one function, and requests. */
function describeThing(thing: object): Readonly<Record<string, unknown>> | undefined {
  if (thing instanceof Target) return { kind: 'target', number: thing.number };
  if (thing === fn) return { kind: 'function' };
  if (thing instanceof Request) return { kind: 'request', parts: { url: thing.url } };
  return undefined;
}

/** Sends the value. On the other side, each reference becomes its description. */
function send(value: unknown): unknown {
  return deserializeWith(serializeWith(value, describeThing), (description) => ({
    made: description,
  }));
}

const made = (description: unknown) => ({ made: description });
const refusalOf = (value: unknown) => {
  try {
    send(value);
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
};

describe('[STUB9] a message', () => {
  test('passes a described value by reference, wherever it is', () => {
    expect(send(fn)).toEqual(made({ kind: 'function' }));
    expect(send({ list: [new Target(1), fn], map: new Map([[1, new Target(2)]]) })).toEqual({
      list: [made({ kind: 'target', number: 1 }), made({ kind: 'function' })],
      map: new Map([[1, made({ kind: 'target', number: 2 })]]),
    });
  });

  test('describes a thing once, wherever it occurs again', () => {
    let count = 0;
    const bytes = serializeWith([fn, { fn }, fn], (thing) => {
      count += thing === fn ? 1 : 0;
      return describeThing(thing);
    });
    const read = deserializeWith(bytes, () => ({})) as [object, { fn: object }, object];
    expect(count).toBe(1);
    expect(read[1].fn).toBe(read[0]);
    expect(read[2]).toBe(read[0]);
  });

  test('counts objects around a reference as ever', () => {
    const shared = { a: 1 };
    const read = send([shared, new Target(1), shared]) as object[];
    expect(read[2]).toBe(read[0]);
    expect(read[1]).toEqual(made({ kind: 'target', number: 1 }));
  });

  test('may hold things in a description', () => {
    const bytes = serializeWith({ deep: fn }, (thing) =>
      thing === fn ? { list: [1] } : undefined,
    );
    expect(deserializeWith(bytes, (description) => description)).toEqual({ deep: { list: [1] } });
  });

  test('passes a platform object that has a description, and clones one without', () => {
    const [request, response] = send([
      new Request('http://x/', { method: 'POST', body: 'b' }),
      new Response(null, { status: 204 }),
    ]) as [unknown, Response];
    expect(request).toEqual(made({ kind: 'request', parts: { url: 'http://x/' } }));
    expect(response.status).toBe(204);
  });

  test('clones plain data and built-ins without asking for a description', () => {
    const asked: object[] = [];
    const value = { a: [new Date(1), new Map(), new Set(), new Uint8Array(2), new Error('m')] };
    serializeWith(value, (thing) => {
      asked.push(thing);
      return undefined;
    });
    expect(asked).toEqual([]);
  });
});

describe('[STUB5] a message refuses', () => {
  test('an instance of a class that it cannot pass, with its name and the way out', () => {
    for (const value of [new Point(), [new Point()], { deep: new Map([[1, new Point()]]) }]) {
      const error = refusalOf(value);
      expect([error.name, error.message]).toEqual([
        'DataCloneError',
        'Could not serialize object of type "Point". This type does not support serialization. ' +
          'Pass a plain object, or extend RpcTarget to pass it by reference.',
      ]);
    }
  });

  test('a function that has no description', () => {
    expect(refusalOf([() => 2])).toMatchObject({ name: 'DataCloneError' });
  });

  test('a value that cannot be cloned and has no description', () => {
    expect(refusalOf(Promise.resolve())).toMatchObject({ name: 'DataCloneError' });
    expect(refusalOf(Symbol('x'))).toMatchObject({ name: 'DataCloneError' });
  });

  test('nothing more: the next value that is stored is written as ever', () => {
    refusalOf({ deep: [new Point()] });
    expect(deserialize(serialize(new Point()))).toEqual({ x: 1 });
    expect(() => serialize(fn)).toThrow(expect.objectContaining({ name: 'DataCloneError' }));
  });
});

test('[VAL7] a reference where none can be is CORRUPT', () => {
  const bytes = serializeWith(fn, describeThing);
  const corrupt = expect.objectContaining({
    code: 'CORRUPT',
    message: expect.stringMatching(/an object of workerd \(number 16384\) that only workerd/),
  });
  expect(() => deserialize(bytes)).toThrow(corrupt);
  expect(() => deserializeWith(bytes, undefined)).toThrow(corrupt);
});
