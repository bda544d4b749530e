// Defines the base class of values that calls pass by reference: the other side gets a stub that calls their methods.

declare const RPC_TARGET: unique symbol;

/**
 * The base class of values that a call passes by reference. The other side can call methods and getters of the prototype,
 * but cannot reach own properties.
 */
export class RpcTarget {
  /** Exists for types only. It distinguishes a target from an object that happens to have the same methods. */
  declare readonly [RPC_TARGET]: never;
}
