// Stubs of objects that follow an object on a server, and their calls: what `ctx-storage/follow` asks about.
//
// Known by marks, because stubs are made in one build of this package and may be asked about in another.

import type { WireAddress } from '../../wire/address.ts';
import type { FollowAnswers, FollowAsk } from '../../wire/follow-asks.ts';

/** Asks an object that follows another one. @throws what it throws, and as a call */
export type AskFollowed = <A extends FollowAsk>(
  address: WireAddress,
  ask: A,
) => Promise<FollowAnswers[A['kind']]>;

export interface FollowedStub {
  readonly address: WireAddress;
  /** Undefined: of code in an object. */
  readonly ask: AskFollowed | undefined;
}

/** A call, from its beginning. */
export interface CallNote extends FollowedStub {
  /** Its number in the queue, from its answer on; undefined: it changed nothing. */
  n: number | undefined;
}

const STUB: unique symbol = Symbol.for('ctx-storage.followed') as never;
/** On the promise of a call, also through the proxy that programs get. */
const NOTE: unique symbol = Symbol.for('ctx-storage.followed-call') as never;

/** Undefined for any other value. */
export function followedStub(stub: object): FollowedStub | undefined {
  return (stub as { readonly [STUB]?: FollowedStub })[STUB];
}

export function setFollowed(stub: object, followed: FollowedStub): void {
  Object.defineProperty(stub, STUB, { value: followed });
}

/** Undefined for anything but the promise of a call. */
export function noteOf(call: object): CallNote | undefined {
  return (call as { readonly [NOTE]?: CallNote })[NOTE];
}

export function withNote<T>(call: Promise<T>, note: CallNote): Promise<T> {
  Object.defineProperty(call, NOTE, { value: note });
  return call;
}
