// A class of this folder that takes its bases, asked everything in Node.

import { createObjects } from '../../../worker/start/entries/node-objects.ts';

export async function askInNode(
  className: string,
  Class: new (ctx: never, env: never) => object,
  ask: (objects: unknown) => Promise<Record<string, unknown>>,
  exports: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, unknown>> {
  const { env, clock, close } = await createObjects(
    { [className]: Class },
    { compatibilityDate: '2026-07-01', exports },
  );
  try {
    return JSON.parse(JSON.stringify(await ask(env[className])));
  } finally {
    await clock.advance(0); // calls whose answers nobody reads end first
    await close();
  }
}
