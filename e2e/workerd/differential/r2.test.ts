// An R2 bucket: the same questions in workerd and here.

import { describe, expect, test } from 'vitest';
import { r2 } from '../../../worker/bindings/index.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { differs } from '../versions.ts';
import { askWorkerd } from '../workerd.ts';
import { ASKS } from './r2.ts';
import { answersOf } from './r2-answers.ts';
import { FURTHER_ASKS } from './r2-more.ts';

async function askInWorkerd(): Promise<Record<string, unknown>> {
  const answers = await askWorkerd({
    main: `
      import { ASKS } from './r2.ts';
      import { answersOf } from './r2-answers.ts';
      import { FURTHER_ASKS } from './r2-more.ts';
      export default {
        fetch: async (_request, { R2 }) =>
          Response.json(await answersOf(R2, { ...ASKS, ...FURTHER_ASKS })),
      };`,
    folder: import.meta.dirname,
    classes: {},
    compatibilityDate: '2026-07-01',
    r2Buckets: ['R2'],
    isSilent: true,
  });
  return answers as Record<string, unknown>;
}

async function askInNode(): Promise<Record<string, unknown>> {
  const fetch = async (_request: Request, { R2 }: { R2: unknown }) =>
    Response.json(await answersOf(R2, { ...ASKS, ...FURTHER_ASKS }));
  const { worker, close } = await createObjects(
    {},
    { exports: { default: { fetch } }, bindings: { R2: r2() } },
  );
  try {
    const answer = await worker.fetch('http://here/');
    return (await answer.json()) as Record<string, unknown>;
  } finally {
    await close();
  }
}

describe('an R2 bucket', async () => {
  const [there, here] = await Promise.all([askInWorkerd(), askInNode()]);
  test.for(Object.keys(there))('[BRT1] %s', (what) => {
    if (differs(`r2: ${what}`)) expect(here[what]).not.toEqual(there[what]);
    else expect(here[what]).toEqual(there[what]);
  });
});
