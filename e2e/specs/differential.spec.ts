// Runs one class file in two engines: a browser's worker, through the Vite plugin, and workerd. Both get the same calls
// and must give the same answers.

import { join } from 'node:path';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';
import { ASKED_BINDINGS, askedInWorkerd } from '../workerd/differential/asked-bindings.ts';
import type { Rooms } from '../workerd/differential/conversation.ts';
import { entriesInWorkerd } from '../workerd/differential/entries-in-workerd.ts';
import { askInWorkerd } from '../workerd/differential/in-workerd.ts';
import { cutTo } from '../workerd/differential/words.ts';
import { differs } from '../workerd/versions.ts';
import { askWorkerd } from '../workerd/workerd.ts';

const MAIN = `
  import { converse } from '../differential/conversation.ts';
  export * from './room.ts';
  export default {
    async fetch(_request, env) {
      return Response.json(await converse(env.ROOM));
    },
  };`;

test('[TWO1] a class file of a wrangler project answers in a page as it does in workerd', {
  tag: LONG,
}, async ({ storagePage }) => {
  const here = await storagePage.evaluate(async () => {
    const { env } = await window.api.connectProject();
    const { converse } = await import('/e2e/workerd/differential/conversation.ts' as string);
    return (converse as (rooms: Rooms) => Promise<unknown[]>)(env.ROOM as unknown as Rooms);
  });
  const there = await inWorkerd();
  expect(here).toEqual(there);
  expect(here.slice(1, 3)).toEqual([
    'Room lobby',
    ['a', 'b', 'c'].map((text, i) => ({ id: i + 1, author: 'ann', text })),
  ]);
  expect(here.slice(3, 5)).toEqual([
    'RangeError: A message must contain text.',
    'Error: No message would be left.',
  ]);
});

const ASKED = [
  { rule: 'TWO2', module: 'desk.ts', className: 'Desk', make: 'deskClass', ask: 'askAll' },
  { rule: 'TWO3', module: 'line.ts', className: 'Line', make: 'lineOf', ask: 'callAll' },
  { rule: 'TWO4', module: 'post.ts', className: 'Post', make: 'postOf', ask: 'postAll' },
  {
    rule: 'TWO8',
    module: 'surface.ts',
    className: 'Surface',
    make: 'surfaceOf',
    ask: 'surfaceAll',
  },
  { rule: 'TWO9', module: 'words.ts', className: 'Words', make: 'wordsOf', ask: 'wordsAll' },
  {
    rule: 'TWO10',
    module: 'facet.ts',
    className: 'Facet',
    make: 'facetOf',
    ask: 'facetAll',
    exports: { Inner: 'innerOf' },
  },
] as const;

/** The class that asks about the browser's own part more than the others do. */
const OF_THE_BROWSER = 'Surface';

/** Firefox follows promises on the page that a debugger, like these tests, watches; never in a worker. */
const IN_FIREFOX = { 'the stack of a call between objects': ['RangeError: failed', false] };

for (const asked of ASKED) {
  test(`[${asked.rule}] a page gets of a ${asked.className} what workerd gives`, {
    tag: asked.className === OF_THE_BROWSER ? REST : [LONG, RELEASE],
  }, async ({ storagePage, browserName }) => {
    const here = await storagePage.evaluate(async ({ module, className, ask }) => {
      const start = () => new Worker('/e2e/workerd/differential/worker.ts', { type: 'module' });
      const { env } = await window.api.connect<Record<string, object>>(start, {
        directory: 'two engines',
      });
      const asking = await import(`/e2e/workerd/differential/${module}`);
      return JSON.stringify(await asking[ask](env[className]));
    }, asked);
    const there = await askInWorkerd(asked);
    const answers = cutTo(there, JSON.parse(here));
    const differences = asked.className === 'Words' && browserName === 'firefox' ? IN_FIREFOX : {};
    // Questions that versions of workerd answer differently are listed: there our own answer stands.
    const listed = Object.entries(answers).filter(([question]) => differs(question));
    expect(answers).toEqual({ ...there, ...differences, ...Object.fromEntries(listed) });
  });
}

test('[ENTRY2] a page gets of entry points what workerd gives', { tag: LONG }, async ({
  storagePage,
}) => {
  const here = await storagePage.evaluate(async () => {
    const start = () => new Worker('/e2e/workerd/differential/worker.ts', { type: 'module' });
    const { worker } = await window.api.connect<object>(start, { directory: 'entries' });
    const { entriesAll } = await import('/e2e/workerd/differential/entries.ts' as string);
    return JSON.stringify(await entriesAll(worker));
  });
  expect(JSON.parse(here)).toEqual(await entriesInWorkerd());
});

/** Firefox has no body of a request that code makes: nothing is stored. */
const BUCKET_IN_FIREFOX = { 'streams of a known length': [[5, 0, 10, 2, 6, 4, 5, 2], 'el'] };

test('[BRT1] a page’s worker gets of a bucket what workerd gives', {
  tag: [LONG, RELEASE],
}, async ({ storagePage, browserName }) => {
  const here = await storagePage.evaluate(async () => {
    const start = () => new Worker('/e2e/workerd/differential/worker.ts', { type: 'module' });
    const { entrypoint } = await window.api.connect<object>(start, { directory: 'bucket' });
    return JSON.stringify(await entrypoint<{ ask(): Promise<object> }>('Bucket').ask());
  });
  const there = await askedInWorkerd(ASKED_BINDINGS.find(({ kind }) => kind === 'r2')!);
  const answers = JSON.parse(here) as Record<string, unknown>;
  const differences = browserName === 'firefox' ? BUCKET_IN_FIREFOX : {};
  const listed = Object.entries(answers).filter(([question]) => differs(`r2: ${question}`));
  expect(answers).toEqual({ ...there, ...differences, ...Object.fromEntries(listed) });
});

test('[HTML1] [HTML2] a page’s worker makes of HTML what workerd makes', {
  tag: [LONG, RELEASE],
}, async ({ storagePage }) => {
  const here = await storagePage.evaluate(async () => {
    const start = () => new Worker('/e2e/workerd/differential/worker.ts', { type: 'module' });
    const { entrypoint } = await window.api.connect<object>(start, { directory: 'html' });
    return JSON.stringify(await entrypoint<{ ask(): Promise<object> }>('Html').ask());
  });
  const there = await htmlInWorkerd();
  const answers = JSON.parse(here) as Record<string, unknown>;
  const listed = Object.entries(answers).filter(([question]) => differs(`html: ${question}`));
  expect(answers).toEqual({ ...there, ...Object.fromEntries(listed) });
});

async function htmlInWorkerd(): Promise<object> {
  const answers = await askWorkerd({
    main: `
      import { htmlRewriterAll } from './html-rewriter.ts';
      export default { fetch: async () => Response.json(await htmlRewriterAll()) };`,
    folder: join(REPOSITORY, 'e2e/workerd/differential'),
    classes: {},
    compatibilityDate: '2026-07-01',
    isSilent: true,
  });
  return answers as object;
}

async function inWorkerd(): Promise<unknown[]> {
  const answers = await askWorkerd({
    main: MAIN,
    folder: join(REPOSITORY, 'e2e/workerd/room'),
    name: 'room',
    classes: { ROOM: 'Room' },
    compatibilityDate: '2026-01-30',
    variables: { KEEP_MS: 86_400_000 },
  });
  return answers as unknown[];
}
