// Defines the addresses of objects and entry points as plain data, and checks received ones.

import {
  checkArray,
  checkBytes,
  checkFields,
  checkString,
  malformed,
} from '../contract/arguments.ts';
import { checkBranchId } from '../contract/branch-arguments.ts';
import { storageError } from '../contract/errors.ts';
import { BRANCH_DEPTH_MAX, OBJECT_NAME_BYTES_MAX } from '../contract/limits.ts';
import { utf8Bytes } from '../contract/utf8.ts';

/** A serialized value, which may refer to things passed by reference. */
export type Payload = Uint8Array;

/** The address of an object. */
export interface WireAddress {
  /** The class; null for an object of `openStorage`. */
  readonly className: string | null;
  /** The object's id, as 64 hexadecimal digits. */
  readonly id: string;
  readonly name?: string;
  readonly jurisdiction?: string;
  /** The ids that lead from the object to a branch, through its parent branches. */
  readonly branch?: readonly string[];
}

/** The address of an entry point: code outside of objects, without storage. */
export interface EntryAddress {
  /** The name of the export. */
  readonly entry: string;
  /** The worker that exports it. Absent for the worker that serves the objects. */
  readonly worker?: string;
  /** The serialized `ctx.props`. Absent if none were given. */
  readonly props?: Payload;
}

/** The address of the object or entry point that a call reaches. */
export type CallAddress = WireAddress | EntryAddress;

/** Checks the address of an object, whose id becomes part of a file path. @throws INVALID_ARGUMENT */
export function checkAddress(value: unknown): WireAddress {
  const { className, id, name, jurisdiction, branch } = checkFields('address', value);
  if (!/^[0-9a-f]{64}$/.test(checkString('id', id))) {
    throw storageError('INVALID_ARGUMENT', 'The id of an object has 64 hexadecimal digits.');
  }
  if (name !== undefined && utf8Bytes(checkString('name', name)) > OBJECT_NAME_BYTES_MAX) {
    throw malformed('name', `at most ${OBJECT_NAME_BYTES_MAX} bytes long`);
  }
  return {
    className: className === null ? null : checkString('className', className),
    id: id as string,
    ...(name !== undefined && { name: name as string }),
    ...(jurisdiction !== undefined && { jurisdiction: checkString('jurisdiction', jurisdiction) }),
    ...(branch !== undefined && { branch: checkBranch(branch) }),
  };
}

/** Checks the address of an object or entry point. @throws INVALID_ARGUMENT */
export function checkCallAddress(value: unknown): CallAddress {
  const { entry, worker, props } = checkFields('address', value);
  if (entry === undefined) return checkAddress(value);
  return {
    entry: checkString('entry', entry),
    ...(worker !== undefined && { worker: checkString('worker', worker) }),
    ...(props !== undefined && { props: checkBytes('props', props) }),
  };
}

/** Checks the ids of branches, which become part of a file path. */
function checkBranch(value: unknown): string[] {
  const ids = checkArray('branch', value, BRANCH_DEPTH_MAX).map((id) =>
    checkBranchId('branch', id, 'address'),
  );
  if (ids.length === 0) throw malformed('branch', 'one id at least');
  return ids;
}
