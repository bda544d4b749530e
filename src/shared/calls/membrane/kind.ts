// The kinds of things that cross between two sides without being plain data, and the description of
// each: how it is recognized, how it leaves, how it arrives, and, if it stays where it is, how it is
// used and released from afar.

import { storageError } from '../../contract/errors.ts';
import type { ReferenceRequest } from '../../wire/protocol.ts';
import type { Party } from '../stubs/party.ts';
import type { Exported, Ownership } from './channel.ts';
import type { Imported } from './imported.ts';

/** Passed by reference: it stays on its side, and the other side asks for it by number. */
export interface ReferenceKind<Thing extends object> {
  readonly by: 'reference';
  recognizes(value: object): value is Thing;
  /**
   * The exported object, which answers the other side and is released by it; undefined: it was disposed of.
   *
   * @throws DataCloneError, and TypeError if it is in use
   */
  leave(thing: Thing, party: Party, ownership: Ownership): Exported | undefined;
  /** The object that represents it on the other side. */
  arrive(imported: Imported): object;
}

/** Taken apart: its parts are sent, and may themselves be passed by reference. */
export interface PartsKind<Thing extends object, Parts extends object> {
  readonly by: 'parts';
  recognizes(value: object): value is Thing;
  /** @throws TypeError if it has been used up */
  leave(thing: Thing): Parts;
  arrive(parts: Parts, party: Party): object;
}

/** Any kind, as the table of kinds is read. */
export type Kind = ReferenceKind<object> | PartsKind<object, object>;

/** The error for a request that the kind does not know. */
export function misused(request: ReferenceRequest): Error {
  return storageError('INVALID_ARGUMENT', `A reference does not know the request "${request.op}".`);
}
