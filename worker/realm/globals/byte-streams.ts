// Defines `IdentityTransformStream` and `FixedLengthStream`, which workerd adds to the standard streams.

import { replaceGlobal, undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { noteLength } from '../../../src/shared/contract/stream-length.ts';
import { ByteChannel } from './byte-channel.ts';

/** Adds the classes to the scope, and `readAtLeast` to BYOB readers. Call the result to remove them. */
export function installByteStreams(scope: Scope): () => void {
  const classes = { IdentityTransformStream, FixedLengthStream };
  const undo = Object.entries(classes).map(([name, value]) => replaceGlobal(scope, name, value));
  const { ReadableStreamBYOBReader: Reader } = scope;
  if (Reader !== undefined) undo.push(replaceGlobal(Reader.prototype, 'readAtLeast', readAtLeast));
  return () => undoAll(undo);
}

/** The members of the global scope that this file uses. WebKit may lack byte streams and their reader. */
type Scope = Partial<Pick<typeof globalThis, 'ReadableStreamBYOBReader'>>;

/** Implements workerd's `readAtLeast` by repeated reads, because older engines ignore the option `min` of `read`. */
async function readAtLeast(
  this: ReadableStreamBYOBReader,
  byteCount: number,
  view: Uint8Array<ArrayBuffer>,
): Promise<ReadableStreamReadResult<Uint8Array<ArrayBuffer>>> {
  if (!(byteCount > 0)) {
    throw new TypeError(`Requested invalid minimum number of bytes to read (${byteCount}).`);
  }
  const { byteOffset, byteLength } = view;
  if (byteCount > byteLength) {
    throw new TypeError(
      `Minimum bytes to read (${byteCount}) exceeds size of buffer (${byteLength}).`,
    );
  }
  let buffer = view.buffer;
  let filled = 0;
  while (filled < byteCount) {
    const rest = new Uint8Array(buffer, byteOffset + filled, byteLength - filled);
    const { done, value } = await this.read(rest);
    if (value === undefined) return { done: true, value }; // The stream was cancelled.
    buffer = value.buffer;
    filled += value.byteLength;
    if (done) break;
  }
  return { done: filled === 0, value: new Uint8Array(buffer, byteOffset, filled) } as never;
}

/** The key under which a FixedLengthStream passes its length to the base class. User code cannot get this symbol. */
const EXPECTED_BYTES = Symbol();

interface IdentityOptions {
  /** The number of unread bytes at which the writer's `desiredSize` becomes 0. */
  readonly highWaterMark?: number;
  readonly [EXPECTED_BYTES]?: number;
}

class IdentityTransformStream extends TransformStream<Uint8Array, Uint8Array> {
  readonly #channel: ByteChannel;

  constructor({ highWaterMark, [EXPECTED_BYTES]: expected }: IdentityOptions = {}) {
    super(); // the streams of the base class stay unused
    this.#channel = new ByteChannel(highWaterMark, expected);
  }

  override get readable(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#channel.readable;
  }

  override get writable(): WritableStream {
    return this.#channel.writable;
  }

  get [Symbol.toStringTag](): string {
    return 'IdentityTransformStream';
  }
}

class FixedLengthStream extends IdentityTransformStream {
  constructor(...[length, options]: [length?: unknown, options?: IdentityOptions]) {
    const expected = byteCountOf(length);
    super({ ...options, [EXPECTED_BYTES]: expected });
    noteLength(this.readable, expected);
  }

  override get [Symbol.toStringTag](): string {
    return 'FixedLengthStream';
  }
}

/** Returns a count of bytes. @throws TypeError for a value that is not a count */
function byteCountOf(given: unknown): number {
  if (given === undefined) throw constructorError('takes the number of bytes');
  const count = typeof given === 'bigint' ? Number(given) : Math.trunc(Number(given));
  if (!Number.isFinite(count)) throw constructorError(`takes an integer, not ${String(given)}`);
  if (count < 0) throw constructorError(`takes a positive number of bytes, not ${given}`);
  if (!Number.isSafeInteger(count)) {
    throw new TypeError('FixedLengthStream requires an integer expected length less than 2^53.');
  }
  return count;
}

function constructorError(fact: string): TypeError {
  return new TypeError(`Failed to construct 'FixedLengthStream': ${fact}.`);
}
