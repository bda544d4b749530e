// Calls of live methods, for stubs that `live()` is given: a value that is read again after every commit.

import { storageError } from '../contract/errors.ts';
import type { WireAddress } from '../rpc/object-protocol.ts';
import { deserialize } from '../serializer/decode.ts';
import { serialize } from '../serializer/encode.ts';
import type { Path } from '../stubs/invoke.ts';
import type { CallLive } from '../stubs/known-stubs.ts';
import { LiveOwner, liveIdentity } from './live-identity.ts';
import { LiveValue } from './live-value.ts';
import { type LivePeers, polledSource } from './polled-source.ts';

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
