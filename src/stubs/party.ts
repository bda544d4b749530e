// Whose code stands on a side of a call: a page's, an object's, or a worker's own. What crosses to
// the other side goes through its I/O, and the stubs that it is given carry its calls.

import { runOutside } from '../io/current-context.ts';
import type { IoContext } from '../io/io-context.ts';
import type { WireAddress } from '../rpc/object-protocol.ts';
import { createStub, type ObjectCaller } from './stub.ts';
import { fromWireAddress } from './wire-address.ts';

/** How calls enter and leave a side: by the context of an object, or freely. */
export type PartyIo = Pick<IoContext, 'entrance' | 'send' | 'receive' | 'retain' | 'onEnd'>;

/** Code that belongs to no object: it runs whenever it is called, and nothing holds its calls back. */
export const FREE: PartyIo = {
  entrance: () => enterFreely,
  send: async (start) => start(),
  receive: (start) => start(),
  retain: () => () => {},
  onEnd: () => () => {},
};

/** Code that calls what is its own through a stub: it goes on as whoever calls. */
export const OWN: PartyIo = { ...FREE, entrance: () => async (task) => task() };

function enterFreely<T>(task: () => T | PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // What calls it may be a task of an object.
    runOutside(() => {
      try {
        resolve(task());
      } catch (error) {
        reject(error);
      }
    });
  });
}

export class Party {
  readonly io: PartyIo;
  readonly #caller: () => ObjectCaller;

  /** `caller` carries the calls of stubs that this side's code is given. */
  constructor(io: PartyIo, caller: () => ObjectCaller) {
    this.io = io;
    this.#caller = caller;
  }

  /** True when bodies must be read through `io.receive`. */
  get isGated(): boolean {
    return this.io !== FREE && this.io !== OWN;
  }

  /** The stub of an object, for this side's code. */
  stub(address: WireAddress): object {
    return createStub(fromWireAddress(address), this.#caller());
  }
}
