// Code that belongs to no object, a page's or a worker's own: nothing holds its calls back.

import type { WireAddress } from '../rpc/object-protocol.ts';
import { createStub, type ObjectCaller } from './object-stub.ts';
import type { Party } from './party.ts';
import { fromWireAddress } from './wire-address.ts';

export class FreeParty implements Party {
  readonly isGated = false;
  readonly #caller: () => ObjectCaller;

  /** `caller` carries the calls of stubs that this code is given. */
  constructor(caller: () => ObjectCaller) {
    this.#caller = caller;
  }

  async enter<T>(task: () => T | PromiseLike<T>): Promise<T> {
    return task();
  }

  leave<T>(start: () => Promise<T>): Promise<T> {
    return start();
  }

  input<T>(start: () => Promise<T>): Promise<T> {
    return start();
  }

  retain(): () => void {
    return () => {};
  }

  stub(address: WireAddress): object {
    return createStub(fromWireAddress(address), this.#caller());
  }
}
