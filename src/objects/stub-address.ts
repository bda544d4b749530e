// Which object a stub stands for: known of every stub made in this realm, and of nothing else.

import type { WireAddress } from '../rpc/object-protocol.ts';

const addresses = new WeakMap<object, WireAddress>();

/** Undefined for anything that is no stub of an object. */
export function addressOf(stub: object): WireAddress | undefined {
  return addresses.get(stub);
}

export function setAddress(stub: object, address: WireAddress): void {
  addresses.set(stub, address);
}
