// An R2 bucket: the same questions in workerd and here.

import { describe, expect, test } from 'vitest';
import { r2 } from '../../../worker/bindings/index.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { differs } from '../versions.ts';
import { ASKS } from './r2.ts';
import { answersOf } from './r2-answers.ts';
import { bucketInWorkerd } from './r2-in-workerd.ts';
import { FURTHER_ASKS } from './r2-more.ts';

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
  const [there, here] = await Promise.all([bucketInWorkerd(), askInNode()]);
  test.for(Object.keys(there))('[BRT1] %s', (what) => {
    if (differs(`r2: ${what}`)) expect(here[what]).not.toEqual(there[what]);
    else expect(here[what]).toEqual(there[what]);
  });
});
