// Queues whose consumer is the app's code, on a clock that the test moves.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createObjects as createInProcess } from '../../../../worker/start/entries/in-process.ts';
import { createObjects, DurableObject } from '../../../../worker/start/entries/node-objects.ts';
import { queue } from '../index.ts';

/** Values of the app's code, which these tests use without types. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

/** The consumer's handler, which is called with each batch. */
type Consume = (batch: Untyped, env: Untyped) => unknown;

const START = Date.UTC(2030, 0, 1);

/** Starts a host whose handler `queue` is `consume`; `ask` runs code in the handler `fetch` of the same entry point. */
async function hostOf(consume: Consume, bindings: object, options: object = {}) {
  let ask: (env: Untyped) => unknown;
  const fetch = async (_request: Request, env: Untyped) => Response.json((await ask(env)) ?? null);
  const { worker, ...host } = await createObjects(
    {},
    { exports: { default: { fetch, queue: consume } }, bindings: bindings as never, ...options },
  );
  await host.clock.set(START);
  return {
    ...host,
    async ask(asked: (env: Untyped) => unknown): Promise<Untyped> {
      ask = asked;
      return (await worker.fetch('http://here/')).json();
    },
  };
}

/** Returns a handler that records the body and the attempts of each message, by batch. */
function recorder() {
  const batches: unknown[][] = [];
  const record = ({ messages }: Untyped) => {
    batches.push(messages.map(({ body, attempts }: Untyped) => `${body} ${attempts}`));
  };
  return { batches, record };
}

test('[BQU2] a batch is delivered when it is full, or when its first message has waited, by the clock', async () => {
  const { batches, record } = recorder();
  const { ask, clock, close } = await hostOf(record, {
    JOBS: queue({ consumer: { maxBatchSize: 2, maxBatchTimeout: 30 } }),
  });
  await ask(({ JOBS }) => JOBS.send('a'));
  await clock.advance(29_999);
  expect(batches).toEqual([]);
  await clock.advance(1);
  expect(batches).toEqual([['a 1']]);
  await ask(({ JOBS }) => JOBS.sendBatch([{ body: 'b' }, { body: 'c' }, { body: 'd' }]));
  await clock.advance(0);
  expect(batches).toEqual([['a 1'], ['b 1', 'c 1']]);
  await clock.advance(30_000);
  expect(batches.at(-1)).toEqual(['d 1']);
  await close();
});

test('[BQU2] a host without files delivers a batch when its first message has waited', async () => {
  const { batches, record } = recorder();
  const fetch = async (_request: Request, { JOBS }: Untyped) => {
    await JOBS.send('a');
    return new Response();
  };
  const { worker, clock, close } = await createInProcess(
    {},
    {
      exports: { default: { fetch, queue: record } },
      bindings: { JOBS: queue({ consumer: {} }) },
      wasm: readFileSync(new URL('../../../../worker/engine/vfs/sqlite3.wasm', import.meta.url)),
    },
  );
  await clock.set(START);
  await worker.fetch('http://here/');
  await clock.advance(1000);
  expect(batches).toEqual([['a 1']]);
  await close();
});

test('[BQU2] the delays of messages, of the code’s retries and of the consumer’s retries pass by the clock', async () => {
  const { batches, record } = recorder();
  const consume = (batch: Untyped) => {
    record(batch);
    const [message] = batch.messages;
    if (message.attempts === 1) message.retry({ delaySeconds: 7200 });
    if (message.attempts === 2) batch.retryAll();
  };
  const { ask, clock, close } = await hostOf(consume, {
    JOBS: queue({ deliveryDelay: 3600, consumer: { maxBatchTimeout: 0, retryDelay: 60 } }),
  });
  await ask(({ JOBS }) => JOBS.send('a'));
  for (const seconds of [3600, 7200, 60]) {
    const count = batches.length;
    await clock.advance(seconds * 1000 - 1);
    expect(batches).toHaveLength(count);
    await clock.advance(1);
    expect(batches).toHaveLength(count + 1);
  }
  expect(batches.flat()).toEqual(['a 1', 'a 2', 'a 3']);
  await close();
});

test('[BQU3] messages outlive the host, and its successor delivers them', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'queue-'));
  const bindings = { JOBS: queue({ consumer: { maxBatchTimeout: 60 } }) };
  const first = await hostOf(() => expect.fail('it was delivered'), bindings, { directory });
  await first.ask(({ JOBS }) => JOBS.send(new Map([['a', 1n]]), { contentType: 'v8' }));
  await first.close();
  const found: unknown[] = [];
  const consume = ({ messages }: Untyped) => void found.push(messages[0].body);
  const second = await hostOf(consume, bindings, { directory });
  await second.clock.advance(60_000);
  expect(found).toEqual([new Map([['a', 1n]])]);
  await second.close();
  rmSync(directory, { recursive: true });
});

test('[BQU3] a new consumer gets the messages that waited without one', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'queue-'));
  const first = await hostOf(() => {}, { JOBS: queue() }, { directory });
  await first.ask(({ JOBS }) => JOBS.send('a'));
  await first.clock.advance(3_600_000);
  await first.close();
  const { batches, record } = recorder();
  const second = await hostOf(record, { JOBS: queue({ consumer: {} }) }, { directory });
  await second.clock.advance(1000);
  expect(batches).toEqual([['a 1']]);
  await second.close();
  rmSync(directory, { recursive: true });
});

test('[BQU4] a crash between delivery and acknowledgement delivers again, and costs no retry', async () => {
  const { batches, record } = recorder();
  let crash: (() => Promise<void>) | undefined;
  const consume = async (batch: Untyped) => {
    record(batch);
    for (const message of batch.messages) message.ack();
    const crashes = crash;
    crash = undefined;
    await crashes?.();
  };
  const host = await hostOf(consume, {
    JOBS: queue({ consumer: { maxBatchTimeout: 0, maxRetries: 0 } }),
    DATA: 'QueueObject',
  });
  crash = async () => {
    const handle = await host.storage((host.env as Untyped).DATA.getByName('JOBS'));
    await handle.abort('crash').catch(() => {});
  };
  await host.ask(({ JOBS }) => JOBS.send('a'));
  await host.clock.advance(60_000);
  await vi.waitUntil(() => batches.length === 2);
  await host.clock.advance(60_000);
  expect(batches).toEqual([['a 1'], ['a 2']]);
  await host.close();
});

test('[BQU4] a host that ends while a batch is consumed delivers it again', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'queue-'));
  const bindings = { JOBS: queue({ consumer: { maxBatchTimeout: 0, maxRetries: 0 } }) };
  let isDelivered = false;
  const never = () => {
    isDelivered = true;
    return new Promise(() => {});
  };
  const first = await hostOf(never, bindings, { directory });
  await first.clock.resume();
  await first.ask(({ JOBS }) => JOBS.send('a'));
  await vi.waitUntil(() => isDelivered);
  await first.close();
  const { batches, record } = recorder();
  const second = await hostOf(record, bindings, { directory });
  await second.clock.advance(60_000);
  expect(batches).toEqual([['a 2']]);
  await second.close();
  rmSync(directory, { recursive: true });
});

test('[BQU5] acknowledged messages are not delivered again, whatever the rest of the batch did', async () => {
  const decisions: ((batch: Untyped) => void)[] = [
    ({ messages }) => {
      messages[0].ack();
      throw new Error('thrown by the test');
    },
    (batch) => {
      batch.messages[0].ack();
      batch.retryAll();
    },
    (batch) => batch.ackAll(),
  ];
  const { batches, record } = recorder();
  const consume = (batch: Untyped) => {
    record(batch);
    decisions.shift()!(batch);
  };
  const { ask, clock, close } = await hostOf(consume, {
    JOBS: queue({ consumer: { maxBatchTimeout: 0 } }),
  });
  await ask(({ JOBS }) => JOBS.sendBatch(['a', 'b', 'c'].map((body) => ({ body }))));
  await clock.advance(1000);
  expect(batches).toEqual([['a 1', 'b 1', 'c 1'], ['b 2', 'c 2'], ['c 3']]);
  await close();
});

test('[BQU6] after the last retry, a message goes to the queue of dead letters, whose consumer may be another worker', async () => {
  const dead: unknown[] = [];
  const { batches, record } = recorder();
  const { ask, clock, close } = await hostOf(
    (batch) => {
      record(batch);
      batch.retryAll();
    },
    {
      JOBS: queue({ consumer: { maxRetries: 1, deadLetterQueue: 'dead' } }),
      DEAD: queue({ name: 'dead', consumer: { service: 'morgue' } }),
    },
    {
      workers: {
        morgue: {
          env: { PLACE: 'morgue' },
          exports: {
            default: {
              queue: ({ queue, messages }: Untyped, { PLACE }: Untyped) =>
                dead.push([PLACE, queue, messages[0].body]),
            },
          },
        },
      },
    },
  );
  await ask(({ JOBS }) => JOBS.send('a'));
  await clock.advance(60_000);
  expect(batches).toEqual([['a 1'], ['a 2']]);
  expect(dead).toEqual([['morgue', 'dead', 'a']]);
  await close();
});

test('[BQU6] a dead letter that comes again, after a crash, is stored once', async () => {
  const host = await hostOf(() => {}, { DEAD: queue(), DATA: 'QueueObject' });
  const letter = {
    id: 'a',
    timestamp: START,
    contentType: 'text',
    bytes: new Uint8Array(3),
    delaySeconds: 0,
  };
  const bury = () => host.ask(({ DATA }) => DATA.getByName('DEAD').put([letter]));
  await bury();
  const handle = await host.storage((host.env as Untyped).DATA.getByName('DEAD'));
  await handle.abort('crash').catch(() => {});
  await bury();
  const metrics = await host.ask(({ DEAD }) => DEAD.metrics());
  expect(metrics).toMatchObject({ backlogCount: 1, backlogBytes: 3 });
  await host.close();
});

test('[BQU6] without a dead-letter queue, a message is dropped after its last retry, with a warning', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const { ask, clock, close } = await hostOf((batch) => batch.retryAll(), {
    JOBS: queue({ consumer: { maxRetries: 0 } }),
  });
  await ask(({ JOBS }) => JOBS.send('a'));
  await clock.advance(60_000);
  expect(warn.mock.calls).toEqual([[expect.stringMatching(/^Queue JOBS dropped .*[0-9a-f]{32}$/)]]);
  expect(await ask(({ JOBS }) => JOBS.metrics())).toMatchObject({ backlogCount: 0 });
  warn.mockRestore();
  await close();
});

test('[BQU7] a consumer that sends to its own queue does not wait for itself', async () => {
  const { batches, record } = recorder();
  const consume = async (batch: Untyped, { JOBS }: Untyped) => {
    record(batch);
    const [{ body }] = batch.messages;
    if (body < 3) await JOBS.send(body + 1);
  };
  const { ask, clock, close } = await hostOf(consume, { JOBS: queue({ consumer: {} }) });
  await ask(({ JOBS }) => JOBS.send(1));
  await clock.advance(10_000);
  expect(batches).toEqual([['1 1'], ['2 1'], ['3 1']]);
  await close();
});

test('[BQU8] the code of an object sends a message to a queue', async () => {
  class Shop extends DurableObject {
    async order() {
      await (this.env as Untyped).JOBS.send('order');
    }
  }
  const { batches, record } = recorder();
  const { env, clock, close } = await createObjects(
    { Shop },
    {
      exports: { default: { queue: record } },
      bindings: { JOBS: queue({ consumer: {} }) },
    },
  );
  await clock.set(START);
  await env.Shop.getByName('a').order();
  await clock.advance(1000);
  expect(batches).toEqual([['order 1']]);
  await close();
});

test.for<[fact: string, bindings: object, message: string]>([
  [
    'a size of 0',
    { A: queue({ consumer: { maxBatchSize: 0 } }) },
    'maxBatchSize of binding A is 0',
  ],
  [
    'a delay of two days',
    { A: queue({ deliveryDelay: 172_800 }) },
    'deliveryDelay of binding A is 172800; give a number from 0 to 86400',
  ],
  [
    'itself for dead letters',
    { A: queue({ name: 'a', consumer: { deadLetterQueue: 'a' } }) },
    'the deadLetterQueue of binding A is "a" itself',
  ],
  [
    'a worker that is missing',
    { A: queue({ consumer: { service: 'nobody' } }) },
    'binding A names worker "nobody", which is not given; given are: worker.',
  ],
  [
    'two consumers',
    { A: queue({ name: 'a', consumer: {} }), B: queue({ name: 'a', consumer: {} }) },
    'The queue "a" has two consumers, of A and B; give it one.',
  ],
])('[BQU9] a queue with %s fails the start, by its name', async ([, bindings, message]) => {
  await expect(hostOf(() => {}, bindings)).rejects.toThrow(message);
});
