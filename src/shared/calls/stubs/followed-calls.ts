// Marks stubs of objects that follow an object on a server, and the promises of their calls. `ctx-storage/follow` reads
// these marks.
//
// The marks are global symbols, because one build of this package may make the stub, and another one may read it.

import type { WireAddress } from '../../wire/address.ts';
import type { FollowAnswers, FollowAsk } from '../../wire/follow-asks.ts';

/** Asks an object that follows another object. @throws the object's error, and errors of a call */
export type AskFollowed = <A extends FollowAsk>(
  address: WireAddress,
  ask: A,
) => Promise<FollowAnswers[A['kind']]>;

export interface FollowedStub {
  readonly address: WireAddress;
  /** Asks the object of the stub; undefined if code in an object holds the stub. */
  readonly ask: AskFollowed | undefined;
}

/** A call of such a stub. */
export interface CallNote extends FollowedStub {
  /** The call's number in the queue, known once the call was answered; undefined if the call changed nothing. */
  n: number | undefined;
}

const STUB: unique symbol = Symbol.for('ctx-storage.followed') as never;
/** Marks the promise of a call. The mark can also be read through the proxy that programs get. */
const NOTE: unique symbol = Symbol.for('ctx-storage.followed-call') as never;

/** Reads the mark of a stub; undefined for any other value. */
export function followedStub(stub: object): FollowedStub | undefined {
  return (stub as { readonly [STUB]?: FollowedStub })[STUB];
}

export function setFollowed(stub: object, followed: FollowedStub): void {
  Object.defineProperty(stub, STUB, { value: followed });
}

/** Reads the mark of a call's promise; undefined for any other value. */
export function noteOf(call: object): CallNote | undefined {
  return (call as { readonly [NOTE]?: CallNote })[NOTE];
}

export function withNote<T>(call: Promise<T>, note: CallNote): Promise<T> {
  Object.defineProperty(call, NOTE, { value: note });
  return call;
}
