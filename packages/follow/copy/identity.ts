// The identities of the people who use a device one after the other: each has a copy of an object and a queue of their own.
//
// Invariants:
//   a file's name has the digest of an identity, never the identity. Identities are encoded without loss, so different
//   identities have different digests. If two digests are equal nevertheless, the second identity cannot open the queue
//   (queue.ts)
//   calls of different identities have different numbers for the app, so that no promise gets the answer to another's call

import { encodeText } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

/** The greatest length of an identity, in UTF-16 units. `authorize` on the server has the same limit. */
const UNITS_MAX = 256;
/** The app's numbers of calls are safe integers, divided into this many ranges. */
const RANGES = 2 ** 26;
const NUMBERS_IN_RANGE = 2 ** 26;

export interface Identity {
  readonly text: string;
  /** The digest of the identity, which is a part of its files' names. */
  readonly digest: string;
  /** The app's number of the first call is one more than this. */
  readonly numberOffset: number;
}

/** @throws INVALID_ARGUMENT for anything but a text of 1 to 256 UTF-16 units */
export function identityOf(given: unknown): Identity {
  if (typeof given !== 'string' || given.length === 0 || given.length > UNITS_MAX) {
    throw storageError(
      'INVALID_ARGUMENT',
      `follow: the option identity is, or returns, a text of 1 to ${UNITS_MAX} UTF-16 units.`,
    );
  }
  const bytes = sha256(encodeText(given));
  // The range 0 is for copies without an identity.
  const range = 1 + (new DataView(bytes.buffer, bytes.byteOffset).getUint32(0) % (RANGES - 1));
  return { text: given, digest: bytesToHex(bytes), numberOffset: range * NUMBERS_IN_RANGE };
}

/** True if the number, as the app sees it, may belong to a call of the identity. */
export function isNumberOf({ numberOffset }: Identity, n: number): boolean {
  return Math.floor(n / NUMBERS_IN_RANGE) * NUMBERS_IN_RANGE === numberOffset;
}

/** Makes the error of operations that were begun for an identity which another identity has replaced. */
export function identityChanged(): Error {
  return storageError(
    'FOLLOW_STOPPED',
    'Another identity uses the object now. The call is kept, and is sent when its identity is given again.',
  );
}
