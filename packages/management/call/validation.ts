// Checks a body against its schema, and returns the value or throws one error for each invalid field.
//
// Unknown fields are dropped, because the provider's published description says that they are ignored.

import * as v from 'valibot';
import { ApiError, fieldsOf } from './call.ts';
import { ERRORS, type ErrorEntry, type ErrorName, errorEntry } from './error-codes.ts';

/** Returns the checked value. @throws ApiError 400 that names every invalid field */
export function validate<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
  nameOf: (field: string, missing: boolean) => ErrorName = plainName,
): v.InferOutput<S> {
  const checked = v.safeParse(schema, fieldsOf(value ?? {}), { abortPipeEarly: true });
  if (checked.success) return checked.output;
  throw new ApiError(
    ERRORS.FIELD_INVALID.status,
    checked.issues.map((issue) => entryOf(issue, nameOf)),
  );
}

function plainName(_field: string, missing: boolean): ErrorName {
  return missing ? 'FIELD_MISSING' : 'FIELD_INVALID';
}

function entryOf(
  issue: v.BaseIssue<unknown>,
  nameOf: (field: string, missing: boolean) => ErrorName,
): ErrorEntry {
  const keys = (issue.path ?? []).map(({ key }) => String(key));
  const missing = issue.received === 'undefined';
  const field = keys.length > 0 ? keys.join('.') : 'body';
  const message = missing ? `${field} is required.` : `${field}: ${issue.message}.`;
  const pointer = keys.map((key) => `/${key}`).join('');
  return errorEntry(nameOf(keys[0] ?? '', missing), message, pointer).entry;
}
