// Entry points and service bindings: the same questions in workerd and here.

import { describe, expect, test } from 'vitest';
import {
  createObjects,
  DurableObject,
  RpcTarget,
  WorkerEntrypoint,
} from '../../../worker/start/entries/node-objects.ts';
import { entriesAll, OTHER_ENV, otherOf, SERVICES, workerOf } from './entries.ts';
import { COMPATIBILITY_DATE, entriesInWorkerd } from './entries-in-workerd.ts';

const bases = { DurableObject, RpcTarget, WorkerEntrypoint } as never;

async function askInNode(): Promise<Record<string, unknown>> {
  const { Lobby, ...entries } = workerOf(bases);
  const { worker, close } = await createObjects(
    { Lobby },
    {
      scriptName: 'main',
      compatibilityDate: COMPATIBILITY_DATE,
      exports: { Lobby, ...entries },
      services: SERVICES,
      workers: { other: { exports: otherOf(bases), env: OTHER_ENV } },
    },
  );
  try {
    return JSON.parse(JSON.stringify(await entriesAll(worker)));
  } finally {
    await close();
  }
}

describe('entry points', async () => {
  const there = await entriesInWorkerd();
  const here = await askInNode();
  test.for(Object.keys(there))('[ENTRY1] %s', (what) => {
    expect(here[what]).toEqual(there[what]);
  });
});
