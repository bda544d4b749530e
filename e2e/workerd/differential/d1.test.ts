// A D1 database: the same questions in workerd and here.

import { describe, expect, test } from 'vitest';
import { d1 } from '../../../worker/bindings/index.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { differs } from '../versions.ts';
import { askWorkerd } from '../workerd.ts';
import { d1All } from './d1.ts';

async function askInWorkerd(): Promise<Record<string, unknown>> {
  const answers = await askWorkerd({
    main: `
      import { d1All } from './d1.ts';
      export default {
        fetch: async (_request, env) => Response.json(await d1All(env.DB)),
      };`,
    folder: import.meta.dirname,
    classes: {},
    compatibilityDate: '2026-07-01',
    d1Databases: ['DB'],
  });
  return answers as Record<string, unknown>;
}

async function askInNode(): Promise<Record<string, unknown>> {
  const fetch = async (_request: Request, env: { DB: unknown }) =>
    Response.json(await d1All(env.DB));
  const { worker, close } = await createObjects(
    {},
    { exports: { default: { fetch } }, bindings: { DB: d1() } },
  );
  try {
    const answer = await worker.fetch('http://here/');
    return (await answer.json()) as Record<string, unknown>;
  } finally {
    await close();
  }
}

describe('a D1 database', async () => {
  const [there, here] = await Promise.all([askInWorkerd(), askInNode()]);
  test.for(Object.keys(there))('[BDB1] %s', (what) => {
    if (differs(`d1: ${what}`)) expect(here[what]).not.toEqual(there[what]);
    else expect(here[what]).toEqual(there[what]);
  });
});
