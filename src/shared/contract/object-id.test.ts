import { createHash, createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { addressKey, DurableObjectId, idOfStorage, ObjectIdFactory } from './object-id.ts';

// Computes the expected id with node:crypto, independently of the library that the product uses.
function expected(uniqueKey: string, base: Buffer): string {
  const key = createHash('sha256').update(uniqueKey).digest();
  const code = createHmac('sha256', key).update(base).digest().subarray(0, 16);
  return Buffer.concat([base, code]).toString('hex');
}

function nameBase(uniqueKey: string, name: string): Buffer {
  const key = createHash('sha256').update(uniqueKey).digest();
  return createHmac('sha256', key).update(name).digest().subarray(0, 16);
}

describe('ids', () => {
  const ids = new ObjectIdFactory('worker-Counter');

  test('[ID1] a name always gives the same id, that of workerd for the same unique key', () => {
    for (const name of ['', 'a', 'Zoë 🦊', 'x'.repeat(5000)]) {
      const id = ids.fromName(name);
      expect(id.toString()).toBe(expected('worker-Counter', nameBase('worker-Counter', name)));
      expect(id.equals(ids.fromName(name))).toBe(true);
    }
    expect(new ObjectIdFactory('worker-Room').fromName('a').equals(ids.fromName('a'))).toBe(false);
  });

  test('[ID1] an id is compared with ids only', () => {
    const id = ids.fromName('a');
    for (const other of ['x', id.toString(), undefined, null, {}, new Proxy(id, {})]) {
      expect(() => id.equals(other as never)).toThrow(
        expect.objectContaining({ name: 'TypeError', code: 'INVALID_ARGUMENT' }),
      );
    }
  });

  test('[ID2] an id knows its name only when it was made from one of at most 1,024 bytes', () => {
    expect(ids.fromName('n'.repeat(1024)).name).toHaveLength(1024);
    expect(ids.fromName('n'.repeat(1025)).name).toBeUndefined();
    expect(ids.fromName('é'.repeat(513)).name).toBeUndefined();
    expect(ids.newUnique().name).toBeUndefined();
    expect(ids.fromString(ids.fromName('a').toString()).name).toBeUndefined();
    expect(Object.keys(ids.newUnique())).toEqual([]);
  });

  test.each(['\ud800', '\udfff', 'a\udc00b', '\ude00\ud83d'])(
    '[ID6] %j is not the name of an object',
    (name) => {
      const refused = expect.objectContaining({
        name: 'TypeError',
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/surrogate.*UTF-8.*encode/),
      });
      expect(() => ids.fromName(name)).toThrow(refused);
      expect(() => idOfStorage(name)).toThrow(refused);
    },
  );

  test('[ID6] the replacement character and pairs of surrogates are names', () => {
    expect(ids.fromName('\ufffd').name).toBe('\ufffd');
    expect(idOfStorage('\ud83d\ude00').name).toBe('😀');
  });

  test('[ID3] a text becomes an id again only in the namespace that made it', () => {
    const id = ids.newUnique();
    expect(ids.fromString(id.toString()).equals(id)).toBe(true);
    expect(ids.fromString(id.toString().toUpperCase()).toString()).toBe(id.toString());
    const other = new ObjectIdFactory('worker-Room');
    expect(() => other.fromString(id.toString())).toThrow(/not valid for this namespace/);
    for (const text of ['', 'a', 'g'.repeat(64), id.toString().slice(1), `${id}0`]) {
      expect(() => ids.fromString(text)).toThrow(
        expect.objectContaining({ name: 'TypeError', code: 'INVALID_ARGUMENT' }),
      );
    }
  });

  test('[ID4] unique ids differ', () => {
    const many = new Set(Array.from({ length: 1000 }, () => ids.newUnique().toString()));
    expect(many.size).toBe(1000);
  });

  test('[ID5] an object of openStorage keeps the id its name had from the beginning', () => {
    const id = idOfStorage('notes');
    expect(id.toString()).toBe(createHash('sha256').update('notes').digest('hex'));
    expect(addressKey({ className: null, id })).toBe(id.toString());
    expect(addressKey({ className: 'Counter', id })).toBe(`Counter.${id}`);
    expect(id).toBeInstanceOf(DurableObjectId);
  });
});
