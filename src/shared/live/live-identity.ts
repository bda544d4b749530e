// Gives live values an identity: two live values of the same owner whose reads serialize to the same bytes are equal. Also
// makes the live calls of stubs for `live()`.

import type { Path } from '../calls/stubs/invoke.ts';
import type { CallLive } from '../calls/stubs/known-stubs.ts';
import { storageError } from '../contract/errors.ts';
import type { LiveIdentity } from '../contract/live.ts';
import { deserialize } from '../values/decode.ts';
import { serialize } from '../values/encode.ts';
import type { WireAddress } from '../wire/address.ts';
import { LiveValue } from './live-value.ts';
import { type LivePeers, polledSource } from './polled-source.ts';

/**
 * Makes an identity. Users may see `owner`. `read` is plain data that describes the read and the form of its result.
 */
export function liveIdentity(owner: object, read: unknown): LiveIdentity {
  return new ReadIdentity(owner, read);
}

class ReadIdentity implements LiveIdentity {
  readonly owner: object;
  readonly #read: unknown;
  #key: string | undefined;

  constructor(owner: object, read: unknown) {
    this.owner = owner;
    this.#read = read;
  }

  /** The bytes of the read, as a string. It is computed on first use, because few programs read it. */
  get key(): string {
    this.#key ??= Array.from(serialize(this.#read), (byte) => String.fromCharCode(byte)).join('');
    return this.#key;
  }
}

/** Makes owners for identities, one per signal, because live values with different signals differ. An owner is an empty object. */
export class LiveOwner {
  readonly #own = {};
  readonly #bySignal = new WeakMap<AbortSignal, object>();

  of(signal: AbortSignal | undefined): object {
    if (signal === undefined) return this.#own;
    const known = this.#bySignal.get(signal) ?? {};
    this.#bySignal.set(signal, known);
    return known;
  }
}

/** Returns a function that makes live calls of objects, which it reads from these peers. */
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
