// Which live values are the same: those of one owner whose reads have the same bytes.

import type { LiveIdentity } from '../contract/live.ts';
import { serialize } from '../serializer/encode.ts';

/** `owner` is an object that users may see; `read` is plain data that says what is read, and what becomes of the result. */
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

  /** Made when it is asked for, because few ask. */
  get key(): string {
    this.#key ??= Array.from(serialize(this.#read), (byte) => String.fromCharCode(byte)).join('');
    return this.#key;
  }
}

/** Who gives live values: they are the same only with the same signal. Gives nothing of itself away. */
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
