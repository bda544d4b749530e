import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Objects } from '../../../src/shared/contract/object-management.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { createObjects, DurableObject } from './node-objects.ts';
import { SocketPages } from './socket-pages.ts';

let objects: Objects<{ Room: typeof DurableObject }>;
let pages: SocketPages;
let heard: unknown[];
let isClosed: boolean;

beforeEach(async () => {
  objects = await createObjects({ Room: class extends DurableObject {} });
  pages = new SocketPages(objects);
  heard = [];
  isClosed = false;
});
afterEach(() => objects.close());

const socket = {
  send: (bytes: Uint8Array) => void heard.push(deserialize(bytes)),
  close: () => {
    isClosed = true;
  },
};

describe('[DEV8] a page behind a socket', () => {
  test('is led by the server, and told why the connection ends', () => {
    const page = pages.serve(socket);
    page.message(serialize({ type: 'start', worker: 'w', directory: 'd' }));
    expect(heard[0]).toMatchObject({ type: 'leads', connection: expect.any(String) });
    pages.close('the app starts again');
    expect(JSON.stringify(heard)).toContain('the app starts again');
    expect(isClosed).toBe(true);
  });

  test('that sends no message of ours loses the socket, and nobody else does', () => {
    const other = pages.serve({ ...socket, close: () => expect.unreachable() });
    pages.serve(socket).message(new Uint8Array([1, 2, 3]));
    expect(isClosed).toBe(true);
    other.message(serialize(null));
    expect(heard).toEqual([]);
  });
});
