import { expect, test } from 'vitest';
import { createObjects, DurableObject } from '../../start/entries/node-objects.ts';

interface Added {
  timingSafeEqual(...parameters: unknown[]): boolean;
  getAll(...parameters: unknown[]): string[];
}

const subtle = () => crypto.subtle as unknown as Added;
const headers = (...given: [string, string][]) => new Headers(given) as unknown as Added;

class Caller extends DurableObject {
  compare(...parameters: unknown[]): boolean {
    return subtle().timingSafeEqual(...parameters);
  }

  unbound(): boolean {
    const { timingSafeEqual } = subtle();
    return timingSafeEqual(new Uint8Array(1), new Uint8Array(1));
  }

  all(name?: string): string[] {
    const cookies = headers(['set-cookie', 'a=1, b'], ['a', '1'], ['Set-Cookie', 'c=2']);
    return name === undefined ? cookies.getAll() : cookies.getAll(name);
  }

  none(): string[] {
    return headers().getAll('set-cookie');
  }
}

test('[OBJ17] timingSafeEqual and Headers.getAll are there while a host runs, as workerd has them', async () => {
  const objects = await createObjects({ Caller });
  const object = objects.env.Caller.getByName('a');
  const bytes = (...values: number[]) => new Uint8Array(values);
  expect(await object.compare(bytes(1, 2), bytes(1, 2))).toBe(true);
  expect(await object.compare(bytes(1, 2), bytes(1, 3).buffer)).toBe(false);
  expect(await object.compare(new Uint16Array([1]), new DataView(bytes(1, 0).buffer))).toBe(true);
  expect(await object.compare(bytes(0, 1, 2).subarray(1), bytes(1, 2))).toBe(true);
  const refused: [unknown[], RegExp][] = [
    [[bytes(1, 2), bytes(1)], /Input buffers must have the same byte length/],
    [['a', bytes(1)], /parameter 1 is not/],
    [[bytes(1)], /parameter 2 is not/],
  ];
  for (const [parameters, message] of refused) {
    await expect(object.compare(...parameters)).rejects.toThrow(message);
  }
  await expect(object.unbound()).rejects.toThrow(TypeError);
  expect(await object.all('Set-Cookie')).toEqual(['a=1, b', 'c=2']);
  expect(await object.none()).toEqual([]);
  await expect(object.all('a')).rejects.toThrow(
    'getAll() can only be used with the header name "Set-Cookie".',
  );
  await expect(object.all()).rejects.toThrow(TypeError);
  await objects.close();
  expect('getAll' in Headers.prototype || 'timingSafeEqual' in crypto.subtle).toBe(false);
});
