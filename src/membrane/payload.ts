// Values as messages: what is cloned, and what goes by reference.
//
// Writing happens inside the caller's call: what cannot be sent throws there, and a later change of
// an argument is not seen. Writing registers nothing; what it exports goes live with the draft.

import { storageError } from '../contract/errors.ts';
import { RpcTarget } from '../contract/rpc-target.ts';
import {
  MessageBody,
  makeRequest,
  makeResponse,
  OutgoingRequest,
  type RequestParts,
  type ResponseParts,
  requestParts,
  responseParts,
} from '../http/http-message.ts';
import type { Payload, ReferenceNumber, WireAddress } from '../rpc/object-protocol.ts';
import { deserializeWith } from '../serializer/decode.ts';
import { serializeWith } from '../serializer/encode.ts';
import { socketParts } from '../sockets/web-socket.ts';
import { addressOf, isMember, isRpcStub } from '../stubs/known-stubs.ts';
import type { Party } from '../stubs/party.ts';
import { DISPOSE } from '../stubs/rpc-promise.ts';
import {
  type Exported,
  ExportedCallable,
  ExportedReadable,
  ExportedSignal,
  ExportedStub,
  ExportedWritable,
  type Ownership,
} from './exports.ts';
import { importCallable, importReadable, importSignal, importWritable } from './imports.ts';
import type { Channel } from './references.ts';
import { ExportedSocket, importSocket } from './socket.ts';

/** A value ready to be sent once. */
export interface Draft {
  readonly payload: Payload;
  readonly exports: ReadonlyMap<ReferenceNumber, Exported>;
}

type ReferenceKind = 'callable' | 'readable' | 'body' | 'writable' | 'signal' | 'socket';

/** How something stands in a payload. */
type Description =
  | { readonly kind: ReferenceKind; readonly number: ReferenceNumber }
  | { readonly kind: 'object'; readonly address: WireAddress }
  | { readonly kind: 'request'; readonly parts: RequestParts }
  | { readonly kind: 'response'; readonly parts: ResponseParts };

let lastNumber = 0;

/** @throws DataCloneError, and what getters of the value throw */
export function writeDraft(value: unknown, party: Party, ownership: Ownership = 'lent'): Draft {
  const exports = new Map<ReferenceNumber, Exported>();
  /** Sockets of responses; by itself a socket is not passed. */
  const upgrades = new Set<object>();
  const add = (kind: ReferenceKind, exported: Exported): Description => {
    lastNumber += 1;
    exports.set(lastNumber, exported);
    return { kind, number: lastNumber };
  };
  const describe = (thing: object): Description | undefined => {
    const address = addressOf(thing);
    if (address !== undefined) return { kind: 'object', address };
    if (isMember(thing)) {
      throw new DOMException(
        'A property of a stub was passed without its value; await it first.',
        'DataCloneError',
      );
    }
    if (isRpcStub(thing)) return add('callable', new ExportedStub(thing, party, ownership));
    if (typeof thing === 'function' || thing instanceof RpcTarget) {
      return add('callable', new ExportedCallable(thing, party));
    }
    if (thing instanceof MessageBody) {
      return add('body', new ExportedReadable(thing.stream, party));
    }
    if (thing instanceof ReadableStream) return add('readable', new ExportedReadable(thing, party));
    if (thing instanceof WritableStream) return add('writable', new ExportedWritable(thing, party));
    if (thing instanceof AbortSignal) return add('signal', new ExportedSignal(thing, party));
    const socket = socketParts(thing);
    if (socket !== undefined && upgrades.has(thing))
      return add('socket', new ExportedSocket(socket.end, party));
    if (thing instanceof OutgoingRequest) return { kind: 'request', parts: thing.parts };
    if (thing instanceof Request) return { kind: 'request', parts: requestParts(thing) };
    if (thing instanceof Response) {
      const parts = responseParts(thing);
      if (parts.webSocket !== null) upgrades.add(parts.webSocket);
      return { kind: 'response', parts };
    }
    return undefined;
  };
  return { payload: serializeWith(value, describe), exports };
}

/**
 * The value. What it holds by reference is let go of by its `Symbol.dispose`, which every object has
 * here; without it, when it is collected.
 */
export function readPayload(payload: Payload, channel: Channel, party: Party): unknown {
  const stubs: object[] = [];
  const resolve = (description: Description): object => {
    switch (description.kind) {
      case 'object':
        return party.stub(description.address);
      case 'request':
        return makeRequest(description.parts, party);
      case 'response':
        return makeResponse(description.parts, party);
    }
    const reference = channel.import(description.number);
    switch (description.kind) {
      case 'callable': {
        const stub = importCallable(reference, channel, party);
        stubs.push(stub);
        return stub;
      }
      case 'readable':
        return importReadable(reference, channel, party, false);
      case 'body':
        return new MessageBody(importReadable(reference, channel, party, true));
      case 'writable':
        return importWritable(reference, channel, party);
      case 'signal':
        return importSignal(reference, channel, party);
      case 'socket':
        return importSocket(reference, channel, party);
      default:
        throw storageError('INVALID_ARGUMENT', 'A payload refers to something of an unknown kind.');
    }
  };
  const value = deserializeWith(payload, (members) => resolve(members as unknown as Description));
  if (typeof value === 'object' && value !== null && !(DISPOSE in value)) {
    const dispose = () => {
      for (const stub of stubs) Reflect.get(stub, DISPOSE)();
    };
    Object.defineProperty(value, DISPOSE, { value: dispose, configurable: true });
  }
  return value;
}
