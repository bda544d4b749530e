// Classes in the worker, called from pages: calls, references, streams, errors, and the end of the
// worker.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { REST } from '../browsers/tags.ts';

test('[CONN1] two tabs call one object, whose worker one of them runs', async ({
  context,
  server,
}) => {
  const one = await openBlank(await context.newPage(), server);
  const two = await openBlank(await context.newPage(), server);
  const sums = [];
  for (const page of [one, two, one]) {
    sums.push(
      await page.evaluate(async () => {
        const { env } = await window.api.connectRooms();
        return env.Room.getByName('a').add(1);
      }),
    );
  }
  expect(sums).toEqual([1, 2, 3]);
  await one.close();
  expect(
    await two.evaluate(async () => {
      const { env } = await window.api.connectRooms();
      const room = env.Room.getByName('a');
      // The call may still go to the worker that is gone; then it fails with a retryable error.
      return room.add(1).catch((error) => {
        if (error.code !== 'CONNECTION_CLOSED' || !error.retryable) throw error;
        return room.add(1);
      });
    }),
  ).toBe(4);
});

test('[GATE21] calls of one turn travel together, and each has a turn of its own', async ({
  context,
  server,
}) => {
  const page = await openBlank(await context.newPage(), server);
  const { steps, posts, postsToOne } = await page.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const rooms = ['a', 'b', 'c'].map((name) => env.Room.getByName(name));
    for (const room of rooms) await room.steps();
    const { postMessage } = Worker.prototype;
    let posts = 0;
    Worker.prototype.postMessage = function (this: Worker, message: unknown) {
      // Other messages ask whether the worker lives.
      if (JSON.stringify(message).includes('"step"')) posts += 1;
      postMessage.call(this, message);
    } as never;
    await Promise.all(Array.from({ length: 300 }, (_, i) => rooms[i % 3]!.step(`${i}`)));
    const postsToAll = posts;
    const steps = await rooms[0]!.steps();
    posts = 0;
    await Promise.all(Array.from({ length: 300 }, (_, i) => rooms[0]!.step(`${i}`)));
    Worker.prototype.postMessage = postMessage;
    return { steps, posts: postsToAll, postsToOne: posts };
  });
  expect(steps).toEqual(Array.from({ length: 300 }, (_, i) => [`${i}`, `${i}, after`]).flat());
  expect(posts).toBe(1);
  // Calls of one object leave in messages of 64, while the page makes more.
  expect(postsToOne).toBe(5);
});

test('[STUB8] functions are called across tabs', async ({ context, server }) => {
  const one = await openBlank(await context.newPage(), server);
  const two = await openBlank(await context.newPage(), server);
  await one.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('a').add(1);
  });
  const heard = two.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const room = env.Room.getByName('a');
    return new Promise<string>((resolve) => {
      void room.listen((event) => resolve(event)).then(() => document.body.append('listening'));
    });
  });
  await two.getByText('listening').waitFor();
  await one.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('a').say('hello');
  });
  expect(await heard).toBe('hello');
});

test('[STUB7] errors keep class, code and stack', async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const room = env.Room.getByName('errors');
    const told = async (call: () => Promise<unknown>) => {
      try {
        return await call();
      } catch (error) {
        const { name, message, code, stack = '' } = error as Error & { code?: string };
        const { retryable, durableObjectReset } = error as Record<string, unknown>;
        return {
          name,
          message: message.slice(0, 40),
          code,
          hasStack: stack.includes('fail'),
          ...(durableObjectReset === true && { retryable, durableObjectReset }),
        };
      }
    };
    type Loose = Record<string, (value?: unknown) => Promise<unknown>>;
    const loose = room as unknown as Loose;
    return [
      await told(() => room.fail()),
      await told(() => loose.missing!()),
      await told(() => room.echo(window)),
      await told(async () => (env as unknown as Record<string, object>).Missing),
      await told(() => room.reset()),
      await told(() => room.echo(1)),
    ];
  });
  expect(seen).toMatchObject([
    { name: 'CodedError', message: 'coded', code: 'E_CODED', hasStack: true },
    { name: 'TypeError', code: 'UNKNOWN_METHOD' },
    { name: 'DataCloneError' },
    { name: 'TypeError', code: 'UNKNOWN_CLASS' },
    { code: 'OBJECT_RESET', retryable: false, durableObjectReset: true },
    1,
  ]);
});

test('[STUB23] objects call each other, and hand out stubs and targets', { tag: REST }, async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const room = env.Room.getByName('caller');
    await room.addToOther('callee', 2);
    const callee = (await room.echo(env.Room.getByName('callee'))) as typeof room;
    const ticker = await room.ticker();
    await ticker.next();
    return [await callee.add(1), await ticker.next(), typeof callee.name];
  });
  // A stub that was received has no name of its own: it is a member of the class.
  expect(seen).toEqual([3, 2, 'function']);
});

test('[CONN4] fetch streams both ways, with every header', async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const room = env.Room.getByName('fetch');
    const sent = new TransformStream<Uint8Array, Uint8Array>();
    const writer = sent.writable.getWriter();
    const response = await room.fetch('http://room/upper', {
      method: 'POST',
      body: sent.readable,
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const words: unknown[] = [];
    for (const word of ['one', 'two']) {
      void writer.write(new TextEncoder().encode(word));
      words.push((await reader.read()).value);
    }
    await writer.close();
    words.push((await reader.read()).done);
    const plain = await room.fetch('http://room/plain', {
      method: 'POST',
      body: 'text',
      headers: { Upgrade: 'websocket' },
    });
    const forwarded = await room.fetch('http://room/forward', { method: 'PUT', body: 'on' });
    const { method, text } = await forwarded.json();
    return [words, response.headers.get('X-From'), await plain.json(), [method, text]];
  });
  expect(seen).toEqual([
    ['ONE', 'TWO', true],
    'room',
    { method: 'POST', text: 'text', upgrade: 'websocket' },
    ['PUT', 'on'],
  ]);
});

test('[CONN4] a body of 8 MiB arrives whole, in order', { tag: REST }, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const response = await env.Room.getByName('fetch').fetch('http://room/download');
    const words = new Uint32Array(await response.arrayBuffer());
    return { count: words.length, firstWrong: words.findIndex((word, i) => word !== i) };
  });
  expect(seen).toEqual({ count: 2 * 1024 * 1024, firstWrong: -1 });
});

test('[STUB25] a request that was received is sent on to the network, with its body', {
  tag: REST,
}, async ({ storagePage }) => {
  const echo = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.end(`${request.method} ${text}`);
  });
  await new Promise<void>((resolve) => echo.listen(0, 'localhost', resolve));
  const { port } = echo.address() as AddressInfo;
  const text = await storagePage.evaluate(async (address) => {
    const { env } = await window.api.connectRooms();
    const url = `http://room/network?to=${encodeURIComponent(address)}`;
    const response = await env.Room.getByName('network').fetch(url, { method: 'POST', body: 'on' });
    return response.text();
  }, `http://localhost:${port}/`);
  echo.close();
  expect(text).toBe('POST on');
});

test('[STUB18] a fetch that is aborted while the object waits for its body rejects with the reason', {
  tag: REST,
}, async ({ storagePage }) => {
  const outcomes = await storagePage.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const room = env.Room.getByName('fetch');
    const abort = new AbortController();
    const { signal } = abort;
    const init = { method: 'POST', body: new ReadableStream(), signal };
    let outcome: unknown = 'pending';
    const pending = room.fetch('http://room/plain', init).then(
      () => (outcome = 'answered'),
      (reason) => (outcome = reason === signal.reason ? `the reason: ${reason.message}` : reason),
    );
    await room.add(1); // calls arrive in order, so the request has arrived
    const outcomes = [outcome];
    abort.abort(new Error('changed my mind'));
    await pending;
    return [...outcomes, outcome, await room.add(1)];
  });
  expect(outcomes).toEqual(['pending', 'the reason: changed my mind', 2]);
});

test('[CONN7] a terminated worker rejects pending calls, and the next call starts it again', async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const room = env.Room.getByName('dies');
    await room.add(5);
    const pending = room.wait().catch(({ code, retryable }) => ({ code, retryable }));
    await room.add(1);
    window.api.workers.at(-1)!.terminate();
    return [await pending, await room.add(1)];
  });
  expect(seen).toEqual([{ code: 'CONNECTION_CLOSED', retryable: true }, 7]);
});

test('[CONN7] a worker script that cannot be loaded is WORKER_FAILED', async ({ storagePage }) => {
  const code = await storagePage.evaluate(async () => {
    const start = () => new Worker('/no-such-worker.js', { type: 'module' });
    const { connect } = window.api;
    const failed = connect(start, { directory: 'nowhere' });
    return failed.then(
      () => 'connected',
      (error) => error.code,
    );
  });
  expect(code).toBe('WORKER_FAILED');
});

test('[STUB20] an upgrade gives a socket whose messages the object handles', async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const room = env.Room.getByName('socket');
    const headers = { Upgrade: 'websocket' };
    const response = await room.fetch('http://room/socket', { headers });
    const webSocket = response.webSocket!;
    const heard: string[] = [];
    const three = new Promise<void>((resolve) => {
      webSocket.addEventListener('message', ({ data }: MessageEventInit) => {
        heard.push(data);
        if (heard.length === 3) resolve();
      });
    });
    webSocket.accept();
    for (const word of ['a', 'b', 'c']) webSocket.send(word);
    await three;
    webSocket.close(4000, 'done');
    let closed = await room.closed();
    for (let i = 0; i < 50 && closed === undefined; i++) closed = await room.closed();
    return [response.status, heard, closed];
  });
  expect(seen).toEqual([101, ['heard a', 'heard b', 'heard c'], '4000 done']);
});

test('[CONN1] the storage of an object is opened beside it', { tag: REST }, async ({
  storagePage,
}) => {
  const sum = await storagePage.evaluate(async () => {
    const objects = await window.api.connectRooms();
    const room = objects.env.Room.getByName('looked into');
    await room.add(4);
    const storage = await objects.storage(room);
    return storage.get('sum');
  });
  expect(sum).toBe(4);
});

test('[CONN1] objects are listed and deleted', { tag: REST }, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const objects = await window.api.connectRooms();
    const room = objects.env.Room.getByName('listed');
    await room.add(1);
    const find = async () => (await objects.list('Room')).find(({ id }) => id.equals(room.id));
    const listed = await find();
    await objects.deleteObject(room);
    const isLeft = (await find()) !== undefined;
    const { id, sizeBytes = 0 } = listed ?? {};
    return { name: id?.name, sizeBytes, isLeft, sum: await room.sum() };
  });
  expect(seen).toMatchObject({ name: 'listed', isLeft: false, sum: 0 });
  expect(seen.sizeBytes).toBeGreaterThan(0);
});

test('[CONN1] an alarm is driven by the clock, from another tab', async ({ context, server }) => {
  const one = await openBlank(await context.newPage(), server);
  const two = await openBlank(await context.newPage(), server);
  await one.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('reminded').add(1);
  });
  const seen = await two.evaluate(async () => {
    const { env, clock } = await window.api.connectRooms();
    const room = env.Room.getByName('reminded');
    await clock.set(2_000_000_000_000);
    await room.remind(60_000);
    const ran = await clock.runNextAlarm();
    return [ran?.id.name, ran?.dueTime, await clock.now(), await room.remindedAt()];
  });
  expect(seen).toEqual(['reminded', 2_000_000_060_000, 2_000_000_060_000, 2_000_000_060_000]);
});
