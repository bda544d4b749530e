// The memory that it takes to store and read an object of 300 MiB.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createObjects } from '../../../../worker/start/entries/node-objects.ts';
import { r2 } from '../index.ts';

const MEBIBYTE = 1024 * 1024;
const OBJECT_BYTES = 300 * MEBIBYTE;

/**
 * Makes a stream of numbered chunks of 64 KiB, the size in which a network delivers them; it calls `noteMemory` before
 * each.
 */
function streamOf(length: number, noteMemory: () => void): ReadableStream {
  let given = 0;
  return new ReadableStream({
    pull(controller) {
      noteMemory();
      controller.enqueue(new Uint8Array(65_536).fill(given / 65_536));
      given += 65_536;
      if (given === length) controller.close();
    },
  });
}

test('[BRT9] a stream of 300 MiB is stored and read with less than 150 MiB more memory', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'r2-'));
  let largest = 0;
  const noteMemory = () => {
    largest = Math.max(largest, process.memoryUsage.rss());
  };
  // biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
  const fetch = async (_request: Request, { FILES }: any) => {
    await FILES.put('small', 'x');
    const before = process.memoryUsage.rss();
    const { body } = new Response(streamOf(OBJECT_BYTES, noteMemory), {
      headers: { 'content-length': String(OBJECT_BYTES) },
    });
    await FILES.put('large', body);
    const reader = (await FILES.get('large')).body.getReader();
    let length = 0;
    let isRight = true;
    const byteAt = (position: number) => Math.floor(position / 65_536) % 256;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const [first, last] = [next.value[0], next.value.at(-1)];
      isRight &&= first === byteAt(length);
      length += next.value.length;
      isRight &&= last === byteAt(length - 1);
      noteMemory();
    }
    return Response.json([length, isRight, largest - before]);
  };
  const { worker, close } = await createObjects(
    {},
    { exports: { default: { fetch } }, bindings: { FILES: r2() }, directory },
  );
  const [length, isRight, growth] = await (await worker.fetch('http://here/')).json();
  await close();
  rmSync(directory, { recursive: true });
  expect([length, isRight]).toEqual([OBJECT_BYTES, true]);
  expect(growth).toBeLessThan(150 * MEBIBYTE);
});
