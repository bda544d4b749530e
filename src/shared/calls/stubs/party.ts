// One side of a call: the code of a page, of an object, or of a worker. Values that cross to the other
// side go through the I/O of the party, and stubs that arrive carry the calls of its code.

import type { CallAddress } from '../../wire/address.ts';
import { checkCallAddress } from '../../wire/address.ts';
import { runOutside } from '../io/current-context.ts';
import type { IoContext } from '../io/io-context.ts';
import type { Reach } from './bond.ts';
import { serviceStub } from './service-stub.ts';
import { type ObjectCaller, receivedStub } from './stub.ts';
import { fromWireAddress } from './wire-address.ts';

/** How calls enter and leave a party: through the context of an object, or freely. */
export type PartyIo = Pick<
  IoContext,
  'entrance' | 'send' | 'receive' | 'retain' | 'onEnd' | 'checkSends' | 'endsWithEvent'
> & {
  /** Of a call that is made now. Absent: the stubs of this code break with the instances of their objects. */
  reach?(): Reach;
};

const ANY: Reach = {};

/** Code that belongs to no object: it runs whenever it is called, and nothing delays its calls. */
export const FREE: PartyIo = {
  entrance: () => enterFreely,
  send: async (start) => start(),
  receive: (start) => start(),
  retain: () => () => {},
  onEnd: () => () => {},
  reach: () => ANY,
};

/** Code that is called through a stub of its own: it runs as part of the caller. */
export const OWN: PartyIo = { ...FREE, entrance: () => async (task) => task() };

function enterFreely<T>(task: () => T | PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // The caller may be a task of an object.
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

  /** `caller` carries the calls of stubs that arrive at this party. */
  constructor(io: PartyIo, caller: () => ObjectCaller) {
    this.io = io;
    this.#caller = caller;
  }

  /** The gate through which bodies are read; undefined if nothing delays this party's code. */
  get gate(): PartyIo | undefined {
    return this.io === FREE || this.io === OWN ? undefined : this.io;
  }

  /** The stub of an object or entry point, for this party's code. @throws INVALID_ARGUMENT */
  stub(given: CallAddress): object {
    // It may come from a payload, whose content is not checked before.
    const address = checkCallAddress(given);
    return 'entry' in address
      ? serviceStub(address, this.#caller())
      : receivedStub(fromWireAddress(address), this.#caller());
  }
}
