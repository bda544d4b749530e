// An object as a side of calls: its code runs as its events, and what it sends waits for its writes.

import { createStub, type ObjectCaller } from '../../src/objects/object-stub.ts';
import type { Party } from '../../src/objects/party.ts';
import { fromWireAddress } from '../../src/objects/wire-address.ts';
import type { WireAddress } from '../../src/rpc/object-protocol.ts';
import type { ObjectInstance } from './object-instance.ts';

export class ObjectParty implements Party {
  readonly isGated = true;
  readonly #instance: ObjectInstance;
  readonly #caller: () => ObjectCaller;

  /** `caller` carries the calls of stubs that the object is given. */
  constructor(instance: ObjectInstance, caller: () => ObjectCaller) {
    this.#instance = instance;
    this.#caller = caller;
  }

  enter<T>(task: () => T | PromiseLike<T>): Promise<T> {
    return this.#instance.deliver(() => task());
  }

  leave<T>(start: () => Promise<T>): Promise<T> {
    return this.#instance.io(start);
  }

  input<T>(start: () => Promise<T>): Promise<T> {
    return this.#instance.input(start);
  }

  retain(): () => void {
    return this.#instance.retain();
  }

  stub(address: WireAddress): object {
    return createStub(fromWireAddress(address), this.#caller());
  }
}
