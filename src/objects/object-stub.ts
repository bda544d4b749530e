// The stub of an object: methods of its class as promises, `fetch`, and which object it is.
//
// It holds no connection and no state, so it outlives the worker, and two stubs of one object are
// the same to use. It is not thenable: an async function may return it.

import type { DurableObjectId, ObjectAddress } from '../contract/object-id.ts';
import type { WireAddress } from '../rpc/object-protocol.ts';
import { refuseToClone } from '../serializer/object-kind.ts';
import { setAddress } from './known-stubs.ts';
import { isRemote, remoteMember } from './rpc-promise.ts';
import { toWireAddress } from './wire-address.ts';

/** How calls reach objects. */
export interface ObjectCaller {
  call(address: WireAddress, name: string, parameters: unknown[]): Promise<unknown>;
  get(address: WireAddress, name: string): Promise<unknown>;
  fetch(
    address: WireAddress,
    input: Request | string | URL,
    init: RequestInit | undefined,
  ): Promise<Response>;
}

class DurableObjectStub {
  readonly id: DurableObjectId;
  readonly name: string | undefined;
  readonly #fetch: ObjectCaller['fetch'];
  readonly #address: WireAddress;

  constructor(id: DurableObjectId, address: WireAddress, caller: ObjectCaller) {
    this.id = id;
    this.name = id.name;
    this.#address = address;
    this.#fetch = (...request) => caller.fetch(...request);
    // Bound, because they are called on the proxy.
    Object.defineProperty(this, 'fetch', { value: this.fetch.bind(this) });
  }

  get [Symbol.toStringTag](): string {
    return 'DurableObject';
  }

  async fetch(input: Request | string | URL, init?: RequestInit): Promise<Response> {
    return this.#fetch(this.#address, input, init);
  }
}

refuseToClone(DurableObjectStub);

export function createStub(object: ObjectAddress, caller: ObjectCaller): DurableObjectStub {
  const address = toWireAddress(object);
  const stub = new Proxy(new DurableObjectStub(object.id, address, caller), {
    get(target, name) {
      if (name in target || !isRemote(name)) return Reflect.get(target, name);
      return remoteMember({
        get: () => caller.get(address, name),
        call: (parameters) => caller.call(address, name, parameters),
      });
    },
  });
  setAddress(stub, address);
  return stub;
}
