// The identities of the people who use a device one after the other: each has a copy of an object and a queue of their own.
//
// Invariants:
//   a file's name has the digest of an identity, never the identity. Identities are encoded without loss, so different ones
//   have different digests; should two be equal nevertheless, the second identity cannot open the queue (queue.ts)
//   calls of different identities have different numbers for the app, so that no promise gets the answer to another's call

import { encodeText } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

/** As for the identity that `authorize` returns on the server. */
const UNITS_MAX = 256;
/** The app's numbers of calls are safe integers: this many ranges, of this many numbers each. */
const RANGES = 2 ** 26;
const NUMBERS_IN_RANGE = 2 ** 26;

export interface Identity {
  readonly text: string;
  /** A part of the names of the files. */
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

/** True if the app's number may be of a call of the identity. */
export function isNumberOf({ numberOffset }: Identity, n: number): boolean {
  return Math.floor(n / NUMBERS_IN_RANGE) * NUMBERS_IN_RANGE === numberOffset;
}

/** The error of what was begun for an identity that another one has followed. */
export function identityChanged(): Error {
  return storageError(
    'FOLLOW_STOPPED',
    'Another identity uses the object now. The call is kept, and is sent when its identity is given again.',
  );
}
