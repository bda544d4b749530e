// How each operation by the host is performed: it ends the instance of the object, or needs another object's.
//
// Invariant: no transaction of the page is open, so that the operation does not wait for itself.
//
// Does not know sessions: it gets the address of the object, and who makes the change.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { FOLLOWABLE } from '../../../src/shared/contract/followed.ts';
import { branchAddress, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type {
  CallBy,
  CallOf,
  OperationBy,
  OperationName,
  Performed,
} from '../../../src/shared/wire/operations.ts';
import type { Annotation } from '../../engine/log/annotation.ts';
import type { ObjectHost } from '../host/object-host.ts';
import type { Cancellation } from '../io/cancellation.ts';

/** Who makes the change, and how it is cancelled. */
export interface Maker {
  readonly by: Annotation;
  readonly cancellation: Cancellation | undefined;
}

const HOST_OPERATIONS: {
  readonly [Op in OperationBy<'host'>]: (
    host: ObjectHost,
    address: ObjectAddress,
    call: CallOf<Op>,
    maker: Maker,
  ) => Performed<Op>;
} = {
  importDatabase: (host, address, { database, wal }, { by }) =>
    host.importDatabase(address, database, wal, by),
  promote: (host, address, { branch }, { by, cancellation }) =>
    host.promote(branchAddress(address, branch), cancellation, by),
  mergeBranch(host, address, { branch, bookmark, decisions }, { by, cancellation }) {
    const { className } = address;
    if (className !== null && FOLLOWABLE in host.classes.get(className).construct) {
      throw followedObjectIsReadOnly();
    }
    const from = branchAddress(address, branch);
    return host.branches.merge(from, bookmark, decisions, cancellation, by);
  },
  restore(host, address, { bookmark, timeMs }, { by, cancellation }) {
    const moment = bookmark ?? timeMs;
    if (moment === null) {
      throw storageError('INVALID_ARGUMENT', 'restore: takes a bookmark or a time.');
    }
    return host.restore(address, moment, cancellation, by);
  },
};

/** Performs a call by the host. @throws the errors of the operation */
export function performByHost(
  host: ObjectHost,
  address: ObjectAddress,
  call: CallBy<'host'>,
  maker: Maker,
): Performed<OperationName> {
  return HOST_OPERATIONS[call.op](host, address, call as never, maker);
}

export function followedObjectIsReadOnly(): Error {
  return storageError(
    'READ_ONLY',
    'The object has followers, which learn of the writes of its class, and not of those through a handle; call a method ' +
      'of the class. A restore and an import reach them as a new snapshot.',
  );
}
