// Addresses of objects as data, and back.

import type { NamedObject } from '../contract/connection-status.ts';
import { DurableObjectId, type ObjectAddress } from '../contract/object-id.ts';
import { checkAddress } from '../rpc/check-objects.ts';
import type { WireAddress } from '../rpc/object-protocol.ts';

export function toWireAddress({ className, id }: ObjectAddress): WireAddress {
  const { name, jurisdiction } = id;
  return {
    className,
    id: id.toString(),
    ...(name !== undefined && { name }),
    ...(jurisdiction !== undefined && { jurisdiction }),
  };
}

/** @throws INVALID_ARGUMENT */
export function fromWireAddress(address: WireAddress): ObjectAddress {
  // The address may come from a payload, whose content is not checked before.
  const { className, id, name, jurisdiction } = checkAddress(address);
  return { className, id: new DurableObjectId(id, name, jurisdiction) };
}

/** What users are told of an object. */
export function namedObject(address: WireAddress): NamedObject {
  const { className, id } = fromWireAddress(address);
  return { className, id };
}
