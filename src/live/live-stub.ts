// Live methods: a stub whose methods give live results.

import { storageError } from '../contract/errors.ts';
import type { LiveStub } from '../contract/live.ts';
import type { WireAddress } from '../rpc/object-protocol.ts';
import { deserialize } from '../serializer/decode.ts';
import { serialize } from '../serializer/encode.ts';
import type { Path } from '../stubs/invoke.ts';
import { type CallLive, liveCallsOf } from '../stubs/known-stubs.ts';
import { isRemote } from '../stubs/rpc-promise.ts';
import { LiveOwner, liveIdentity } from './live-identity.ts';
import { LiveValue } from './live-value.ts';
import { type LivePeers, polledSource } from './polled-source.ts';

/**
 * The stub with live methods: each calls the method of the object, and gives its result again after every
 * commit that changed something the method has read.
 *
 * The method runs as a critical section of the object: it may read and must not write (LIVE_READ_ONLY), and
 * holds up other calls while it runs. Arguments and results are plain data. What the object keeps in memory
 * changes without a commit, so it changes no live result.
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

/** Makes live calls of objects that these peers serve. */
export function liveCalls(
  peers: LivePeers,
): (address: WireAddress, signal?: AbortSignal) => CallLive {
  const owner = new LiveOwner();
  return (target, signal) => (path: Path, parameters) => {
    const read = { op: 'call', path, payload: argumentBytes(path, parameters) } as const;
    const start = { target, read };
    const identity = liveIdentity(owner.of(signal), start);
    return new LiveValue(polledSource(peers, start, signal), deserialize, identity);
  };
}

function argumentBytes(path: Path, parameters: readonly unknown[]): Uint8Array {
  try {
    return serialize(parameters);
  } catch (error) {
    throw storageError(
      'INVALID_ARGUMENT',
      `live: the arguments of ${path.join('.')}() cannot be copied: ${String(error)} A live method takes ` +
        'plain data, because it is called again and again.',
      { cause: error },
    );
  }
}
