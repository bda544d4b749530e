// Converts addresses of objects to plain data, and back.

import type { NamedObject } from '../../contract/connection-status.ts';
import { DurableObjectId, type ObjectAddress } from '../../contract/object-id.ts';
import type { WireAddress } from '../../wire/address.ts';
import { checkAddress } from '../../wire/address.ts';

export function toWireAddress({ className, id, branch }: ObjectAddress): WireAddress {
  const { name, jurisdiction } = id;
  return {
    className,
    id: id.toString(),
    ...(name !== undefined && { name }),
    ...(jurisdiction !== undefined && { jurisdiction }),
    ...(branch !== undefined && { branch }),
  };
}

/** Returns the address of an object from its plain data. @throws INVALID_ARGUMENT */
export function fromWireAddress(address: WireAddress): ObjectAddress {
  // The address may come from a payload, whose content has not been checked yet.
  const { className, id, name, jurisdiction, branch } = checkAddress(address);
  return {
    className,
    id: new DurableObjectId(id, name, jurisdiction),
    ...(branch !== undefined && { branch }),
  };
}

/** Describes an object to users: its class name and id. */
export function namedObject(address: WireAddress): NamedObject {
  const { className, id } = fromWireAddress(address);
  return { className, id };
}
