// Questions about the platform of now: what the newest workerd has changed, and what programs meet beside storage.

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
const hex = (buffer: ArrayBuffer) =>
  [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
const streamOf = (...chunks: readonly unknown[]) =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
const byteStreamOf = (...chunks: readonly Uint8Array<ArrayBuffer>[]) =>
  new ReadableStream({
    type: 'bytes',
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
const text = (value: string) => new TextEncoder().encode(value);

/** A view as it arrived. */
const shape = ({ done, value }: Untyped) => ({
  done,
  value: value && [
    value.constructor.name,
    value.byteLength,
    [...new Uint8Array(value.buffer ?? value, value.byteOffset ?? 0, value.byteLength)],
  ],
});

async function refused(call: () => unknown): Promise<unknown[]> {
  try {
    return ['none', await call()];
  } catch (error) {
    return [(error as Error).name, (error as Error).message];
  }
}

/** The members of an error as programs see them. */
const facts = (error: Untyped) => ({
  name: error.name,
  message: error.message,
  keys: Object.keys(error).sort(),
  remote: error.remote,
  retryable: Boolean(error.retryable),
  overloaded: Boolean(error.overloaded),
  reset: Boolean(error.durableObjectReset),
  object: typeof error.durableObjectId,
});

const factsOf = (promise: Promise<unknown>) => within(promise.then(() => 'none', facts));

export const PLATFORM: Questions = {
  'a response without content that has an empty text': async () => {
    const response = new Response('', { status: 204 });
    return [response.status, response.body === null, await response.text()];
  },
  'a response without content': () =>
    [101, 204, 205, 304].map((status) => [
      status,
      refusal(() => new Response(null, { status })),
      refusal(() => new Response('', { status })),
      refusal(() => new Response(new Uint8Array(0), { status })),
      refusal(() => new Response('text', { status })),
    ]),
  'a request with a stream': async () => {
    const request = new Request('http://a/', {
      method: 'POST',
      body: streamOf(text('streamed')),
    });
    return request.text();
  },
  'the case of methods': () =>
    ['get', 'Post', 'patch', 'PaTcH', 'delete', 'MKCOL'].map((method) => {
      try {
        return new Request('http://a/', { method }).method;
      } catch (error) {
        return (error as Error).name;
      }
    }),
  'an unknown method': () => refusal(() => new Request('http://a/', { method: 'OTHER' })),
  'views in a received stream': async ({ peer }) => {
    const chunks: Record<string, Untyped> = {
      Uint8Array: bytes(1, 2),
      Uint16Array: new Uint16Array([1, 2]),
      DataView: new DataView(bytes(1, 2, 3).buffer, 1),
    };
    const seen = [];
    for (const [name, chunk] of Object.entries(chunks)) {
      const answer = async () => {
        const stream = await peer.echoed(byteStreamOf(chunk));
        return shape(await stream.getReader().read());
      };
      seen.push([name, await within(refused(answer))]);
    }
    return seen;
  },
  'a received stream read into a buffer': async ({ peer }) => {
    const stream = await peer.echoed(byteStreamOf(bytes(1, 2, 3), bytes(4)));
    const reader = stream.getReader({ mode: 'byob' });
    const seen = [];
    for (let i = 0; i < 4; i++) seen.push(await within(outcome(reader.read(bytes(0, 0)))));
    return seen;
  },
  'a body read into a buffer': async ({ peer }) => {
    const { body } = await peer.fetch('http://surface/text');
    const reader = body!.getReader({ mode: 'byob' });
    return [await within(outcome(reader.read(new Uint8Array(8))))];
  },
  'readAtLeast of an own stream': async () => {
    const reader: Untyped = byteStreamOf(bytes(1, 2), bytes(3), bytes(4)).getReader({
      mode: 'byob',
    });
    const read = async (least: number, size: number) =>
      shape(await reader.readAtLeast(least, new Uint8Array(size)));
    return [
      await within(refused(() => read(3, 8))),
      await within(refused(() => read(0, 8))),
      await within(refused(() => read(9, 8))),
      await within(refused(() => read(2, 8))),
    ];
  },
  'a digest of MD5': async () => [
    hex(await crypto.subtle.digest('MD5', text(''))),
    hex(await crypto.subtle.digest('md5', text('text'))),
    hex(await crypto.subtle.digest({ name: 'MD5' }, text('text').buffer)),
    (await refused(() => crypto.subtle.digest('MD4', text('text'))))[0],
  ],
  DigestStream: async () => {
    const { DigestStream } = scope.crypto;
    const seen = [];
    for (const name of ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512', 'MD5']) {
      const stream = new DigestStream(name);
      const writer = stream.getWriter();
      await writer.write(text('te'));
      await writer.write(text('xt').buffer);
      await writer.close();
      seen.push([name, hex(await stream.digest), String(stream.bytesWritten)]);
    }
    const stream = new DigestStream('SHA-1');
    return [seen, names(stream), stream instanceof WritableStream, DigestStream.length];
  },
  'DigestStream, a text': async () => {
    const stream = new scope.crypto.DigestStream('SHA-1');
    const writer = stream.getWriter();
    const written = await outcome(writer.write('text'));
    await writer.close().catch(() => {});
    return [written, await outcome(stream.digest.then(hex))];
  },
  'DigestStream, not bytes': async () => {
    const stream = new scope.crypto.DigestStream('SHA-1');
    const writer = stream.getWriter();
    writer.closed.catch(() => {});
    stream.digest.catch(() => {});
    return [await outcome(writer.write(1)), await locally(outcome(stream.digest.then(hex)))];
  },
  'DigestStream, an abort': async () => {
    const stream = new scope.crypto.DigestStream('SHA-1');
    stream.digest.catch(() => {});
    await stream.abort(new RangeError('enough'));
    return within(outcome(stream.digest));
  },
  'DigestStream, no digest': () => refused(() => new scope.crypto.DigestStream('none')),
  'DigestStream, a pipe': async () => {
    const stream = new scope.crypto.DigestStream({ name: 'SHA-256' });
    await new Response('piped').body!.pipeTo(stream);
    return hex(await stream.digest);
  },
  'a fetch of a path': () => refused(() => fetch('/x')),
  'a fetch of an unknown scheme': async () => (await refused(() => fetch('ftp://x/')))[0],
  'cf of a request and what is made of it': () => {
    const given: Untyped = new Request('http://a/', { cf: { place: [1] } } as RequestInit);
    const cf = (request: Untyped) => [request.cf ?? null, Object.keys(request).includes('cf')];
    return [
      given,
      given.clone(),
      given.clone().clone(),
      new Request(given),
      new Request(given, { headers: { a: 'b' } }),
      new Request('http://b/', given),
      new Request(given, { cf: { place: 2 } } as RequestInit),
      new Request('http://c/'),
    ].map(cf);
  },
  'a Request of a path': () => refused(() => new Request('/x')),
  'a remote error': async ({ peer }) => [
    await factsOf(peer.fail()),
    await factsOf(peer.fail().catch((error: object) => Promise.reject({ ...error }))),
  ],
  'a remote error of another object': async ({ env, peer }) =>
    peer
      .failThere()
      .catch((error: Untyped) =>
        ['peer', 'there'].map(
          (name) => error.durableObjectId === String(env.Surface.idFromName(name)),
        ),
      ),
  'a view in a stream of values': async ({ peer }) => {
    const read = async () =>
      shape(await (await peer.echoed(streamOf(new Uint16Array([1, 2])))).getReader().read());
    return within(refused(read));
  },
  'a remote error of a fetch': ({ peer }) => factsOf(peer.fetch('http://surface/fail')),
  'a reset': ({ env }) => factsOf(env.Surface.getByName('reset').reset()),
  'after a reset': async ({ env }) => {
    const stub = env.Surface.getByName('reset later');
    await stub.reset().catch(() => {});
    return [await factsOf(stub.ok()), await factsOf(env.Surface.getByName('reset later').ok())];
  },
  SuppressedError: () => [
    typeof scope.SuppressedError,
    typeof scope.DisposableStack,
    typeof scope.AsyncDisposableStack,
    typeof Symbol.dispose,
  ],
  'statements that control transactions': ({ ctx }) =>
    Promise.all(
      ['BEGIN', 'COMMIT', 'ROLLBACK', 'SAVEPOINT a', 'RELEASE a'].map(async (query) => {
        const [name, message] = await refused(() => ctx.storage.sql.exec(query).toArray());
        return [name, String(message).split('. ')[0]];
      }),
    ),
  'a deferred foreign key': async ({ env }) => {
    const stub = env.Surface.getByName('deferred');
    return [await within(refused(() => stub.deferred('turn'))), await refused(() => stub.rows())];
  },
  'a deferred foreign key in transactionSync': async ({ env }) => {
    const stub = env.Surface.getByName('deferred sync');
    return [await within(refused(() => stub.deferred('sync'))), await refused(() => stub.rows())];
  },
  'a deferred foreign key in transaction': async ({ env }) => {
    const stub = env.Surface.getByName('deferred async');
    return [(await refused(() => stub.deferred('async')))[0], await refused(() => stub.ok())].map(
      (answer) => String(answer).slice(0, 4),
    );
  },
  'the order after a put': async ({ ctx: { storage } }) => {
    const order: string[] = [];
    const all = [
      storage.put('order', 1).then(() => order.push('put')),
      Promise.resolve()
        .then(() => order.push('first'))
        .then(() => order.push('second'))
        .then(() => order.push('third')),
      storage.get('order').then(() => order.push('get')),
      storage.delete('order').then(() => order.push('delete')),
    ];
    await Promise.all(all);
    return order;
  },
  'a detached abort': async ({ env }) => {
    const stub = env.Surface.getByName('detached');
    return [(await refused(() => stub.detached()))[0], await refused(() => stub.ok())];
  },
  'an alarm': async ({ env }) => {
    const stub = env.Surface.getByName('alarm');
    await stub.setAlarm();
    return within(stub.alarmed());
  },
};
