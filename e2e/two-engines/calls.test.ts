// What callers get of a stub: the same questions to one class in workerd and here.

import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { describe, expect, test } from 'vitest';
import { createObjects, DurableObject, RpcStub, RpcTarget } from '../../worker/node-objects.ts';
import { askAll, deskOf } from './desk.ts';

const MAIN = `
  import * as bases from 'cloudflare:workers';
  import { askAll, deskOf } from './desk.ts';
  export const Desk = deskOf(bases);
  export default {
    async fetch(_request, env) {
      return Response.json(await askAll(env.DESK.getByName('one')));
    },
  };`;

async function inWorkerd(): Promise<Record<string, unknown>> {
  const bundle = await build({
    bundle: true,
    write: false,
    format: 'esm',
    stdin: { contents: MAIN, resolveDir: import.meta.dirname, loader: 'ts' },
    external: ['cloudflare:workers'],
  });
  const miniflare = new Miniflare({
    modules: true,
    script: bundle.outputFiles[0]!.text,
    compatibilityDate: '2026-07-01',
    durableObjects: { DESK: { className: 'Desk', useSQLite: true } },
  });
  try {
    const response = await miniflare.dispatchFetch('http://desk/');
    return (await response.json()) as Record<string, unknown>;
  } finally {
    await miniflare.dispose();
  }
}

async function here(): Promise<Record<string, unknown>> {
  const objects = await createObjects({
    Desk: deskOf({ DurableObject, RpcStub, RpcTarget } as never),
  });
  try {
    const seen = await askAll(objects.env.Desk.getByName('one'));
    return JSON.parse(JSON.stringify(seen));
  } finally {
    await objects.close();
  }
}

describe('calls', async () => {
  const [there, answers] = await Promise.all([inWorkerd(), here()]);
  test.for(Object.keys(there))('[TWO2] %s', (what) => {
    expect(answers[what]).toEqual(there[what]);
  });
});
