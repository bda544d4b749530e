// Questions about timers as Node's, and about arguments that a runtime refuses: a program that is refused only after
// deployment was tested for nothing.

import { type Questions, refusal, scope } from './surface-answers.ts';

const after = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));
const requested = (init: object) => refusal(() => new Request('http://a/', init));

/** How often a timer ran after this was done to it. */
async function runs(change: (timer: typeof scope) => unknown): Promise<number> {
  let count = 0;
  const timer = setTimeout(() => count++, 5);
  await change(timer);
  await after(30);
  return count;
}

export const STRICT: Questions = {
  'a timer': () => {
    const timer = scope.setTimeout(() => {}, 1);
    const names = Object.getOwnPropertyNames(Object.getPrototypeOf(timer)).sort();
    const kinds = [timer, timer.constructor.name, +timer].map((one) => typeof one);
    return [names, kinds, Object.keys(timer), JSON.stringify(timer), typeof scope.Timeout];
  },
  'a timer that was unreferenced': () => {
    const timer = scope.setTimeout(() => {}, 1);
    return [timer.hasRef(), timer.unref().hasRef(), timer.ref().hasRef()];
  },
  'a timer, cleared': () =>
    Promise.all([
      runs((timer) => clearTimeout(timer)),
      runs((timer) => clearTimeout(+timer)),
      runs((timer) => clearInterval(timer)),
      runs((timer) => clearTimeout(String(+timer) as never)),
      runs((timer) => timer.close()),
      runs(() => {}),
    ]),
  'a timer, started again': () =>
    Promise.all([
      runs(async (timer) => {
        await after(20);
        timer.refresh();
      }),
      runs((timer) => timer.close().refresh()),
      runs((timer) => {
        clearTimeout(timer);
        timer.refresh();
      }),
    ]),
  'a timer that starts itself again': async () => {
    let count = 0;
    const timer = scope.setTimeout(() => ++count < 3 && timer.refresh(), 2);
    await after(60);
    return count;
  },
  'an interval': async () => {
    let count = 0;
    const interval = scope.setInterval(() => ++count === 3 && clearInterval(interval), 2);
    await after(60);
    return count;
  },
  'a timer in storage': ({ ctx }) =>
    refusal(() =>
      ctx.storage.kv.put(
        'timer',
        scope.setTimeout(() => {}, 1),
      ),
    ),
  'modes of a request': () => [
    ...['follow', 'manual', 'error'].map((redirect) => requested({ redirect })),
    ...['no-store', 'no-cache', 'reload', 'force-cache'].map((cache) => requested({ cache })),
    ...['', 'sha256-a'].map((integrity) => requested({ integrity })),
  ],
  'fetch with such modes': async ({ peer }) => {
    const kinds: unknown[] = [];
    for (const init of [{ redirect: 'error' }, { cache: 'reload' }, { integrity: 'sha256-a' }]) {
      for (const call of [
        () => fetch('http://127.0.0.1:1/', init as never),
        () => peer.fetch('http://a/', init),
      ]) {
        kinds.push(
          await call().then(
            () => 'answered',
            (error: Error) => error.constructor.name,
          ),
        );
      }
    }
    return kinds;
  },
  'JSON of nothing': async () => {
    const answers: unknown[] = [];
    for (const value of [undefined, () => 1, Symbol('a')]) {
      const response = Response.json(value);
      answers.push([response.status, [...response.headers], await response.text()]);
    }
    return [answers, refusal(() => scope.Response.json())];
  },
  'methods detached from their objects': ({ ctx, env }) => {
    const { sql, kv } = ctx.storage;
    const { exec } = sql;
    const { get } = kv;
    const { idFromName } = env.Surface;
    return [() => exec('SELECT 1'), () => get('a'), () => idFromName('a')].map(refusal);
  },
};
