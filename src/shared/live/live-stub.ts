// Implements `live()`, which makes a stub whose methods return live results.

import { liveCallsOf } from '../calls/stubs/known-stubs.ts';
import { isRemote } from '../calls/stubs/remote-name.ts';
import { storageError } from '../contract/errors.ts';
import type { LiveStub } from '../contract/live.ts';

/**
 * Returns a stub with live methods. Each calls the object's method, and calls it again after every commit that changed
 * data which the method has read.
 *
 * The method runs as a critical section of the object: it may read and must not write (LIVE_READ_ONLY), and
 * holds up other calls while it runs. Arguments and results are plain data. Data that the object keeps in
 * memory changes without a commit, so it changes no live result.
 *
 * @throws INVALID_ARGUMENT for anything but the stub of an object, made outside of objects
 */
export function live<Stub extends object>(stub: Stub): LiveStub<Stub> {
  const call = liveCallsOf(stub);
  if (call === undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      'live: takes the stub of an object, from the env of connect() or createObjects(); inside an ' +
        'object use ctx.storage.live() and ctx.storage.sql.live().',
    );
  }
  return new Proxy({} as LiveStub<Stub>, {
    get(target, name) {
      if (!isRemote(name)) return Reflect.get(target, name);
      return (...parameters: unknown[]) => call([name], parameters);
    },
  });
}
