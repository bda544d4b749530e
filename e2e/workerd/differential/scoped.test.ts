// Events that a service sends, and `env` for the length of a call: the same questions in workerd and here.

import { describe, expect, test } from 'vitest';
import * as library from '../../../worker/start/entries/node-objects.ts';
import { startInWorkerd } from '../workerd.ts';
import { SERVICES, scopedAll, scopedOf } from './scoped.ts';

const COMPATIBILITY = {
  compatibilityDate: '2026-07-01',
  compatibilityFlags: ['service_binding_extra_handlers'],
};

async function askInWorkerd(): Promise<Record<string, unknown>> {
  const miniflare = await startInWorkerd({
    ...COMPATIBILITY,
    name: 'main',
    main: `
      import * as library from 'cloudflare:workers';
      import { scopedOf } from './scoped.ts';
      export default scopedOf(library);`,
    folder: import.meta.dirname,
    classes: {},
    variables: { A: 1 },
    isSilent: true,
    services: SERVICES,
  });
  try {
    return await scopedAll(await miniflare.getWorker('main'));
  } finally {
    await miniflare.dispose();
  }
}

async function askInNode(): Promise<Record<string, unknown>> {
  const { worker, close } = await library.createObjects(
    {},
    {
      ...COMPATIBILITY,
      scriptName: 'main',
      env: { A: 1 },
      exports: { default: scopedOf(library) },
      services: SERVICES,
    },
  );
  try {
    return await scopedAll(worker);
  } finally {
    await close();
  }
}

describe('events of services, and env for a call', async () => {
  const there = await askInWorkerd();
  const here = await askInNode();
  test.for(Object.keys(there))('[ENTRY9] %s', (what) => {
    expect(here[what]).toEqual(there[what]);
  });
});
