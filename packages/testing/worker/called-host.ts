// For tests: a host whose objects are called by stubs, as code beside them calls them.

import { expect } from 'vitest';
import { Namespaces } from '../../../worker/objects/calls/namespaces.ts';
import type { ClassTable } from '../../../worker/objects/instance/object-class.ts';
import { createTestHost, type TestHost } from './test-host.ts';

/** A host of the classes, and the `env` of code outside its objects; the parameter `env` is the app's. */
export async function createCalledHost<Env>(
  classes: ClassTable,
  env: object = {},
): Promise<{ readonly host: TestHost; readonly env: Env }> {
  let namespaces: Namespaces | undefined;
  const host = await createTestHost({}, classes, (instance) => namespaces!.bindings(instance));
  namespaces = new Namespaces(host.host, env);
  return { host, env: namespaces.outsideEnv as Env };
}

/** The error that the call rejects with. */
export function failure(
  call: Promise<unknown>,
): Promise<Error & { code?: string; remote?: boolean }> {
  return call.then(
    () => expect.fail('it succeeded'),
    (error) => error,
  );
}
