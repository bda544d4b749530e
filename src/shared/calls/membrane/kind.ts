// Defines how things other than plain data cross between two sides. The description of each kind tells how a value is
// recognized, how it is sent, and how it is received.

import { storageError } from '../../contract/errors.ts';
import type { ReferenceRequest } from '../../wire/protocol.ts';
import type { Party } from '../stubs/party.ts';
import type { Exported, Ownership } from './channel.ts';
import type { Imported } from './imported.ts';

/** A kind that is passed by reference: the thing stays on its side, and the other side sends requests to its number. */
export interface ReferenceKind<Thing extends object> {
  readonly by: 'reference';
  recognizes(value: object): value is Thing;
  /**
   * Exports the thing, to answer requests of the other side; undefined if it was disposed of before.
   *
   * @throws DataCloneError, and TypeError if it is in use
   */
  leave(thing: Thing, party: Party, ownership: Ownership): Exported | undefined;
  /** Makes the object that represents the thing on the receiving side. */
  arrive(imported: Imported): object;
}

/** A kind that is taken apart: the parts are sent, and may contain things that are passed by reference. */
export interface PartsKind<Thing extends object, Parts extends object> {
  readonly by: 'parts';
  recognizes(value: object): value is Thing;
  /** Takes the thing apart. @throws TypeError if it has been used up */
  leave(thing: Thing): Parts;
  arrive(parts: Parts, party: Party): object;
}

/** Any kind; the element type of the table of kinds. */
export type Kind = ReferenceKind<object> | PartsKind<object, object>;

/** Makes the error for a request that the kind does not support. */
export function unsupportedRequestError(request: ReferenceRequest): Error {
  return storageError('INVALID_ARGUMENT', `A reference does not know the request "${request.op}".`);
}
