// A class of this folder that takes its bases, asked everything in Node.

import { createObjects } from '../../../worker/start/entries/node-objects.ts';

/** Timers are as Node's. */
const FLAGS = ['enable_nodejs_global_timers'];

export async function askInNode(
  className: string,
  Class: new (ctx: never, env: never) => object,
  ask: (objects: unknown) => Promise<Record<string, unknown>>,
  exports: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, unknown>> {
  const { env, clock, close } = await createObjects(
    { [className]: Class },
    { compatibilityDate: '2026-07-01', compatibilityFlags: FLAGS, exports },
  );
  try {
    return JSON.parse(JSON.stringify(await ask(env[className])));
  } finally {
    await clock.advance(0); // calls whose answers nobody reads end first
    await close();
  }
}

/** Asks from an event of a Worker's default entry point, whose stubs differ from those of a program. */
export async function askByWorker(
  className: string,
  Class: new (ctx: never, env: never) => object,
  ask: (objects: unknown) => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const worker = {
    fetch: async (_request: Request, env: Record<string, unknown>) =>
      Response.json(await ask(env[className])),
  };
  const { worker: entry, close } = await createObjects(
    { [className]: Class },
    { compatibilityDate: '2026-07-01', exports: { default: worker } },
  );
  try {
    return (await (await entry.fetch('http://worker/')).json()) as Record<string, unknown>;
  } finally {
    await close();
  }
}
