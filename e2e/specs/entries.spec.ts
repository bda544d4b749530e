// Entry points of a page's worker, where nothing tells the browser which event the code after an `await` belongs to.

import { expect, test } from '../browsers/fixtures.ts';
import { LONG } from '../browsers/tags.ts';

test('[ENTRY10] events that wait for the browser are answered, while others begin and end', {
  tag: LONG,
}, async ({ storagePage }) => {
  const paths = ['/text', '/digest', '/blob', '/text', '/digest', '/blob'];
  const answers = await storagePage.evaluate(async (paths) => {
    const start = () => new Worker('/e2e/specs/pages/entries-worker.ts', { type: 'module' });
    const { worker } = await window.api.connect<object>(start, { directory: 'side by side' });
    const ask = async (path: string) => (await worker.fetch(path)).text();
    const busy = Array.from({ length: 12 }, () => ask('/busy'));
    const answers = await Promise.all(paths.map(ask));
    await Promise.all(busy);
    return answers;
  }, paths);
  expect(answers).toEqual(paths);
});
