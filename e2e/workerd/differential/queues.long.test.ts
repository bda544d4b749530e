// Queues: the same questions in workerd and here.

import { describe, expect, test } from 'vitest';
import { queue } from '../../../packages/workers/bindings/index.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { differs } from '../versions.ts';
import { consume, QUEUES, queuesAll } from './queues.ts';
import { queuesInWorkerd } from './queues-in-workerd.ts';

async function queuesInNode(): Promise<Record<string, unknown>> {
  const fetch = async (_request: Request, env: object) => Response.json(await queuesAll(env));
  const bindings = Object.fromEntries(
    Object.entries(QUEUES).map(([binding, { consumer, ...options }]) => [
      binding,
      queue({ ...options, ...(consumer && { consumer }) }),
    ]),
  );
  const { worker, close } = await createObjects(
    {},
    { exports: { default: { fetch, queue: consume } }, bindings },
  );
  try {
    return (await (await worker.fetch('http://here/')).json()) as Record<string, unknown>;
  } finally {
    await close();
  }
}

describe('queues', async () => {
  const [there, here] = await Promise.all([queuesInWorkerd(), queuesInNode()]);
  test.for(Object.keys(there))('[BQU1] %s', (what) => {
    if (differs(`queues: ${what}`)) expect(here[what]).not.toEqual(there[what]);
    else expect(here[what]).toEqual(there[what]);
  });
});
