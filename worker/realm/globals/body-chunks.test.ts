import { expect, test } from 'vitest';
import { createObjects, DurableObject } from '../../start/entries/node-objects.ts';

const streamOf = (...chunks: unknown[]) =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
const read = async (body: Request | Response) => [...new Uint8Array(await body.arrayBuffer())];
const CHUNKS: Readonly<Record<string, () => unknown[]>> = {
  texts: () => ['tè', 'xt'],
  json: () => ['{"a":', '"è"}'],
  buffers: () => [new Uint8Array([1, 2]).buffer, new ArrayBuffer(0), new Uint8Array([3]).buffer],
  views: () => [
    new Uint16Array([0x0201]),
    new DataView(new Uint8Array([9, 3, 9]).buffer, 1, 1),
    new Uint8Array([9, 4, 5, 9]).subarray(1, 3),
  ],
  numbers: () => [1],
  nothing: () => ['text', null],
};

class Source extends DurableObject {
  stream(kind: string): ReadableStream {
    return streamOf(...CHUNKS[kind]!());
  }
  fetch(request: Request): Response {
    return new Response(this.stream(new URL(request.url).pathname.slice(1)));
  }
  async own(kind: string): Promise<number[]> {
    const response = new Response(this.stream(kind));
    const copy = await read(response.clone());
    expect(copy).toEqual(await read(response));
    expect(response.bodyUsed).toBe(true);
    await expect(response.text()).rejects.toThrow(TypeError);
    return copy;
  }
  async posted(kind: string): Promise<number[]> {
    const init = { method: 'POST', body: this.stream(kind) };
    return read(new Request('http://source/', init));
  }
}

test('[STUB48] a body reads texts of a received stream, and buffers and views of any, as bytes', async () => {
  const { env, close } = await createObjects({ Source }, { compatibilityDate: '2026-07-01' });
  const object = env.Source.getByName('a');
  const given = async (kind: string) => new Response(await object.stream(kind));
  const bytes = {
    texts: [...new TextEncoder().encode('tèxt')],
    buffers: [1, 2, 3],
    views: [1, 2, 3, 4, 5],
  };
  for (const [kind, expected] of Object.entries(bytes)) {
    expect(await read(await given(kind))).toEqual(expected);
    const fetched = await object.fetch(`http://source/${kind}`);
    expect(await read(fetched)).toEqual(expected);
  }
  const response = await given('texts');
  expect([await response.clone().text(), await response.text()]).toEqual(['tèxt', 'tèxt']);
  for (const kind of ['buffers', 'views'] as const) {
    expect(await object.own(kind)).toEqual(bytes[kind]);
    expect(await object.posted(kind)).toEqual(bytes[kind]);
  }
  await expect(object.own('texts')).rejects.toThrow(TypeError);
  const noBytes = /did not return bytes/;
  for (const kind of ['numbers', 'nothing']) {
    await expect(given(kind).then((body) => body.text())).rejects.toThrow(noBytes);
    const answer = object.fetch(`http://source/${kind}`);
    await expect(answer.then((body) => body.text())).rejects.toThrow(noBytes);
  }
  const { buffer } = new Uint8Array(bytes.texts);
  expect(await (await given('texts')).arrayBuffer()).toEqual(buffer);
  expect(await (await given('texts')).bytes()).toEqual(new Uint8Array(buffer));
  expect(await (await (await given('texts')).blob()).arrayBuffer()).toEqual(buffer);
  expect(await (await given('json')).json()).toEqual({ a: 'è' });
  // A stream of a program outside of objects is read by the engine alone.
  await expect(new Response(streamOf(new ArrayBuffer(1))).text()).rejects.toThrow(TypeError);
  await close();
});
