// Tests the reading of members of `env` that do not exist yet. This is recorded only before the first host of a process,
// so each test loads the modules anew.

import { expect, test, vi } from 'vitest';

test.beforeEach(() => vi.resetModules());

/** Loads the library as if in a new process, which has started no host. */
const library = () => import('../../start/entries/node-objects.ts');

test('[NODE15] a member that code read before a host had it fails the start, by its name', async () => {
  const { createObjects, DurableObject, env, provideEnv } = await library();
  provideEnv({ GIVEN: 1 });
  expect([env.GIVEN, env.OPTIONAL, env.Box]).toEqual([1, undefined, undefined]);
  class Box extends DurableObject {}
  await expect(createObjects({ Box })).rejects.toMatchObject({
    code: 'CLASS_INVALID',
    message: expect.stringMatching(
      /^env\.Box was read while modules were evaluated.* provideEnv\(\)/,
    ),
  });
});

test('[NODE15] a member that no host has can be read early, and any member looked for', async () => {
  const { createObjects, DurableObject, env } = await library();
  expect([env.OPTIONAL, 'Box' in env, Object.keys(env)]).toEqual([undefined, false, []]);
  class Box extends DurableObject {
    has(): boolean {
      return 'Box' in env;
    }
  }
  const { env: outside, close } = await createObjects({ Box });
  expect(await outside.Box.getByName('a').has()).toBe(true);
  await close();
});

test('[NODE15] after the first host has run, code may ask for a member that the next one has', async () => {
  const { createObjects, DurableObject, env } = await library();
  class Box extends DurableObject {}
  await (await createObjects({})).close();
  expect(env.Box).toBeUndefined();
  await (await createObjects({ Box })).close();
});
