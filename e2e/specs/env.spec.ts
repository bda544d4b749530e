// `env` of a page's worker, which modules and events share.

import { expect, test } from '../browsers/fixtures.ts';
import { LONG } from '../browsers/tags.ts';

test('[ENTRY11] members that a module has read are those of events; an object has its own, as a browser does not follow code', {
  tag: LONG,
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const start = () => new Worker('/e2e/specs/pages/env-worker.ts', { type: 'module' });
    const { worker } = await window.api.connect<object>(start, { directory: 'one env' });
    return (await worker.fetch('/')).json();
  });
  expect(seen).toEqual([true, true, true, 'v', 'hi', 'changed', false, false, false, 'given']);
});

test('[STUB14] code that has awaited a digest or a Blob still belongs to its object: after a reset, it does not go on', {
  tag: LONG,
}, async ({ storagePage }) => {
  const hasGoneOn = await storagePage.evaluate(async () => {
    const start = () => new Worker('/e2e/specs/pages/env-worker.ts', { type: 'module' });
    type Box = { askAfterDigest(): void; reset(): void; wait(): void };
    const { env, worker } = await window.api.connect<{ Box: Box }>(start, { directory: 'digests' });
    const asking = env.Box.getByName('a').askAfterDigest();
    asking.catch(() => {}); // the reset ends it
    const isWaiting = async () => (await worker.fetch('/waits')).json();
    while (!(await isWaiting()));
    await env.Box.getByName('a')
      .reset()
      .catch(() => {});
    return (await worker.fetch('/release')).json();
  });
  expect(hasGoneOn).toBe(false);
});
