// Cron triggers, on a clock that the test moves.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createObjects } from '../../../../worker/start/entries/node-objects.ts';
import { cronTriggers } from '../index.ts';

/** Values of the app's code, which these tests use without types. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const START = Date.UTC(2030, 0, 1);
const MINUTE = 60_000;

/**
 * Starts a host. `runs` lists the calls of its handler `scheduled`: the cron, and the minutes from START to its time.
 */
async function hostOf(
  crons: readonly string[],
  options: object = {},
  handler: (controller: Untyped) => unknown = () => {},
) {
  const runs: [cron: string, minutes: number][] = [];
  const scheduled = (controller: Untyped) => {
    runs.push([controller.cron, (controller.scheduledTime - START) / MINUTE]);
    return handler(controller);
  };
  const host = await createObjects(
    {},
    { exports: { default: { scheduled } }, crons: cronTriggers(crons), ...options },
  );
  await host.clock.set(START);
  runs.length = 0;
  return { ...host, runs };
}

test('[CRON3] the handler runs at each time of each cron, by the clock of the objects', async () => {
  const { clock, runs, close } = await hostOf(['*/5 * * * *', '7 * * * *']);
  await clock.advance(5 * MINUTE - 1);
  expect(runs).toEqual([]);
  await clock.advance(1);
  await clock.advance(6 * MINUTE);
  expect(runs).toEqual([
    ['*/5 * * * *', 5],
    ['7 * * * *', 7],
    ['*/5 * * * *', 10],
  ]);
  await close();
});

test('[CRON3] crons at the same time run side by side', async () => {
  let begun = 0;
  let met = 0;
  const { clock, runs, close } = await hostOf(['5 * * * *', '*/5 * * * *'], {}, async () => {
    begun += 1;
    for (let turn = 0; turn < 1000 && begun < 2; turn++) await nextTurn();
    if (begun === 2) met += 1; // else the second run waits for the end of the first
  });
  await clock.advance(6 * MINUTE);
  expect([runs.length, met]).toEqual([2, 2]);
  await close();
});

test('[CRON4] if the clock jumps over several times of a cron, the handler runs once, for the last of them', async () => {
  const { clock, runs, close } = await hostOf(['*/5 * * * *']);
  await clock.set(START + 123 * MINUTE);
  expect(runs).toEqual([['*/5 * * * *', 120]]);
  await clock.advance(2 * MINUTE);
  expect(runs.at(-1)).toEqual(['*/5 * * * *', 125]);
  await close();
});

test('[CRON4] if a closed host missed several times of a cron, the handler runs once, for the last of them', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cron-'));
  const times: number[] = [];
  const options = {
    exports: { default: { scheduled: (event: Untyped) => void times.push(event.scheduledTime) } },
    crons: cronTriggers(['0 0 1 1 *']),
    bindings: { DATA: 'CronObject' },
    directory,
  };
  const first = await createObjects({}, options);
  const data = await first.storage((first.env as Untyped).DATA.getByName('crons'));
  await data.sql.exec('UPDATE cron SET next = ?', Date.UTC(2020, 0, 1)).toArray();
  await first.close();
  expect(times).toEqual([]);
  const second = await createObjects({}, options);
  await vi.waitUntil(() => times.length > 0);
  await second.clock.advance(1000);
  expect(times).toEqual([Date.UTC(new Date().getUTCFullYear(), 0, 1)]);
  await second.close();
  rmSync(directory, { recursive: true });
});

test('[CRON3] a stored time that a wrong clock has put too late is corrected when the host starts', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cron-'));
  const options = { directory, bindings: { DATA: 'CronObject' } };
  const first = await hostOf(['*/5 * * * *'], options);
  const data = await first.storage((first.env as Untyped).DATA.getByName('crons'));
  await data.sql.exec('UPDATE cron SET next = ?', Date.UTC(2099, 0, 1)).toArray();
  await first.close();
  const second = await hostOf(['*/5 * * * *'], options);
  await second.clock.advance(5 * MINUTE);
  expect(second.runs).toEqual([['*/5 * * * *', 5]]);
  await second.close();
  rmSync(directory, { recursive: true });
});

test('[CRON4] a cron that the app no longer has does not run; a new one does', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cron-'));
  const first = await hostOf(['*/5 * * * *'], { directory });
  await first.close();
  const second = await hostOf(['*/7 * * * *'], { directory });
  await second.clock.advance(8 * MINUTE);
  expect(second.runs).toEqual([['*/7 * * * *', 7]]);
  await second.close();
  rmSync(directory, { recursive: true });
});

test('[CRON5] a run that fails is reported, and does not run again', async () => {
  const reported = vi.spyOn(console, 'error').mockImplementation(() => {});
  const { clock, runs, close } = await hostOf(['*/5 * * * *'], {}, () => {
    throw new Error('thrown by the test');
  });
  await clock.advance(9 * MINUTE);
  expect(runs).toHaveLength(1);
  expect(reported.mock.calls.flat().map(String).join()).toContain('thrown by the test');
  reported.mockRestore();
  await close();
});

test('[CRON5] a run that a crash has cut short runs again', async () => {
  let crash: (() => Promise<void>) | undefined;
  const options = { bindings: { DATA: 'CronObject' } };
  const host = await hostOf(['*/5 * * * *'], options, () => crash?.());
  crash = async () => {
    crash = undefined;
    const data = await host.storage((host.env as Untyped).DATA.getByName('crons'));
    await data.abort('crash').catch(() => {});
  };
  await host.clock.advance(5 * MINUTE);
  await host.clock.advance(3 * MINUTE);
  expect(host.runs).toEqual([
    ['*/5 * * * *', 5],
    ['*/5 * * * *', 5],
  ]);
  await host.close();
});

test.for<[fact: string, crons: unknown, exports: object, message: string]>([
  [
    'a bad expression',
    cronTriggers(['* * * * *', '61 * * * *']),
    { default: {} },
    'crons: "61 * * * *" is not a time: 61 in "61" is not from 0 to 59.',
  ],
  ['plain texts', ['* * * * *'], { default: {} }, 'crons is not a binding; give cronTriggers'],
  [
    'no default entry point',
    cronTriggers(['* * * * *']),
    {},
    'binding crons names entry point "default" of worker "worker", which has: none.',
  ],
])('[CRON2] %s fails the start, by its name', async ([, crons, exports, message]) => {
  await expect(createObjects({}, { exports, crons } as never)).rejects.toMatchObject({
    code: 'CLASS_INVALID',
    message: expect.stringContaining(message),
  });
});

test('[CRON6] crons are not a member of env', async () => {
  let names: string[] = ['not asked'];
  const { worker, close } = await createObjects(
    {},
    {
      exports: {
        default: {
          scheduled() {},
          fetch: (_request: Request, env: object) => {
            names = Object.keys(env);
            return new Response();
          },
        },
      },
      crons: cronTriggers(['* * * * *']),
    },
  );
  await worker.fetch('http://here/');
  expect(names).toEqual([]);
  await close();
});
