// Whom a call reaches, as data, and its checks.

import * as field from '../contract/arguments.ts';
import {
  checkArray,
  checkBytes,
  checkFields,
  checkString,
  malformed,
} from '../contract/arguments.ts';
import { storageError } from '../contract/errors.ts';
import { BRANCH_DEPTH_MAX, OBJECT_NAME_BYTES_MAX } from '../contract/limits.ts';
import { utf8Bytes } from '../contract/utf8.ts';

/** A value with its references, as bytes. */
export type Payload = Uint8Array;

/** An object as data. */
export interface WireAddress {
  /** Null: an object of `openStorage`, which has no class. */
  readonly className: string | null;
  /** 64 hexadecimal digits. */
  readonly id: string;
  readonly name?: string;
  readonly jurisdiction?: string;
  /** Of a branch, the way to it from the object. */
  readonly branch?: readonly string[];
}

/** An entry point as data: code beside the objects, without storage. */
export interface EntryAddress {
  /** The name of the export. */
  readonly entry: string;
  /** The worker that exports it. Absent: the one that serves the objects. */
  readonly worker?: string;
  /** `ctx.props`. Absent: none were given. */
  readonly props?: Payload;
}

/** Whom a call reaches. */
export type CallAddress = WireAddress | EntryAddress;

/** The address of an object; its id becomes part of a file path. @throws INVALID_ARGUMENT */
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

/** @throws INVALID_ARGUMENT */
export function checkCallAddress(value: unknown): CallAddress {
  const { entry, worker, props } = checkFields('address', value);
  if (entry === undefined) return checkAddress(value);
  return {
    entry: checkString('entry', entry),
    ...(worker !== undefined && { worker: checkString('worker', worker) }),
    ...(props !== undefined && { props: checkBytes('props', props) }),
  };
}

/** The ids become part of a file path. */
function checkBranch(value: unknown): string[] {
  const ids = checkArray('branch', value, BRANCH_DEPTH_MAX).map((id) =>
    field.checkBranchId('branch', id, 'address'),
  );
  if (ids.length === 0) throw malformed('branch', 'one id at least');
  return ids;
}
