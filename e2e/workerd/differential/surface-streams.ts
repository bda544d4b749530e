// Questions about IdentityTransformStream and FixedLengthStream.

import {
  locally,
  names,
  outcome,
  type Questions,
  refusal,
  scope,
  type Untyped,
  within,
} from './surface-answers.ts';

const bytes = (...values: number[]) => new Uint8Array(values);
export const identity = () => new scope.IdentityTransformStream();
export const fixed = (...length: unknown[]) => new scope.FixedLengthStream(...length);
/** Uses both ends of a stream, and returns the result of each write and each read, in the order of the calls. */
async function through(stream: Untyped, writes: readonly unknown[], ending?: 'close' | 'abort') {
  const writer = stream.writable.getWriter();
  writer.closed.catch(() => {});
  const told: Promise<unknown>[] = writes.map((chunk) => outcome(writer.write(chunk)));
  if (ending === 'close') told.push(outcome(writer.close()));
  if (ending === 'abort') told.push(outcome(writer.abort(new RangeError('aborted'))));
  const read: unknown[] = [];
  const reader = stream.readable.getReader();
  for (let i = 0; i <= writes.length; i++) {
    const one: Untyped = await locally(outcome(reader.read()));
    read.push(one);
    if (typeof one === 'string' || one.done) break;
  }
  return { told: await Promise.all(told.map(locally)), read };
}

export const STREAMS: Questions = {
  'chunks pass as bytes': () =>
    through(
      identity(),
      [bytes(1, 2), bytes(3).buffer, new DataView(bytes(4, 5).buffer, 1)],
      'close',
    ),
  'an empty chunk': () => through(identity(), [bytes(), bytes(1)], 'close'),
  'a string': () => through(identity(), ['text']),
  'what is not bytes': async () => [
    (await through(identity(), [{}])).told,
    (await through(identity(), [1])).told,
  ],
  'an abort': () => through(identity(), [bytes(1)], 'abort'),
  'a write waits for its reader': async () => {
    const { writable, readable } = identity();
    const write = writable.getWriter().write(bytes(1));
    const before = await locally(outcome(write));
    const read = await outcome(readable.getReader().read());
    return [before, read, await within(outcome(write))];
  },
  'a cancel': async () => {
    const { writable, readable } = identity();
    const writer = writable.getWriter();
    writer.closed.catch(() => {});
    const cancelled = await outcome(readable.cancel(new RangeError('enough')));
    return [cancelled, await within(outcome(writer.write(bytes(1))))];
  },
  'a reader that brings its buffer': async () => {
    const { writable, readable } = identity();
    const writer = writable.getWriter();
    const write = writer.write(bytes(1, 2, 3));
    const reader = readable.getReader({ mode: 'byob' });
    const first = await outcome(reader.read(new Uint8Array(2)));
    const second = await outcome(reader.read(new Uint8Array(2)));
    return [first, second, await within(outcome(write))];
  },
  'a chunk is sent as it was written': async () => {
    const { writable, readable } = identity();
    const chunk = bytes(1);
    const write = writable.getWriter().write(chunk);
    chunk[0] = 9;
    const read = await outcome(readable.getReader().read());
    await write;
    return [read, chunk.byteLength];
  },
  'a body': async () => {
    const { writable, readable } = identity();
    const writer = writable.getWriter();
    void writer.write(new TextEncoder().encode('body'));
    void writer.close();
    return new Response(readable).text();
  },
  'a pipe': async () => new Response(new Response('piped').body!.pipeThrough(identity())).text(),
  'the kinds': () => [
    ...names(identity()),
    ...names(fixed(1)),
    identity() instanceof TransformStream,
    fixed(1) instanceof scope.IdentityTransformStream,
    scope.FixedLengthStream.length,
    scope.IdentityTransformStream.length,
  ],
  'a high-water mark': async () => {
    const { writable } = new scope.IdentityTransformStream({ highWaterMark: 10 });
    const writer = writable.getWriter();
    const before = writer.desiredSize;
    writer.write(bytes(1, 2)).catch(() => {});
    return [before, writer.desiredSize, identity().writable.getWriter().desiredSize];
  },
};

export const FIXED: Questions = {
  'the exact length': () => through(fixed(3), [bytes(1, 2), bytes(3)], 'close'),
  none: () => through(fixed(0), [], 'close'),
  'too many': () => through(fixed(2), [bytes(1), bytes(2, 3)]),
  'too many after the end': () => through(fixed(1), [bytes(1), bytes(2)]),
  'too few': () => through(fixed(3), [bytes(1)], 'close'),
  'a bigint': () => through(fixed(1n), [bytes(1)], 'close'),
  'a fraction': () => through(fixed(1.9), [bytes(1)], 'close'),
  'a text of digits': () => through(fixed('1'), [bytes(1)], 'close'),
  'what is not a length': () =>
    [[], [-1], ['x'], [Number.POSITIVE_INFINITY], [2 ** 53]].map((given) =>
      refusal(() => fixed(...given)),
    ),
  'the largest': () => names(fixed(Number.MAX_SAFE_INTEGER)),
  'a string': () => through(fixed(4), ['text']),
  'the length of a response': async ({ peer }) => {
    const response = await peer.fetch('http://surface/fixed');
    return [response.headers.get('content-length'), await response.text()];
  },
  'the length of other responses': async ({ peer }) => {
    const seen = [];
    for (const path of ['identity', 'text', 'null']) {
      const response = await peer.fetch(`http://surface/${path}`);
      seen.push([path, response.headers.get('content-length'), await response.text()]);
    }
    return seen;
  },
  'the length of a response that is too short': async ({ peer }) => {
    const response = await peer.fetch('http://surface/short');
    // Not text(): in Firefox it rejects with an AbortError, whatever failed the stream.
    const reader = response.body!.getReader();
    const all = async () => {
      while (!(await reader.read()).done);
    };
    const end = await within(outcome(all()));
    return [response.headers.get('content-length'), String(end).split(':')[0]];
  },
  'the length of a request': async ({ peer }) => {
    const { readable } = filled(fixed(5), 'asked');
    return (await peer.fetch('http://surface/', { method: 'POST', body: readable })).text();
  },
  'the length of a Request': async ({ peer }) => {
    const { readable } = filled(fixed(5), 'asked');
    const init = { method: 'POST', body: readable, duplex: 'half' };
    return (await peer.fetch(new Request('http://surface/', init as RequestInit))).text();
  },
  'the length of a piped body': async ({ peer }) =>
    (await peer.fetch('http://surface/piped')).headers.get('content-length'),
};

/** The stream, into which the text is written. */
export function filled(stream: Untyped, text: string) {
  const writer = stream.writable.getWriter();
  writer.write(new TextEncoder().encode(text)).catch(() => {});
  writer.close().catch(() => {});
  return stream;
}
