// Represents one side of a call: the code of a page, an object or a worker. Values that cross to the other side pass the
// I/O gates of the party, and stubs that it receives make calls on behalf of its code.

import type { CallAddress } from '../../wire/address.ts';
import { checkCallAddress } from '../../wire/address.ts';
import { runOutside } from '../io/current-context.ts';
import type { IoContext } from '../io/io-context.ts';
import type { Reach } from './bond.ts';
import { serviceStub } from './service-stub.ts';
import { type ObjectCaller, receivedStub } from './stub.ts';
import { fromWireAddress } from './wire-address.ts';

/**
 * The functions through which calls enter and leave a party: the functions of an object's context, or functions without
 * gates.
 */
export type PartyIo = Pick<
  IoContext,
  'entrance' | 'send' | 'receive' | 'retain' | 'onEnd' | 'checkSends' | 'endsWithEvent'
> & {
  /** Returns the reach of a call that is made now. Absent if stubs of this code break when their object is reset. */
  reach?(): Reach;
};

const ANY_INSTANCE: Reach = {};

/** The I/O of code that belongs to no object: the code runs whenever it is called, and nothing delays its calls. */
export const FREE: PartyIo = {
  entrance: () => enterFreely,
  send: async (start) => start(),
  receive: (start) => start(),
  retain: () => () => {},
  onEnd: () => () => {},
  reach: () => ANY_INSTANCE,
};

/** The I/O of code that is called through a stub of its own value: the code runs as part of the caller. */
export const CALLERS_IO: PartyIo = { ...FREE, entrance: () => async (task) => task() };

function enterFreely<T>(task: () => T | PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // The caller may be a task of an object, to which this code does not belong.
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

  /** `caller` makes the calls of stubs that this party receives. */
  constructor(io: PartyIo, caller: () => ObjectCaller) {
    this.io = io;
    this.#caller = caller;
  }

  /** The gate through which bodies are read; undefined if nothing delays this party's code. */
  get gate(): PartyIo | undefined {
    return this.io === FREE || this.io === CALLERS_IO ? undefined : this.io;
  }

  /** Makes the stub of an object or entry point, for this party's code. @throws INVALID_ARGUMENT */
  stub(given: CallAddress): object {
    // The address may come from a payload, whose content has not been checked yet.
    const address = checkCallAddress(given);
    return 'entry' in address
      ? serviceStub(address, this.#caller())
      : receivedStub(fromWireAddress(address), this.#caller());
  }
}
