// Converts and checks the arguments that name a branch, and the options that make a branch.

import {
  checkString,
  convertOptions,
  convertString,
  type FieldCheck,
  malformed,
} from './arguments.ts';
import { storageError } from './errors.ts';
import { BRANCH_NAME_BYTES_MAX } from './limits.ts';
import { convertTimestamp } from './times.ts';
import { utf8Bytes } from './utf8.ts';

/** Converts the name of a branch. @throws INVALID_ARGUMENT */
export function convertBranchName(operation: string, value: unknown): string {
  const name = convertString(operation, value);
  const sizeBytes = utf8Bytes(name);
  if (sizeBytes > 0 && sizeBytes <= BRANCH_NAME_BYTES_MAX) return name;
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: the name of a branch has 1 to ${BRANCH_NAME_BYTES_MAX} bytes of UTF-8, not ${sizeBytes}.`,
  );
}

/** Converts the options of `fork`. @throws INVALID_ARGUMENT */
export function convertForkOptions(operation: string, value: unknown) {
  const { at, name, keep, fetch } = convertOptions(operation, value);
  const isTime = at instanceof Date;
  if (fetch != null && fetch !== 'allow' && fetch !== 'refuse') {
    throw storageError(
      'INVALID_ARGUMENT',
      `${operation}: fetch is 'allow' or 'refuse', not ${String(fetch)}.`,
    );
  }
  return {
    bookmark: at == null || isTime ? null : convertString(operation, at),
    timeMs: isTime ? convertTimestamp(operation, at) : null,
    name: name == null ? null : convertBranchName(operation, name),
    isKept: keep === true,
    sends: fetch === 'allow',
  };
}

/** Checks the id of a branch, which becomes part of a file path. */
export const checkBranchId: FieldCheck<string> = (name, value) => {
  const id = checkString(name, value);
  if (/^[0-9a-f]{32}$/.test(id)) return id;
  throw malformed(name, 'made of 32 hexadecimal digits');
};

/** Checks the name of a branch. */
export const checkBranchName: FieldCheck<string> = (name, value) => {
  const text = checkString(name, value);
  const sizeBytes = utf8Bytes(text);
  if (sizeBytes > 0 && sizeBytes <= BRANCH_NAME_BYTES_MAX) return text;
  throw malformed(name, `a name of 1 to ${BRANCH_NAME_BYTES_MAX} bytes`);
};

export const checkBranchNameOrNull: FieldCheck<string | null> = (name, value, operation) =>
  value === null ? null : checkBranchName(name, value, operation);
