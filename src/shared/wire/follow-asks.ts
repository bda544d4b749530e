// What a page asks of an object that follows another one, besides its calls.

import { checkFields, checkNumberOf, malformed } from '../contract/arguments.ts';
import type { FollowRefusal, FollowState } from '../contract/followed.ts';

export type FollowAsk =
  /** The server's answer to a call; waits for it. */
  | { readonly kind: 'settled'; readonly n: number }
  /** The state; waits until it is another than that with this version. */
  | { readonly kind: 'state'; readonly after: number }
  | { readonly kind: 'refusals' }
  | { readonly kind: 'dismiss' | 'retry'; readonly n: number }
  /** Removes the copy, and says what was pending. */
  | { readonly kind: 'forget' };

/** The answer to each. */
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

/** @throws INVALID_ARGUMENT */
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
