// Which values are stubs: every one made in this realm is known here, and nothing else is.

import type { WireAddress } from '../rpc/object-protocol.ts';

const addresses = new WeakMap<object, WireAddress>();
const rpcStubs = new WeakSet<object>();

/** The object a stub stands for; undefined for anything that is no stub of an object. */
export function addressOf(stub: object): WireAddress | undefined {
  return addresses.get(stub);
}

export function setAddress(stub: object, address: WireAddress): void {
  addresses.set(stub, address);
}

/** True for the stub of a function or RpcTarget. */
export function isRpcStub(value: object): boolean {
  return rpcStubs.has(value);
}

export function addRpcStub(stub: object): void {
  rpcStubs.add(stub);
}
