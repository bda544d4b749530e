// The stub of an object: the methods of its class as promises, `fetch`, and which object it calls.
//
// A stub holds no connection, so it outlives the worker. It remembers only the instance that it reached
// first (`bond.ts`). It has no `then`, so an async function may return it.

import type { DurableObjectId, ObjectAddress } from '../contract/object-id.ts';
import type { Enter } from '../io/io-context.ts';
import type { WireAddress } from '../rpc/object-protocol.ts';
import { refuseToClone } from '../serializer/object-kind.ts';
import { Bond } from './bond.ts';
import { Breakage } from './breakage.ts';
import type { Path } from './invoke.ts';
import { type CallLive, setAddress, setLiveCalls } from './known-stubs.ts';
import { isRemote, type Remote, remoteMember } from './rpc-promise.ts';
import { toWireAddress } from './wire-address.ts';

/** What a stub calls. */
export interface Callee {
  readonly address: WireAddress;
  readonly bond: Bond;
}

/** How calls reach objects. */
export interface ObjectCaller {
  /** Absent for the code of objects. */
  readonly live?: ((address: WireAddress) => CallLive) | undefined;
  call(to: Callee, path: Path, parameters: unknown[]): Promise<unknown>;
  get(to: Callee, path: Path): Promise<unknown>;
  fetch(
    to: Callee,
    input: Request | string | URL,
    init: RequestInit | undefined,
  ): Promise<Response>;
  /** Resolves to the reason when the instance that the stub reaches ends, or the way to it. */
  watch(to: Callee): Promise<unknown>;
  /** Captures how callbacks of the running code are called. */
  entrance(): Enter;
}

class DurableObjectStub {
  readonly id: DurableObjectId;
  readonly name: string | undefined;
  readonly #fetch: ObjectCaller['fetch'];
  readonly #callee: Callee;

  constructor(id: DurableObjectId, callee: Callee, caller: ObjectCaller) {
    this.id = id;
    this.name = id.name;
    this.#callee = callee;
    this.#fetch = (...request) => caller.fetch(...request);
    // Bound, because it is called on the proxy.
    Object.defineProperty(this, 'fetch', { value: this.fetch.bind(this) });
  }

  get [Symbol.toStringTag](): string {
    return 'DurableObject';
  }

  async fetch(input: Request | string | URL, init?: RequestInit): Promise<Response> {
    return this.#fetch(this.#callee, input, init);
  }
}

// As workerd names it.
Object.defineProperty(DurableObjectStub, 'name', { value: 'DurableObject' });
refuseToClone(DurableObjectStub);

export function createStub(object: ObjectAddress, caller: ObjectCaller): DurableObjectStub {
  const address = toWireAddress(object);
  const callee = { address, bond: new Bond() };
  const remote: Remote = {
    get: (path) => caller.get(callee, path),
    call: (path, parameters) => caller.call(callee, path, parameters),
  };
  const breakage = new Breakage(() => caller.watch(callee));
  const onRpcBroken = (callback: unknown) => breakage.onBroken(callback, caller.entrance());
  const stub = new Proxy(new DurableObjectStub(object.id, callee, caller), {
    get(target, name) {
      if (name === 'onRpcBroken') return onRpcBroken;
      if (name in target || !isRemote(name)) return Reflect.get(target, name);
      return remoteMember(remote, [name]);
    },
  });
  setAddress(stub, address);
  if (caller.live !== undefined) setLiveCalls(stub, caller.live(address));
  return stub;
}
