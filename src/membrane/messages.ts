// Stubs of objects, requests and responses: they cross in parts, and bodies and sockets among the parts
// cross by reference.

import { OutgoingRequest } from '../http/outgoing-request.ts';
import { makeRequest, type RequestParts, requestParts } from '../http/request-parts.ts';
import { makeResponse, type ResponseParts, responseParts } from '../http/response-parts.ts';
import type { WireAddress } from '../rpc/object-protocol.ts';
import { addressOf } from '../stubs/known-stubs.ts';
import type { PartsKind } from './kind.ts';

export const object: PartsKind<object, WireAddress> = {
  by: 'parts',
  recognizes: (value): value is object => addressOf(value) !== undefined,
  leave: (stub) => addressOf(stub)!,
  arrive: (address, party) => party.stub(address),
};

export const request: PartsKind<Request | OutgoingRequest, RequestParts> = {
  by: 'parts',
  recognizes: (value) => value instanceof OutgoingRequest || value instanceof Request,
  leave: (given) => (given instanceof OutgoingRequest ? given.parts : requestParts(given)),
  arrive: (parts, party) => makeRequest(parts, party.gate),
};

export const response: PartsKind<Response, ResponseParts> = {
  by: 'parts',
  recognizes: (value) => value instanceof Response,
  leave: responseParts,
  arrive: (parts, party) => makeResponse(parts, party.gate),
};
