// Queues, and every question that code can ask them: as a producer, and as the consumer of the same worker.

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

/** The queues by their names in `env`, with their consumers; null for a queue without a consumer. */
export const QUEUES = {
  PLAIN: { name: 'plain', consumer: { maxBatchSize: 10, maxBatchTimeout: 0.3 } },
  SMALL: {
    name: 'small',
    consumer: { maxBatchSize: 3, maxBatchTimeout: 0.3, maxRetries: 2, deadLetterQueue: 'dead' },
  },
  FILLED: { name: 'filled', consumer: { maxBatchSize: 3, maxBatchTimeout: 60 } },
  DEAD: { name: 'dead', consumer: { maxBatchSize: 10, maxBatchTimeout: 0.3 } },
  ONCE: { name: 'once', consumer: { maxBatchTimeout: 0.3, maxRetries: 0 } },
  LATE: { name: 'late', consumer: { maxBatchTimeout: 0, maxRetries: 1, retryDelay: 2 } },
  SLOW: { name: 'slow', consumer: { maxBatchSize: 100, maxBatchTimeout: 60 } },
  DELAYED: { name: 'delayed', deliveryDelay: 2, consumer: { maxBatchTimeout: 0 } },
  LONE: { name: 'lone', consumer: null },
} as const;

type Handler = (batch: Untyped, env: Untyped, ctx: Untyped) => unknown;

/** The handler of each queue, and the batches that it got, each as its messages. */
const handlers = new Map<string, Handler>();
const batches: { readonly queue: string; readonly messages: readonly Untyped[] }[] = [];

/** The handler of the worker. */
export async function consume(batch: Untyped, env: Untyped, ctx: Untyped): Promise<void> {
  const { queue, messages } = batch;
  // Miniflare's timers sometimes deliver a batch without messages.
  if (messages.length === 0) return;
  batches.push({ queue, messages: [...messages] });
  await handlers.get(queue)?.(batch, env, ctx);
}

/** Consumes the queue while the question is asked: the batches with this many messages in all. */
async function consumed(
  queue: string,
  count: number,
  ask: () => unknown,
  handler: Handler = () => {},
): Promise<Untyped[][]> {
  const start = batches.length;
  handlers.set(queue, handler);
  await ask();
  const own = () =>
    batches
      .slice(start)
      .filter((batch) => batch.queue === queue)
      .map(({ messages }) => [...messages]);
  await until(() => own().flat().length >= count);
  return own();
}

const bodies = (found: Untyped[][]) => found.map((each) => each.map(({ body }) => body));
/** In order; miniflare's timers decide which messages of a retry share a batch. */
const attempts = (found: Untyped[][]) => found.flat().map(({ body, attempts }) => [body, attempts]);

/** The only message that arrives. */
async function arrives(env: Untyped, ...message: unknown[]): Promise<unknown> {
  const [[first]] = (await consumed('plain', 1, () => env.PLAIN.send(...message))) as [[Untyped]];
  return described(first.body);
}

const ASKS: Readonly<Record<string, (env: Untyped) => unknown>> = {
  'the kind': ({ PLAIN }) => [
    typeof PLAIN,
    String(PLAIN),
    Object.prototype.toString.call(PLAIN),
    ['send', 'sendBatch', 'metrics'].map((name) => typeof PLAIN[name]),
  ],
  'the results of send and sendBatch': async ({ PLAIN }) => {
    const results: unknown[] = [];
    await consumed('plain', 1, async () => results.push(await PLAIN.send('a')));
    await consumed('plain', 1, async () => results.push(await PLAIN.sendBatch([{ body: 1 }])));
    return described(results);
  },
  'metrics of an empty queue': async ({ PLAIN }) => described(await PLAIN.metrics()),
  'metrics of a queue that waits': async ({ SLOW }) => {
    const first = await SLOW.send('häßlich', { contentType: 'text' });
    await until(async () => (await SLOW.metrics()).backlogCount === 1);
    const second = await SLOW.sendBatch([{ body: 'b' }, { body: { c: 1 } }]);
    await until(async () => (await SLOW.metrics()).backlogCount === 3);
    return [described(first), described(second), described(await SLOW.metrics())];
  },
  'text, json and values by default': async (env) => [
    await arrives(env, 'text'),
    await arrives(env, { a: [1, null, 'ä'], b: undefined, c: new Date(7) }),
    await arrives(env, null),
    await arrives(env, 5),
    await arrives(env, new Map([[1, 2]])),
  ],
  'content type text': (env) => arrives(env, 'häßlich 😀', { contentType: 'text' }),
  'content type json': (env) => arrives(env, { a: 'ä' }, { contentType: 'json' }),
  'content type bytes': async (env) => [
    await arrives(env, new Uint8Array([1, 2, 255]), { contentType: 'bytes' }),
    await arrives(env, new Uint8Array([1, 2, 3, 4]).subarray(1, 3), { contentType: 'bytes' }),
    await arrives(env, new DataView(new Uint8Array([7, 8]).buffer), { contentType: 'bytes' }),
  ],
  'content type v8': async (env) => [
    await arrives(env, new Map([[1, new Date(7)]]), { contentType: 'v8' }),
    await arrives(env, [5n, new Set(['a']), undefined, /x/g], { contentType: 'v8' }),
    await arrives(env, new Uint8Array([1, 2]), { contentType: 'v8' }),
  ],
  'content type in capitals': async ({ LONE, ...env }) => [
    await arrives(env, 'a', { contentType: 'TEXT' }),
    await told(() => LONE.sendBatch([{ body: 'a', contentType: 'TEXT' }])),
  ],
  'options that are null': async (env) => [
    await told(() => arrives(env, 'a', null)),
    await told(() => env.LONE.send('a', { contentType: null })),
    await nameOf(() => env.LONE.send('a', { delaySeconds: null })),
    await told(() => env.LONE.send('a', 5)),
  ],
  'a body of another type': async ({ LONE }) => [
    await told(() => LONE.send(5, { contentType: 'text' })),
    await told(() => LONE.send(null, { contentType: 'text' })),
    await told(() => LONE.send({}, { contentType: 'bytes' })),
    await told(() => LONE.send('a', { contentType: 'bytes' })),
    await told(() => LONE.send(new ArrayBuffer(2), { contentType: 'bytes' })),
    await told(() => LONE.sendBatch([{ body: 5, contentType: 'text' }])),
  ],
  'a body that is undefined': async ({ LONE }) => [
    await told(() => LONE.send(undefined)),
    await nameOf(() => LONE.send()),
    await told(() => LONE.sendBatch([{ body: undefined }])),
    await nameOf(() => LONE.sendBatch([{}])),
  ],
  'a body that cannot be written': async ({ LONE }) => {
    const circle: Untyped = {};
    circle.self = circle;
    return [
      await told(() => LONE.send(5n)),
      await nameOf(() => LONE.send(circle)),
      await told(() => LONE.send({ toJSON: () => boom() })),
      await nameOf(() => LONE.send({ f() {} }, { contentType: 'v8' })),
    ];
  },
  'a body without json': async ({ LONE }) => [
    await nameOf(() => LONE.send(() => {})),
    await nameOf(() => LONE.send(Symbol('a'))),
  ],
  'an unknown content type': async ({ LONE }) => [
    await told(() => LONE.send('a', { contentType: 'xml' })),
    await told(() => LONE.sendBatch([{ body: 'a', contentType: '' }])),
  ],
  'a view after it was sent': async ({ LONE }) => {
    const [sent, inBatch] = [new Uint8Array(3), new Uint8Array(4)];
    await LONE.send(sent, { contentType: 'bytes' });
    await LONE.sendBatch([{ body: inBatch, contentType: 'bytes' }]);
    return [sent.length, inBatch.length];
  },
  'a body that changes after send': async (env) => {
    const body = { a: 1 };
    const found = await consumed('plain', 1, () => {
      const sent = env.PLAIN.send(body);
      body.a = 2;
      return sent;
    });
    return bodies(found);
  },
  'messages of 128,000 bytes': async (env) => {
    const found = await consumed('plain', 1, () =>
      env.PLAIN.send('x'.repeat(128_000), { contentType: 'text' }),
    );
    return [
      found[0]![0].body.length,
      await nameOf(() => env.PLAIN.send('x'.repeat(128_001), { contentType: 'text' })),
      await nameOf(() => env.PLAIN.send('ß'.repeat(64_000))),
      await nameOf(() => env.PLAIN.sendBatch([{ body: 'x'.repeat(128_000) }])),
    ];
  },
  'batches of 100 messages': async (env) => {
    const batch = (length: number) => Array.from({ length }, (_, i) => ({ body: i }));
    const found = await consumed('plain', 100, () => env.PLAIN.sendBatch(batch(100)));
    return [bodies(found), await nameOf(() => env.PLAIN.sendBatch(batch(101)))];
  },
  'batches of 288,000 bytes': async ({ PLAIN, SLOW }) => {
    const large = (last: number) =>
      [128_000, 128_000, last].map((length) => ({
        body: 'x'.repeat(length),
        contentType: 'text',
      }));
    return [
      await nameOf(() => SLOW.sendBatch(large(32_000))),
      await nameOf(() => PLAIN.sendBatch(large(32_001))),
    ];
  },
  'the words of a limit': ({ PLAIN }) =>
    told(() => PLAIN.send('x'.repeat(128_001), { contentType: 'text' })),
  'a batch of nothing': ({ LONE }) => told(() => LONE.sendBatch([])),
  'batches of other types': async ({ LONE }) => [
    await nameOf(() => LONE.sendBatch()),
    await nameOf(() => LONE.sendBatch(5)),
    await nameOf(() => LONE.sendBatch({ body: 1 })),
    await nameOf(() => LONE.sendBatch([5])),
    await nameOf(() => LONE.sendBatch(new Set([{ body: 1 }]))),
  ],
  'a batch of every content type': async (env) => {
    const found = await consumed('plain', 5, () =>
      env.PLAIN.sendBatch([
        { body: 'a', contentType: 'text' },
        { body: { b: 1 }, contentType: 'json' },
        { body: new Uint8Array([1]), contentType: 'bytes' },
        { body: new Set([1]), contentType: 'v8' },
        { body: ['default'] },
      ]),
    );
    return found.map((each) => each.map(({ body }) => described(body)));
  },
  'delays that are refused': async ({ PLAIN }) => {
    const refused = [];
    for (const delaySeconds of [-1, 86_401]) {
      refused.push(
        await nameOf(() => PLAIN.send('a', { delaySeconds })),
        await nameOf(() => PLAIN.sendBatch([{ body: 'a' }], { delaySeconds })),
        await nameOf(() => PLAIN.sendBatch([{ body: 'a', delaySeconds }])),
      );
    }
    return refused;
  },
  'delays that are no whole numbers': async ({ SLOW }) => [
    await nameOf(() => SLOW.send('a', { delaySeconds: 1.5 })),
    await nameOf(() => SLOW.send('a', { delaySeconds: Number.NaN })),
    await nameOf(() => SLOW.send('a', { delaySeconds: 'x' })),
    await nameOf(() => SLOW.send('a', { delaySeconds: '2' })),
  ],
  'the order of full batches': async (env) =>
    bodies(
      await consumed('small', 6, () =>
        env.SMALL.sendBatch([1, 2, 3, 4, 5, 6].map((body) => ({ body }))),
      ),
    ),
  'a batch that is not full': async (env) =>
    bodies(await consumed('small', 2, () => env.SMALL.sendBatch([{ body: 1 }, { body: 2 }]))),
  'a batch that becomes full': async (env) =>
    bodies(
      await consumed('filled', 3, async () => {
        for (const body of [1, 2, 3]) await env.FILLED.send(body);
      }),
    ),
  'a message': async (env) => {
    const before = Date.now();
    const [[message]] = (await consumed('plain', 1, () => env.PLAIN.send('a'))) as [[Untyped]];
    const { id, timestamp } = message;
    return [
      Object.keys(message).sort(),
      /^[0-9a-f]{32}$/.test(id),
      timestamp instanceof Date,
      Math.abs(timestamp.getTime() - before) < 10_000,
      message.attempts,
      Object.prototype.toString.call(message),
    ];
  },
  'a batch': async (env) => {
    const facts: unknown[] = [];
    await consumed(
      'plain',
      1,
      () => env.PLAIN.send('a'),
      (batch) => {
        facts.push(
          Object.keys(batch).sort(),
          Array.isArray(batch.messages),
          Object.prototype.toString.call(batch),
          described(batch.metadata),
          nameOfNow(() => {
            const { ack } = batch.messages[0];
            ack();
          }),
          batch.messages[0].ack() ?? 'nothing',
          batch.ackAll() ?? 'nothing',
        );
      },
    );
    return facts;
  },
  'a clone of a batch': async (env) => {
    const facts: unknown[] = [];
    await consumed(
      'plain',
      1,
      () => env.PLAIN.send('a'),
      (batch) => void facts.push(nameOfNow(() => structuredClone(batch))),
    );
    return facts;
  },
  'env and ctx of the handler': async (env) => {
    const facts: unknown[] = [];
    await consumed(
      'plain',
      1,
      () => env.PLAIN.send('a'),
      (_batch, given, ctx) => {
        facts.push('PLAIN' in given, typeof ctx.waitUntil, described(ctx.props));
      },
    );
    return facts;
  },
  'one message to retry': async (env) =>
    attempts(
      await consumed(
        'small',
        4,
        () => env.SMALL.sendBatch([{ body: 'a' }, { body: 'b' }, { body: 'c' }]),
        ({ messages }) => {
          for (const message of messages) if (message.body === 'b') retryOnce(message);
        },
      ),
    ),
  'a retried message is the same': async (env) => {
    const found = await consumed(
      'small',
      2,
      () => env.SMALL.send({ a: 1 }),
      ({ messages }) => retryOnce(messages[0]),
    );
    const [first, second] = found.flat();
    return [
      first.id === second.id,
      first.timestamp.getTime() === second.timestamp.getTime(),
      second.body,
    ];
  },
  'a batch to retry': async (env) =>
    attempts(
      await consumed(
        'small',
        4,
        () => env.SMALL.sendBatch([{ body: 'a' }, { body: 'b' }]),
        (batch) => {
          if (batch.messages[0].attempts === 1) batch.retryAll();
        },
      ),
    ),
  'a handler that throws': async (env) =>
    attempts(
      await consumed(
        'small',
        4,
        () => env.SMALL.sendBatch([{ body: 'a' }, { body: 'b' }]),
        ({ messages }) => {
          if (messages[0].attempts === 1) boom();
        },
      ),
    ),
  'a rejection in waitUntil': async (env) =>
    attempts(
      await consumed(
        'small',
        2,
        () => env.SMALL.send('a'),
        ({ messages }, _env, ctx) => {
          if (messages[0].attempts === 1) ctx.waitUntil(Promise.reject(new Error('boom')));
        },
      ),
    ),
  'retry, then ackAll': async (env) =>
    attempts(
      await consumed(
        'small',
        3,
        () => env.SMALL.sendBatch([{ body: 'a' }, { body: 'b' }]),
        (batch) => {
          if (batch.messages[0].attempts > 1) return;
          batch.messages[0].retry();
          batch.ackAll();
        },
      ),
    ),
  'ackAll, then retry': async (env) => {
    const found = await consumed(
      'small',
      1,
      () => env.SMALL.send('a'),
      (batch) => {
        batch.ackAll();
        batch.messages[0].retry();
      },
    );
    return attempts([...found, ...(await consumed('small', 1, () => env.SMALL.send('next')))]);
  },
  'an ack before a throw': (env) =>
    decided(env, (batch) => {
      batch.messages[0].ack();
      boom();
    }),
  'ackAll before a throw': (env) =>
    decided(env, (batch) => {
      batch.ackAll();
      boom();
    }),
  'an ack before retryAll': (env) =>
    decided(env, (batch) => {
      batch.messages[0].ack();
      batch.retryAll();
    }),
  'an ack after retryAll': (env) =>
    decided(env, (batch) => {
      batch.retryAll();
      batch.messages[0].ack();
    }),
  'a dead letter': async (env) => {
    const start = batches.length;
    const dead = await consumed('dead', 2, () =>
      consumed(
        'small',
        6,
        () =>
          env.SMALL.sendBatch([
            { body: new Uint8Array([5, 6]), contentType: 'bytes' },
            { body: new Map([['a', 1]]), contentType: 'v8' },
          ]),
        (batch) => batch.retryAll(),
      ),
    );
    const before = batches.slice(start).filter(({ queue }) => queue === 'small');
    const [first] = before[0]!.messages;
    const [same] = dead.flat();
    return [
      before.flatMap(({ messages }) => messages.map(({ attempts }: Untyped) => attempts)),
      dead.flat().map(({ body, attempts }) => [described(body), attempts]),
      first.id === same.id,
      first.timestamp.getTime() === same.timestamp.getTime(),
    ];
  },
  'a message without retries and dead letters': async (env) => {
    const found = await consumed(
      'once',
      1,
      () => env.ONCE.send('a'),
      () => boom(),
    );
    return attempts([...found, ...(await consumed('once', 1, () => env.ONCE.send('next')))]);
  },
  'delays of retries': async (env) => {
    const found = await consumed(
      'late',
      4,
      async () => {
        await env.LATE.send('by the queue');
        await env.LATE.send('by the message');
      },
      ({ messages }) => {
        for (const message of messages) {
          if (message.attempts > 1) continue;
          message.retry(message.body === 'by the message' ? { delaySeconds: 0 } : undefined);
        }
      },
    );
    return attempts(found);
  },
  'a message that is delayed': async (env) => {
    const found = await consumed('late', 2, async () => {
      await env.LATE.send('later', { delaySeconds: 2 });
      await env.LATE.send('now');
    });
    return bodies([found.flat()]);
  },
  'delays of a batch': async (env) => {
    const found = await consumed('late', 2, () =>
      env.LATE.sendBatch([{ body: 'batch' }, { body: 'own', delaySeconds: 0 }], {
        delaySeconds: 2,
      }),
    );
    return bodies([found.flat()]);
  },
  'a queue that delays': async (env) => {
    const found = await consumed('delayed', 2, async () => {
      await env.DELAYED.send('queue');
      await env.DELAYED.send('own', { delaySeconds: 0 });
    });
    return bodies([found.flat()]);
  },
  'a queue that nobody consumes': async ({ LONE }) => {
    await LONE.send('kept', { contentType: 'text' });
    await LONE.send('kept', { contentType: 'text' });
    return (await LONE.metrics()).backlogCount > 1;
  },
  'a handler that sends': async (env) =>
    bodies(
      await consumed('dead', 1, () =>
        consumed(
          'plain',
          1,
          () => env.PLAIN.send('a'),
          ({ messages }, { DEAD }) => DEAD.send(`${messages[0].body} again`),
        ),
      ),
    ),
};

/** Two messages of which the handler decides once: which of them come again. */
async function decided(env: Untyped, decide: Handler): Promise<unknown> {
  const start = batches.length;
  const arrived = () => batches.slice(start).flatMap(({ messages }) => messages);
  await consumed(
    'small',
    2,
    () => env.SMALL.sendBatch([{ body: 'a' }, { body: 'b' }]),
    (batch, ...rest) => {
      if (batch.messages[0].attempts === 1 && batch.messages[0].body === 'a') {
        return decide(batch, ...rest);
      }
    },
  );
  // The first of them may overtake messages that were retried: miniflare takes them back one by one, each by a timer.
  for (const end of ['end 1', 'end 2', 'end 3', 'end 4']) {
    await consumed('small', 1, () => env.SMALL.send(end));
    await until(() => arrived().some(({ body }) => body === end));
  }
  // On a slow machine, miniflare may deliver a message that nobody has retried once more.
  const again = arrived().filter(({ body, attempts }) => body.length === 1 && attempts === 2);
  return [...new Set(again.map(({ body }) => body))].sort();
}

/** The result of each. */
export async function queuesAll(env: Untyped): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(ASKS))
    answers[what] = (await told(() => ask(env))) ?? null;
  return answers;
}

function retryOnce(message: Untyped): void {
  if (message.attempts === 1) message.retry();
}

function boom(): never {
  throw new Error('boom');
}

async function told(ask: () => unknown): Promise<unknown> {
  try {
    return (await ask()) ?? 'nothing';
  } catch (error) {
    const { name, message } = error as Error;
    return { name, message };
  }
}

async function nameOf(ask: () => unknown): Promise<unknown> {
  try {
    await ask();
    return 'no error';
  } catch (error) {
    return (error as Error).name;
  }
}

function nameOfNow(ask: () => unknown): unknown {
  try {
    ask();
    return 'no error';
  } catch (error) {
    return (error as Error).name;
  }
}

/** A value as JSON can hold it, with its kind. */
function described(value: Untyped): unknown {
  if (value instanceof Map) return { Map: described([...value]) };
  if (value instanceof Set) return { Set: described([...value]) };
  if (value instanceof RegExp) return { RegExp: String(value) };
  if (value instanceof ArrayBuffer) return { ArrayBuffer: [...new Uint8Array(value)] };
  if (value instanceof Uint8Array) return { Uint8Array: [...value] };
  if (value instanceof Date)
    return value.getTime() < 1e6 ? { Date: value.getTime() } : { Date: 'now' };
  if (Array.isArray(value)) return value.map(described);
  if (typeof value === 'bigint') return { bigint: String(value) };
  if (typeof value !== 'object' || value === null) return value ?? String(value);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, described(each)]));
}

async function until(isSo: () => unknown): Promise<void> {
  for (let i = 0; i < 2000; i++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('It did not happen within 10 s.');
}
