// Rate limits, and every question that code can ask them.

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

/** Each limit, by its name in `env`. */
export const RATE_LIMITS = {
  TWO: { limit: 2, period: 60 },
  TEN: { limit: 3, period: 10 },
} as const;

const ASKS: Readonly<Record<string, (env: Untyped) => unknown>> = {
  'the kind': ({ TWO }) => [
    typeof TWO,
    typeof TWO.limit,
    TWO.limit({ key: 'kind' }) instanceof Promise,
  ],
  'calls up to the limit': ({ TWO }) => take(TWO, 3, { key: 'a' }),
  'another key': ({ TWO }) => take(TWO, 3, { key: 'b' }),
  'the other binding': ({ TEN }) => take(TEN, 4, { key: 'a' }),
  'calls at once': ({ TWO }) => Promise.all([1, 2, 3].map(() => TWO.limit({ key: 'at once' }))),
  'no key': async ({ TWO }) => [...(await take(TWO, 2, {})), await TWO.limit({ key: '' })],
  'keys of many kinds': async ({ TWO }) => [
    await TWO.limit({ key: 'é😀' }),
    await TWO.limit({ key: '__proto__' }),
    await TWO.limit({ key: 'x'.repeat(10_000) }),
    await TWO.limit({ key: 'A' }),
  ],
  'keys that are no text': async ({ TWO }) => [
    await told(() => TWO.limit({ key: 5 })),
    await told(() => TWO.limit({ key: null })),
    await told(() => TWO.limit({ key: {} })),
  ],
  'no options': async ({ TWO }) => [
    await told(() => TWO.limit()),
    await told(() => TWO.limit(null)),
    await told(() => TWO.limit('a')),
  ],
  'unknown options': async ({ TWO }) => [
    await told(() => TWO.limit({ key: 'c', cost: 1 })),
    await told(() => TWO.limit({ keys: 'c', cost: 1 })),
    await told(() => TWO.limit([])),
    await told(() => TWO.limit(['a'])),
  ],
  'a limit of the call': async ({ TWO }) => [
    await take(TWO, 4, { key: 'd', limit: 3 }),
    await take(TWO, 1, { key: 'e', limit: 0 }),
    await told(() => TWO.limit({ key: 'd', limit: '3' })),
    await told(() => TWO.limit({ key: 'd', limit: null })),
  ],
  'a period of the call': async ({ TWO }) => [
    await told(() => TWO.limit({ key: 'f', period: 30 })),
    await told(() => TWO.limit({ key: 'f', period: '60' })),
    await take(TWO, 3, { key: 'f', period: 60 }),
  ],
  'the result': async ({ TWO }) => Object.keys(await TWO.limit({ key: 'g' })),
};

/** The result of each, within one period. */
export async function rateLimitsAll(env: Untyped): Promise<Record<string, unknown>> {
  // Begin early enough in a period: all calls together take less than a second.
  while (10_000 - (Date.now() % 10_000) < 3000) await sleep(50);
  const answers: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(ASKS)) answers[what] = await told(() => ask(env));
  return answers;
}

async function take(limiter: Untyped, count: number, options: object): Promise<boolean[]> {
  const results: boolean[] = [];
  for (let i = 0; i < count; i++) results.push((await limiter.limit(options)).success);
  return results;
}

async function told(ask: () => unknown): Promise<unknown> {
  try {
    return await ask();
  } catch (error) {
    const { name, message } = error as Error;
    return { name, message };
  }
}

function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
