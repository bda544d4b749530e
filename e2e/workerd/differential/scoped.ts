// A worker with the flag `service_binding_extra_handlers`, which also reads its `env` and `exports` as imports.

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

/** `cloudflare:workers` of the engine. */
export interface Library {
  readonly env: Untyped;
  readonly exports: Untyped;
  readonly withEnv: Untyped;
  readonly withExports: Untyped;
  readonly withEnvAndExports: Untyped;
}

export const SERVICES = { SELF: { service: 'main' } } as const;

const later = () => new Promise<void>((resolve) => setTimeout(resolve, 2));
const MESSAGES = [
  { id: '1', timestamp: new Date(5), attempts: 1, body: 'a' },
  { id: '2', timestamp: new Date(6), attempts: 2, body: { b: 1 } },
];
const seen: unknown[] = [];

/** The default entry point: each question is a path, and its answer JSON. */
export function scopedOf({ env, exports, withEnv, withExports, withEnvAndExports }: Library) {
  const questions: Readonly<Record<string, (own: Untyped, ctx: Untyped) => unknown>> = {
    'scheduled by an export': (_, ctx) =>
      ctx.exports.default.scheduled({ scheduledTime: new Date(1000), cron: 'a' }),
    'scheduled by a service': (own) => own.SELF.scheduled({ cron: 'b', scheduledTime: 2000 }),
    'scheduled without a time': async (own) => (await own.SELF.scheduled({ cron: 'c' })).outcome,
    'scheduled that fails': (own) => own.SELF.scheduled({ cron: 'fail', scheduledTime: 0 }),
    'a batch by an export': (_, ctx) => ctx.exports.default.queue('jobs', MESSAGES),
    'a batch by a service': (own) => own.SELF.queue('retry', MESSAGES),
    'an export with props': (_, ctx) =>
      ctx.exports.default({ props: {} }).scheduled({ cron: 'd', scheduledTime: 1 }),
    'what arrived': () => seen.splice(0),
    'env for a call': () => withEnv({ A: 2 }, () => [env.A, Object.keys(env), 'SELF' in env]),
    'env after an await': () =>
      withEnv({ A: 3 }, async () => {
        await later();
        return env.A;
      }),
    'env of two calls side by side': () =>
      Promise.all(
        [4, 5].map((A) =>
          withEnv({ A }, async () => {
            await later();
            return env.A;
          }),
        ),
      ),
    'env inside of another': () =>
      withEnv({ A: 6 }, async () => {
        const inner = await withEnv({ A: 7 }, async () => {
          await later();
          return env.A;
        });
        return [inner, env.A];
      }),
    'env in a timer': () =>
      withEnv({ A: 8 }, () => new Promise((resolve) => setTimeout(() => resolve(env.A), 1))),
    'env afterwards, and as a parameter': (own) => [env.A, own.A],
    'env that is not an object': () =>
      [null, 1, undefined].map((none) => withEnv(none, () => env.A)),
    'a member that is set': () => {
      const given = { A: 1 };
      return withEnv(given, () => {
        env.A = 9;
        return [env.A, given.A, delete env.A, env.A ?? null];
      });
    },
    exports: () => withExports({ q: 1 }, () => [exports.q, typeof exports.default, env.A]),
    'exports inside of env': () =>
      withEnv({ A: 2 }, () => withExports({ q: 3 }, () => [env.A, exports.q])),
    both: () => withEnvAndExports({ A: 9 }, { q: 1 }, () => [exports.q, env.A]),
    'nothing to call': () => withEnv({ A: 1 }),
    'exports and nothing to call': () => withExports({}, 5),
    'both and nothing to call': () => withEnvAndExports({}, {}),
    'what the function gets': () => withEnv({}, (...parameters: unknown[]) => parameters.length),
    'a function that throws': () =>
      withEnv({}, () => {
        throw new RangeError('thrown');
      }),
  };
  const worker = {
    async fetch(request: Request, own: Untyped, ctx: Untyped) {
      const what = decodeURIComponent(new URL(request.url).pathname.slice(1));
      if (what === '') return Response.json(Object.keys(questions));
      try {
        return Response.json({ value: await questions[what]!(own, ctx) });
      } catch (error) {
        return Response.json({ error: String(error) });
      }
    },
    scheduled({ cron, scheduledTime }: Untyped) {
      if (cron === 'fail') throw new Error('no');
      seen.push([cron, cron === 'c' ? typeof scheduledTime : scheduledTime]);
    },
    queue({ queue, messages }: Untyped) {
      seen.push([queue, messages.map(({ id, attempts, body }: Untyped) => [id, attempts, body])]);
      messages[0].ack();
      if (queue === 'retry') messages[1].retry({ delaySeconds: 3 });
    },
  };
  return worker;
}

interface Fetches {
  fetch(url: string): Promise<{ json(): Promise<unknown> }>;
}

export async function scopedAll(worker: Fetches): Promise<Record<string, unknown>> {
  const ask = async (what: string) =>
    (await worker.fetch(`http://a/${encodeURIComponent(what)}`)).json();
  const answers: Record<string, unknown> = {};
  for (const what of (await ask('')) as string[]) answers[what] = await ask(what);
  return answers;
}
