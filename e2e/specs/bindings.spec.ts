// Bindings in a page's worker: the clock of the objects drives them.

import { expect, test } from '../browsers/fixtures.ts';
import { REST } from '../browsers/tags.ts';

test('[BIND6] a queue, a cron and a rate limit of a page follow the clock of its objects', {
  tag: REST,
}, async ({ storagePage }) => {
  const found = await storagePage.evaluate(async () => {
    const start = () => new Worker('/e2e/specs/pages/bindings-worker.ts', { type: 'module' });
    const { worker, clock } = await window.api.connect<object>(start, { directory: 'bindings' });
    const ask = async (path: string) => (await worker.fetch(path)).text();
    const seen = async () => JSON.parse(await ask('/')) as unknown[];
    await clock.set(Date.UTC(2030, 0, 7, 8, 59)); // a Monday
    const before = (await seen()).length; // the last Monday was missed
    const limits = [await ask('/limit'), await ask('/limit')];
    await ask('/send');
    await clock.advance(29_999);
    const waiting = (await seen()).slice(before);
    await clock.advance(1);
    const delivered = (await seen()).slice(before);
    await clock.advance(30_000);
    return {
      limits,
      again: await ask('/limit'),
      waiting,
      delivered,
      all: (await seen()).slice(before),
    };
  });
  const time = Date.UTC(2030, 0, 7, 9);
  expect(found).toEqual({
    limits: ['{"success":true}', '{"success":false}'],
    again: '{"success":true}',
    waiting: [],
    delivered: [['1', 1]],
    all: [
      ['1', 1],
      ['0 9 * * 2', time],
    ],
  });
});
