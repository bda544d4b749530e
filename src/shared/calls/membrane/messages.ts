// Describes the kinds that cross in parts: stubs of objects and entry points, short bodies, requests and responses. Bodies
// and sockets among the parts cross by reference.

import { storageError } from '../../contract/errors.ts';
import type { CallAddress } from '../../wire/address.ts';
import { MessageBody } from '../http/body.ts';
import { OutgoingRequest } from '../http/outgoing-request.ts';
import { makeRequest, type RequestParts, requestParts } from '../http/request-parts.ts';
import { makeResponse, type ResponseParts, responseParts } from '../http/response-parts.ts';
import { addressOf, whyFixed } from '../stubs/known-stubs.ts';
import type { PartsKind } from './kind.ts';
import { endUseOf } from './signal.ts';

export const object: PartsKind<object, CallAddress> = {
  by: 'parts',
  recognizes: (value): value is object => addressOf(value) !== undefined,
  leave: (stub) => addressOf(stub)!,
  arrive: (address, party) => party.stub(address),
};

/** The kind of values that belong to one object and cannot be sent: its loopback exports, and stubs of its facets. */
export const fixed: PartsKind<object, never> = {
  by: 'parts',
  recognizes: (value): value is object => whyFixed(value) !== undefined,
  leave(value) {
    throw new DOMException(whyFixed(value), 'DataCloneError');
  },
  arrive() {
    throw storageError('INVALID_ARGUMENT', 'A payload contains something that is never sent.');
  },
};

/** The kind of a body that crosses as bytes, within its message. */
export const shortBody: PartsKind<MessageBody, Uint8Array<ArrayBuffer>> = {
  by: 'parts',
  recognizes: (value): value is MessageBody =>
    value instanceof MessageBody && value.stream === undefined,
  leave: ({ content }) => content as Uint8Array<ArrayBuffer>,
  arrive(bytes) {
    if (bytes instanceof Uint8Array) return new MessageBody(bytes);
    throw storageError('INVALID_ARGUMENT', 'A payload has a body that is not of bytes.');
  },
};

export const request: PartsKind<Request | OutgoingRequest, RequestParts> = {
  by: 'parts',
  recognizes: (value) => value instanceof OutgoingRequest || value instanceof Request,
  leave: (given) => (given instanceof OutgoingRequest ? given.parts : requestParts(given)),
  arrive(parts, party) {
    endUseOf(parts.signal);
    return makeRequest(parts, party.gate);
  },
};

export const response: PartsKind<Response, ResponseParts> = {
  by: 'parts',
  recognizes: (value) => value instanceof Response,
  leave: responseParts,
  arrive: (parts, party) => makeResponse(parts, party.gate),
};
