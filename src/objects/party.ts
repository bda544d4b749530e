// Whose code stands on this side of a call: a page's, or an object's.
//
// A page's code runs whenever it is called. An object's runs only as events of the object, and what
// it sends waits for what it wrote; so everything that crosses here goes through these members.

import type { WireAddress } from '../rpc/object-protocol.ts';

export interface Party {
  /** Runs what the other side asks for, as an event of this one; settles as it does. */
  enter<T>(task: () => T | PromiseLike<T>): Promise<T>;
  /** Starts what this side's code asks of the other; the result arrives as its I/O does. */
  leave<T>(start: () => Promise<T>): Promise<T>;
  /** As `leave`, for what sends nothing: reading a body that is arriving. */
  input<T>(start: () => Promise<T>): Promise<T>;
  /** Keeps this side's memory until the result is called: the other side may still call. */
  retain(): () => void;
  /** The stub of an object, for this side's code. */
  stub(address: WireAddress): object;
  /** True when bodies must be read through `input`. */
  readonly isGated: boolean;
}
