// R2 buckets: restarts and crashes of the host, streams, the clock and the history of their data.

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createObjects, DurableObject } from '../../../../worker/start/entries/node-objects.ts';
import { r2 } from '../index.ts';

/** Values of the app's code, which these tests use without types. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

const PART_BYTES = 5 * 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;

class Album extends DurableObject {
  async copy(from: string, to: string): Promise<unknown> {
    const { FILES } = this.env as Untyped;
    await FILES.put(to, (await FILES.get(from)).body);
    return (await FILES.get(to)).text();
  }
}

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

/**
 * Starts a host with a bucket. `ask` runs a function in an entry point; `rows` counts the rows of the bucket's tables.
 */
async function hostOf(directory?: string) {
  const asked: ((files: Untyped) => unknown)[] = [];
  const fetch = async (_request: Request, { FILES }: Untyped) =>
    Response.json((await asked.shift()!(FILES)) ?? null);
  const host = await createObjects(
    { Album },
    {
      exports: { default: { fetch } },
      bindings: { FILES: r2(), DATA: 'R2BucketObject' },
      ...(directory !== undefined && { directory }),
    },
  );
  let isOpen = true;
  const close = async () => {
    if (isOpen) await host.close();
    isOpen = false;
  };
  opened.push(close);
  const stub = (host.env as Untyped).DATA.getByName('FILES');
  return {
    ...host,
    close,
    stub,
    ask: async (code: (files: Untyped) => unknown): Promise<Untyped> => {
      asked.push(code);
      return (await host.worker.fetch('http://here/')).json();
    },
    rows: async (): Promise<Record<string, number>> => {
      const { sql } = await host.storage(stub);
      const count = async (table: string) =>
        (await sql.exec(`SELECT count(*) AS n FROM ${table}`).one()).n as number;
      return {
        objects: await count('object'),
        blobs: await count('blob'),
        parts: await count('part'),
        uploads: await count('upload'),
      };
    },
  };
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'r2-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const numbered = (length: number) => new Uint8Array(length).map((_, i) => i % 251);
const isNumbered = (bytes: Uint8Array, length: number) =>
  bytes.length === length && bytes.every((byte, i) => byte === i % 251);

/** Makes a stream that promises `length` bytes, gives the `first` of them, and never ends. */
function unfinished(length: number, first: number): ReadableStream {
  const { readable, writable } = new (globalThis as Untyped).FixedLengthStream(length);
  writable
    .getWriter()
    .write(new Uint8Array(first))
    .catch(() => {});
  return readable;
}

test('[BRT2] objects and open uploads outlive the host', { tags: 'long' }, async () => {
  const directory = temporaryFolder();
  const first = await hostOf(directory);
  const begun = await first.ask(async (files) => {
    await files.put('a', numbered(3_000_000), { customMetadata: { of: 'a' } });
    const { uploadId } = await files.createMultipartUpload('b');
    const upload = files.resumeMultipartUpload('b', uploadId);
    return { uploadId, part: await upload.uploadPart(1, numbered(PART_BYTES)) };
  });
  await first.close();
  const second = await hostOf(directory);
  const found = await second.ask(async (files) => {
    const a = await files.get('a');
    const upload = files.resumeMultipartUpload('b', begun.uploadId);
    const done = await upload.complete([begun.part, await upload.uploadPart(2, 'end')]);
    const b = await (await files.get('b')).bytes();
    return [
      a.customMetadata,
      isNumbered(await a.bytes(), 3_000_000),
      done.size,
      isNumbered(b.subarray(0, PART_BYTES), PART_BYTES),
      new TextDecoder().decode(b.subarray(PART_BYTES)),
    ];
  });
  expect(found).toEqual([{ of: 'a' }, true, PART_BYTES + 3, true, 'end']);
});

test('[BRT3] a crash in the middle of a put keeps the old object and leaves no row', async () => {
  const [directory, copy] = [temporaryFolder(), temporaryFolder()];
  const first = await hostOf(directory);
  await first.ask((files) => files.put('key', 'old'));
  const put = first.ask((files) => files.put('key', unfinished(9_000_000, 4_000_000)));
  put.catch(() => {}); // the put fails when the host closes
  await vi.waitUntil(async () => (await first.rows()).parts! >= 4);
  // The copy has no lock file, because the host that holds the lock still runs.
  cpSync(directory, copy, { recursive: true, filter: (path) => !/host\.[^/]*$/.test(path) });
  const second = await hostOf(copy);
  expect(await second.ask(async (files) => (await files.get('key')).text())).toBe('old');
  expect(await second.rows()).toMatchObject({ objects: 1, blobs: 1, parts: 1 });
});

test('[BRT3] a reset in the middle of a put fails it, and leaves no row', async () => {
  const { ask, rows, storage, stub } = await hostOf();
  const put = ask((files) =>
    files.put('key', unfinished(9_000_000, 4_000_000)).catch((error: Error) => error.message),
  );
  await vi.waitUntil(async () => (await rows()).parts! >= 3);
  await (await storage(stub)).abort('reset by the test');
  expect(await put).toContain('reset by the test');
  expect(await ask((files) => files.head('key'))).toBeNull();
  expect(await rows()).toMatchObject({ objects: 0, blobs: 0, parts: 0 });
});

test('[BRT3] a put whose stream fails, or is shorter than its content-length, leaves no row', async () => {
  const { ask, rows } = await hostOf();
  const told = await ask(async (files) => {
    const { readable, writable } = new (globalThis as Untyped).FixedLengthStream(9_000_000);
    const put = files.put('key', readable).catch((error: Error) => error.message);
    const writer = writable.getWriter();
    await writer.write(new Uint8Array(2_000_000));
    await writer.abort(new Error('broke'));
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(3));
        controller.close();
      },
    });
    const { body } = new Response(stream, { headers: { 'content-length': '5' } });
    return [await put, await files.put('key', body).catch((error: Error) => error.message)];
  });
  expect(told).toEqual(['broke', 'The stream has given 3 bytes, but its length is 5.']);
  expect(await rows()).toEqual({ objects: 0, blobs: 0, parts: 0, uploads: 0 });
});

test('[BRT4] a body is read to its end although its object was replaced; then its rows are deleted', async () => {
  const { ask, rows } = await hostOf();
  const read = await ask(async (files) => {
    await files.put('key', numbered(3_000_000));
    const reader = (await files.get('key')).body.getReader();
    const chunks = [(await reader.read()).value];
    await files.put('key', 'new');
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      chunks.push(next.value);
    }
    return [chunks.length > 1, isNumbered(Buffer.concat(chunks), 3_000_000)];
  });
  expect(read).toEqual([true, true]);
  await vi.waitUntil(async () => (await rows()).parts === 1);
});

test('[BRT4] cancelling the body of a deleted object deletes its rows', async () => {
  const { ask, rows } = await hostOf();
  await ask(async (files) => {
    await files.put('key', new Uint8Array(3_000_000));
    const reader = (await files.get('key')).body.getReader();
    await reader.read();
    await files.delete('key');
    await reader.cancel();
  });
  await vi.waitUntil(async () => (await rows()).parts === 0);
  expect(await rows()).toMatchObject({ objects: 0, blobs: 0 });
});

test('[BRT5] uploaded is the time of the objects’ clock when the last byte arrived', async () => {
  const { ask, clock, rows } = await hostOf();
  await clock.set(Date.UTC(2026, 0, 1));
  let end = () => {};
  const uploaded = ask(async (files) => {
    const { readable, writable } = new (globalThis as Untyped).FixedLengthStream(2_000_000);
    const writer = writable.getWriter();
    void writer.write(new Uint8Array(1_999_999));
    end = () => void writer.write(new Uint8Array(1)).then(() => writer.close());
    return (await files.put('key', readable)).uploaded;
  });
  await vi.waitUntil(async () => (await rows()).parts === 1);
  await clock.advance(5000);
  end();
  expect(await uploaded).toBe('2026-01-01T00:00:05.000Z');
});

test('[BRT6] abort deletes the parts of an upload, and so does the first call after 7 days', async () => {
  const { ask, clock, rows } = await hostOf();
  await clock.set(Date.UTC(2026, 0, 1));
  const begin = async (files: Untyped) => {
    const upload = await files.createMultipartUpload('key');
    await upload.uploadPart(1, new Uint8Array(2_000_000));
    return upload.uploadId;
  };
  await ask(async (files) => files.resumeMultipartUpload('key', await begin(files)).abort());
  expect(await rows()).toMatchObject({ blobs: 0, parts: 0 });
  const id = await ask(begin);
  const uploadPart = (number: number) =>
    ask((files) =>
      files
        .resumeMultipartUpload('key', id)
        .uploadPart(number, 'v')
        .catch((error: Error) => error.message),
    );
  await clock.advance(7 * DAY_MS - 1);
  expect(await uploadPart(2)).toMatchObject({ partNumber: 2 });
  expect(await rows()).toMatchObject({ blobs: 2, parts: 3 });
  await clock.advance(1);
  const told = await uploadPart(3);
  expect(told).toBe('uploadPart: The specified multipart upload does not exist. (10024)');
  expect(await rows()).toMatchObject({ blobs: 0, parts: 0, uploads: 0 });
});

test('[BRT7] restoring the bucket’s object to a bookmark brings an earlier object back', async () => {
  const { ask, storage, stub } = await hostOf();
  await ask((files) => files.put('key', 'old'));
  const handle = await storage(stub);
  const bookmark = await handle.getCurrentBookmark();
  await ask((files) => files.put('key', 'new'));
  await handle.restore(bookmark);
  expect(await ask(async (files) => (await files.get('key')).text())).toBe('old');
});

test('[BRT8] an object’s code reads and writes a bucket', async () => {
  const { env, ask } = await hostOf();
  await ask((files) => files.put('from', 'text'));
  expect(await (env as Untyped).Album.getByName('a').copy('from', 'to')).toBe('text');
});

test('[BRT1] the body of a request is stored if its length is known, else refused', async () => {
  const { worker, close } = await createObjects(
    {},
    {
      bindings: { FILES: r2() },
      exports: {
        default: {
          async fetch(request: Request, { FILES }: Untyped) {
            const { size } = await FILES.put('key', request.body);
            return Response.json([size, await (await FILES.get('key')).text()]);
          },
        },
      },
    },
  );
  opened.push(close);
  const put = async (body: Untyped) =>
    (
      await worker.fetch('http://here/', { method: 'PUT', body, duplex: 'half' } as RequestInit)
    ).json();
  expect(await put('text')).toEqual([4, 'text']);
  expect(await put(new Uint8Array([65, 66]))).toEqual([2, 'AB']);
  expect(await put(new Blob(['blob']))).toEqual([4, 'blob']);
  const { readable, writable } = new (globalThis as Untyped).FixedLengthStream(5);
  const writer = writable.getWriter();
  void writer.write(new TextEncoder().encode('fixed')).then(() => writer.close());
  expect(await put(readable)).toEqual([5, 'fixed']);
  await expect(
    put(new Blob(['no length']).stream().pipeThrough(new TransformStream())),
  ).rejects.toThrow('must have a known length');
});

test('[BRT1] values of 0 bytes to 2 MiB come back unchanged, from one row for each mebibyte', async () => {
  const { ask, rows } = await hostOf();
  const mebibyte = 1024 * 1024;
  for (const size of [0, 1, mebibyte - 1, mebibyte, mebibyte + 1, 2 * mebibyte]) {
    const isSame = await ask(async (files) => {
      const bytes = new Uint8Array(size).map((_, i) => i % 251);
      await files.put('key', bytes);
      const read = new Uint8Array(await (await files.get('key')).arrayBuffer());
      return read.length === size && read.every((byte, i) => byte === i % 251);
    });
    expect([size, isSame]).toEqual([size, true]);
    expect((await rows()).parts).toBe(Math.max(1, Math.ceil(size / mebibyte)));
  }
});
