// Rate limits: the same questions in workerd and here.

import { describe, expect, test } from 'vitest';
import { rateLimit } from '../../../worker/bindings/index.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { askWorkerd } from '../workerd.ts';
import { RATE_LIMITS, rateLimitsAll } from './rate-limits.ts';

async function askInWorkerd(): Promise<Record<string, unknown>> {
  const answers = await askWorkerd({
    main: `
      import { rateLimitsAll } from './rate-limits.ts';
      export default {
        fetch: async (_request, env) => Response.json(await rateLimitsAll(env)),
      };`,
    folder: import.meta.dirname,
    classes: {},
    compatibilityDate: '2026-07-01',
    rateLimits: RATE_LIMITS,
  });
  return answers as Record<string, unknown>;
}

async function askInNode(): Promise<Record<string, unknown>> {
  const fetch = async (_request: Request, env: object) => Response.json(await rateLimitsAll(env));
  const bindings = Object.fromEntries(
    Object.entries(RATE_LIMITS).map(([name, options]) => [name, rateLimit(options)]),
  );
  const { worker, close } = await createObjects({}, { exports: { default: { fetch } }, bindings });
  try {
    return (await (await worker.fetch('http://here/')).json()) as Record<string, unknown>;
  } finally {
    await close();
  }
}

describe('rate limits', async () => {
  const [there, here] = await Promise.all([askInWorkerd(), askInNode()]);
  test.for(Object.keys(there))('[BRL1] %s', (what) => {
    expect(here[what]).toEqual(there[what]);
  });
});
