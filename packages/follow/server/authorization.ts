// Checks what `authorize` returned: who the follower is, and until when.
//
// Invariant: an identity is well-formed text, because UTF-8 would give two identities with lone surrogates one digest.

import { storageError } from '@ctx-storage/core/errors';

/** An identity, 1 to 256 UTF-16 units, and the time at which it must be checked again; null or false for nobody. */
export type Authorized =
  | string
  | { readonly identity: string; readonly expiresAt: Date | number }
  | null
  | false;

export interface Authorization {
  readonly identity: string;
  /** The time at which the authorization ends, in milliseconds since the epoch; null if it does not end. */
  readonly expiresAtMs: number | null;
}

const IDENTITY_UNITS_MAX = 256;
/** The earliest accepted time, in 1973. An earlier one is a time in seconds, as tokens have it. */
const EXPIRY_MS_MIN = 1e11;

/** Returns the checked authorization, or null if the request is not authorized. @throws INVALID_ARGUMENT */
export function checkAuthorized(given: unknown): Authorization | null {
  if (given === null || given === false) return null;
  if (typeof given === 'string') {
    return { identity: checkIdentity('authorize()', given), expiresAtMs: null };
  }
  if (typeof given !== 'object') throw noIdentity('authorize()');
  const { identity, expiresAt, ...others } = given as { identity?: unknown; expiresAt?: unknown };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw invalid(`authorize() gave a member "${unknown}" beside identity and expiresAt.`);
  }
  return {
    identity: checkIdentity('authorize()', identity),
    expiresAtMs: checkExpiry(expiresAt),
  };
}

/** Returns the checked identity. @throws INVALID_ARGUMENT, naming the function that was given the identity */
export function checkIdentity(operation: string, given: unknown): string {
  const isText = typeof given === 'string' && given.length > 0;
  if (isText && given.length <= IDENTITY_UNITS_MAX && given.isWellFormed()) return given;
  throw noIdentity(operation);
}

function checkExpiry(given: unknown): number {
  const timeMs = given instanceof Date ? given.getTime() : given;
  if (typeof timeMs === 'number' && Number.isFinite(timeMs) && timeMs >= EXPIRY_MS_MIN) {
    return timeMs;
  }
  throw invalid(
    'authorize() gave an expiresAt that is neither a Date nor milliseconds since the epoch. Multiply seconds, as ' +
      'tokens have them, by 1,000.',
  );
}

function noIdentity(operation: string): Error {
  return invalid(
    `${operation} has neither null nor an identity: a text of 1 to ${IDENTITY_UNITS_MAX} UTF-16 units without lone surrogates.`,
  );
}

function invalid(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `followable(): ${fact}`);
}
