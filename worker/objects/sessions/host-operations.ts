// Performs the operations by the host, each of which ends the instance of the object, or needs another object's
// instance.
//
// Invariant: no transaction of the page is open, so that the operation does not wait for itself. PageSessions refuses
// the call with a typed error, because a page can make it.
//
// Does not know sessions: it gets the address of the object, and the author of the change.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { FOLLOWABLE } from '../../../src/shared/contract/followed.ts';
import { branchAddress, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { CallOf, OperationBy, Performed } from '../../../src/shared/wire/operations.ts';
import type { Annotation } from '../../engine/log/annotation.ts';
import type { ObjectHost } from '../host/object-host.ts';
import { followedObjectIsReadOnly } from '../instance/object-policies.ts';
import type { Cancellation } from '../io/cancellation.ts';

/** Performs each operation by the host on the object of the address. The commits name `by` as their author. */
export const HOST_OPERATIONS: {
  readonly [Op in OperationBy<'host'>]: (
    host: ObjectHost,
    address: ObjectAddress,
    call: CallOf<Op>,
    by: Annotation,
    cancellation: Cancellation | undefined,
  ) => Performed<Op>;
} = {
  importDatabase: (host, address, call, by) =>
    host.importDatabase(address, call.database, call.wal, by),
  promote: (host, address, call, by, cancellation) =>
    host.promote(branchAddress(address, call.branch), cancellation, by),
  mergeBranch(host, address, call, by, cancellation) {
    const { className } = address;
    if (className !== null && FOLLOWABLE in host.classes.get(className).construct) {
      throw followedObjectIsReadOnly();
    }
    const branch = branchAddress(address, call.branch);
    return host.branches.merge(branch, call.bookmark, call.decisions, cancellation, by);
  },
  restore(host, address, call, by, cancellation) {
    const moment = call.bookmark ?? call.timeMs;
    if (moment === null) {
      throw storageError('INVALID_ARGUMENT', 'restore: takes a bookmark or a time.');
    }
    return host.restore(address, moment, cancellation, by);
  },
};
