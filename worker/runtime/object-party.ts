// An object as a side of calls: its code runs as its events, and what it sends waits for its writes.

import type { Party } from '../../src/objects/party.ts';
import type { WireAddress } from '../../src/rpc/object-protocol.ts';
import type { ObjectInstance } from './object-instance.ts';

export class ObjectParty implements Party {
  readonly isGated = true;
  readonly #instance: ObjectInstance;
  readonly #stub: (address: WireAddress) => object;

  constructor(instance: ObjectInstance, stub: (address: WireAddress) => object) {
    this.#instance = instance;
    this.#stub = stub;
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
    return this.#stub(address);
  }
}

/** Code of the worker that belongs to no object: nothing holds it back. */
export class WorkerParty implements Party {
  readonly isGated = false;
  readonly #stub: (address: WireAddress) => object;

  constructor(stub: (address: WireAddress) => object) {
    this.#stub = stub;
  }

  async enter<T>(task: () => T | PromiseLike<T>): Promise<T> {
    return task();
  }

  async leave<T>(start: () => Promise<T>): Promise<T> {
    return start();
  }

  async input<T>(start: () => Promise<T>): Promise<T> {
    return start();
  }

  retain(): () => void {
    return () => {};
  }

  stub(address: WireAddress): object {
    return this.#stub(address);
  }
}
