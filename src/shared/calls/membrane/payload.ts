// Serializes values for the other side: plain data is cloned, and everything else crosses as its kind describes.
//
// Invariant: a value is serialized synchronously during the call. A value that cannot be sent throws at once, and later
// changes of the value are not sent.

import { storageError } from '../../contract/errors.ts';
import type { deserializeWith } from '../../values/decode.ts';
import { serializeWith } from '../../values/encode.ts';
import type { Payload } from '../../wire/address.ts';
import type { ReferenceNumber } from '../../wire/protocol.ts';
import type { Party } from '../stubs/party.ts';
import { DISPOSE, disposeOf } from '../stubs/rpc-promise.ts';
import { callable } from './callable.ts';
import {
  type Draft,
  discardDraft,
  type Exported,
  type Ownership,
  type ReferenceChannel,
} from './channel.ts';
import { DISPOSED, Imported } from './imported.ts';
import type { Kind } from './kind.ts';
import { fixed, object, request, response, shortBody } from './messages.ts';
import { signal } from './signal.ts';
import { socket } from './socket.ts';
import { body, readable, writable } from './streams.ts';

/** All kinds, by their names in a payload. The first kind that recognizes a value is used. */
const KINDS = new Map<string, Kind>(
  Object.entries({
    fixed,
    object,
    callable,
    shortBody,
    body,
    readable,
    writable,
    signal,
    socket,
    request,
    response,
  }) as [string, Kind][],
);

/** The form in which a payload contains a thing that is not plain data. */
type Description =
  | { readonly kind: string; readonly number: ReferenceNumber }
  | { readonly kind: string; readonly parts: object };

let lastNumber = 0;

/** Serializes a value into a draft. @throws DataCloneError, and errors of the value's getters */
export function writeDraft(value: unknown, party: Party, ownership: Ownership = 'lent'): Draft {
  const exports = new Map<ReferenceNumber, Exported>();
  const describe = (thing: object): Description | undefined => {
    for (const [kind, known] of KINDS) {
      if (!known.recognizes(thing)) continue;
      if (known.by === 'parts') return { kind, parts: known.leave(thing) };
      const exported = known.leave(thing, party, ownership);
      if (exported === undefined) return { kind, number: DISPOSED };
      lastNumber += 1;
      exports.set(lastNumber, exported);
      return { kind, number: lastNumber };
    }
    return undefined;
  };
  try {
    return { payload: serializeWith(value, describe), exports };
  } catch (error) {
    discardDraft({ exports });
    throw error;
  }
}

/**
 * Deserializes a value for the code of this party. An object gets a `Symbol.dispose`, which disposes of the stubs in
 * it. If this method is not called, the stubs are released when they are garbage collected.
 */
export function readPayload(
  payload: Payload,
  channel: ReferenceChannel,
  party: Party,
  decode: typeof deserializeWith,
): unknown {
  const stubs: object[] = [];
  const resolve = (members: object) => {
    const description = members as unknown as Description;
    const known = KINDS.get(description.kind);
    if (known?.by === 'parts' && 'parts' in description) {
      return known.arrive(description.parts, party);
    }
    if (known?.by === 'reference' && 'number' in description) {
      const thing = known.arrive(new Imported(description.number, channel, party));
      if (known === callable) stubs.push(thing);
      return thing;
    }
    throw storageError('INVALID_ARGUMENT', 'A payload refers to something of an unknown kind.');
  };
  let value: unknown;
  try {
    value = decode(payload, resolve);
  } catch (error) {
    stubs.forEach(disposeOf);
    throw error;
  }
  if (typeof value === 'object' && value !== null && !(DISPOSE in value)) {
    const dispose = () => stubs.forEach(disposeOf);
    Object.defineProperty(value, DISPOSE, { value: dispose, configurable: true });
  }
  return value;
}
