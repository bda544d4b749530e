// Checks messages about objects and references when they arrive, on either side. The content of a
// payload is checked by its decoder.

import { checkFlag } from '../contract/call-flag.ts';
import {
  checkArray,
  checkBytes,
  checkFields,
  checkNumber,
  checkNumberOf,
  checkString,
  malformed,
} from '../contract/check.ts';
import { storageError } from '../contract/errors.ts';
import { LISTED_OBJECTS_MAX, OBJECT_NAME_BYTES_MAX } from '../contract/limits.ts';
import { utf8Bytes } from '../contract/utf8.ts';
import type {
  ManageRequest,
  ObjectOperation,
  ObjectRequest,
  ReferenceNumber,
  ReferenceRequest,
  WireAddress,
} from './object-protocol.ts';

/** Most references that one message releases. */
const RELEASES_MAX = 1024;

/** Most names on the way to a member. */
const PATH_MAX = 1024;

/** The address of an object; its id becomes part of a file path. @throws INVALID_ARGUMENT */
export function checkAddress(value: unknown): WireAddress {
  const { className, id, name, jurisdiction } = checkFields('address', value);
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
  };
}

/** @throws INVALID_ARGUMENT */
export function checkObjectRequest(value: unknown): ObjectRequest {
  const { incarnation, flag } = checkFields('request', value);
  const operation = checkObjectOperation(value);
  if (incarnation === undefined && flag === undefined) return operation;
  return {
    ...operation,
    ...(incarnation !== undefined && { incarnation: checkNumberOf('incarnation', incarnation) }),
    ...(flag !== undefined && { flag: checkFlag(flag) }),
  };
}

function checkObjectOperation(value: unknown): ObjectOperation {
  const { op, path, payload } = checkFields('request', value);
  switch (op) {
    case 'call':
      return { op, path: checkPath(path, 1), payload: checkBytes('payload', payload) };
    case 'get':
      return { op, path: checkPath(path, 1) };
    case 'fetch':
      return { op, payload: checkBytes('payload', payload) };
    case 'watch':
      return { op };
    default:
      throw malformed('op', 'one of the protocol');
  }
}

/** @throws INVALID_ARGUMENT */
export function checkReferenceRequest(value: unknown): ReferenceRequest {
  const { op, path, payload } = checkFields('request', value);
  switch (op) {
    case 'call':
      return { op, path: checkPath(path, 0), payload: checkBytes('payload', payload) };
    case 'get':
      return { op, path: checkPath(path, 1) };
    case 'pull':
    case 'close':
    case 'wait':
    case 'watch':
      return { op };
    case 'cancel':
    case 'write':
    case 'abort':
      return { op, payload: checkBytes('payload', payload) };
    default:
      throw malformed('op', 'one of the protocol');
  }
}

function checkLimit(value: unknown): number {
  const limit = checkNumberOf('limit', value);
  if (limit <= LISTED_OBJECTS_MAX) return limit;
  throw malformed('limit', `at most ${LISTED_OBJECTS_MAX}`);
}

/** @throws INVALID_ARGUMENT */
export function checkManageRequest(value: unknown): ManageRequest {
  const { op, className, address, timeMs, durationMs, after, limit } = checkFields(
    'request',
    value,
  );
  switch (op) {
    case 'list':
      return {
        op,
        className: checkString('className', className),
        after: after === null ? null : checkString('after', after),
        limit: checkLimit(limit),
      };
    case 'delete':
    case 'runAlarm':
    case 'evict':
      return { op, address: checkAddress(address) };
    case 'now':
    case 'runNextAlarm':
    case 'resume':
      return { op };
    case 'set':
      return { op, timeMs: checkNumber('timeMs', timeMs) };
    case 'advance':
      return { op, durationMs: checkNumber('durationMs', durationMs) };
    default:
      throw malformed('op', 'one of the protocol');
  }
}

function checkPath(value: unknown, lengthMin: number): string[] {
  const path = checkArray('path', value, PATH_MAX).map((name) => checkString('path', name));
  if (path.length < lengthMin) throw malformed('path', 'one name at least');
  return path;
}

export function checkReference(value: unknown): ReferenceNumber {
  return checkNumberOf('reference', value);
}

/** @throws INVALID_ARGUMENT */
export function checkReferences(value: unknown): ReferenceNumber[] {
  return checkArray('references', value, RELEASES_MAX).map(checkReference);
}
