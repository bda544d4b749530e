// Addresses of objects as data, and back.

import { storageError } from '../contract/errors.ts';
import { DurableObjectId, type ObjectAddress } from '../contract/object-id.ts';
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
  const { className, id, name, jurisdiction } = address;
  // Part of the path of its files.
  if (!/^[0-9a-f]{64}$/.test(id)) {
    throw storageError('INVALID_ARGUMENT', 'An id of an object has 64 hexadecimal digits.');
  }
  return { className, id: new DurableObjectId(id, name, jurisdiction) };
}
