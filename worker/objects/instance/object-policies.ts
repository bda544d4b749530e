// Decides what the code of an object, and the calls of handles on it, may do to its storage.
//
// Invariant: only its replica writes a copy, and only its class writes an object with followers, because no other code
// informs the followers. It is not asserted: users' code tries it, and gets a typed error.

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { type AccessPolicy, UNRESTRICTED } from '../../engine/storage/access-policy.ts';

export interface ObjectPolicies {
  readonly ofCode: AccessPolicy;
  readonly ofHandles: AccessPolicy;
}

const COPY: AccessPolicy = { refusal: copyIsReadOnly, reads: null };
const FOLLOWED: AccessPolicy = { refusal: followedObjectIsReadOnly, reads: null };

export function policiesOf(isCopy: boolean, isFollowed: boolean): ObjectPolicies {
  const ofCode = isCopy ? COPY : UNRESTRICTED;
  return { ofCode, ofHandles: isFollowed && !isCopy ? FOLLOWED : ofCode };
}

function copyIsReadOnly(): StorageError {
  return storageError(
    'READ_ONLY',
    'The object is a copy of one on a server, which alone changes it; call a method of its class, or write to a branch.',
  );
}

export function followedObjectIsReadOnly(): StorageError {
  return storageError(
    'READ_ONLY',
    'The object has followers, which learn of the writes of its class, and not of those through a handle; call a method ' +
      'of the class. A restore and an import reach them as a new snapshot.',
  );
}
