// A KV namespace: the same questions in workerd and here.

import { describe, expect, test } from 'vitest';
import { kv } from '../../../worker/bindings/index.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { differs } from '../versions.ts';
import { askWorkerd } from '../workerd.ts';
import { kvAll } from './kv.ts';

async function askInWorkerd(): Promise<Record<string, unknown>> {
  const answers = await askWorkerd({
    main: `
      import { kvAll } from './kv.ts';
      export default {
        fetch: async (_request, env) => Response.json(await kvAll(env.KV)),
      };`,
    folder: import.meta.dirname,
    classes: {},
    compatibilityDate: '2026-07-01',
    kvNamespaces: ['KV'],
  });
  return answers as Record<string, unknown>;
}

async function askInNode(): Promise<Record<string, unknown>> {
  const fetch = async (_request: Request, env: { KV: unknown }) =>
    Response.json(await kvAll(env.KV));
  const { worker, close } = await createObjects(
    {},
    { exports: { default: { fetch } }, bindings: { KV: kv() } },
  );
  try {
    const answer = await worker.fetch('http://here/');
    return (await answer.json()) as Record<string, unknown>;
  } finally {
    await close();
  }
}

describe('a KV namespace', async () => {
  const [there, here] = await Promise.all([askInWorkerd(), askInNode()]);
  test.for(Object.keys(there))('[BKV1] %s', (what) => {
    if (differs(`kv: ${what}`)) expect(here[what]).not.toEqual(there[what]);
    else expect(here[what]).toEqual(there[what]);
  });
});
