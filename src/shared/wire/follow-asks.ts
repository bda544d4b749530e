// Defines the requests, other than calls, that a page sends to an object which follows an object on a server.

import { checkFields, checkNumberOf, malformed } from '../contract/arguments.ts';
import type { FollowRefusal, FollowState } from '../contract/followed.ts';

export type FollowAsk =
  /** Waits for the server's answer to a call. */
  | { readonly kind: 'settled'; readonly n: number }
  /** Waits until the version of the state differs from `after`, and returns the state. */
  | { readonly kind: 'state'; readonly after: number }
  | { readonly kind: 'refusals' }
  | { readonly kind: 'dismiss' | 'retry'; readonly n: number }
  /** Removes the local copy, and returns the calls that the server has not answered. */
  | { readonly kind: 'forget' };

/** The type of the answer to each kind of request. */
export interface FollowAnswers {
  settled: FollowOutcome;
  state: VersionedFollowState;
  refusals: readonly FollowRefusal[];
  dismiss: null;
  retry: null;
  forget: readonly FollowRefusal[];
}

export type FollowOutcome =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'error'; readonly error: unknown };

export interface VersionedFollowState extends FollowState {
  readonly version: number;
}

/** Checks a request. @throws INVALID_ARGUMENT */
export function checkFollowAsk(value: unknown): FollowAsk {
  const { kind, n, after } = checkFields('ask', value);
  switch (kind) {
    case 'settled':
    case 'dismiss':
    case 'retry':
      return { kind, n: checkNumberOf('n', n) };
    case 'state':
      return { kind, after: checkNumberOf('after', after) };
    case 'refusals':
    case 'forget':
      return { kind };
    default:
      throw malformed('kind', 'settled, state, refusals, dismiss, retry or forget');
  }
}
