// A class whose instances are passed by reference: the other side gets a stub that calls methods.

declare const RPC_TARGET: unique symbol;

/**
 * Base of targets that a call passes by reference: its prototype's methods and getters can be called
 * from the other side, its own properties cannot.
 */
export class RpcTarget {
  /** For types only: tells a target from an object that happens to have the same methods. */
  declare readonly [RPC_TARGET]: never;
}
