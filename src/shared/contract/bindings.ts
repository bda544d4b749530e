// Converts the bindings of `sql.exec`, in the same way in the worker and on a page.
//
// Numbers stay numbers (SQLite receives them as REAL), null and undefined become NULL, bytes a
// BLOB, and everything else its string, including booleans, as on workerd. Exceptions of user code
// (in a toString) propagate unchanged.

import { checkArray, type FieldCheck, malformed } from './arguments.ts';
import { storageError } from './errors.ts';

/** A converted binding. */
export type Binding = string | number | null | ArrayBuffer | ArrayBufferView;

/** Converts a binding. @throws INVALID_ARGUMENT for a bigint and a symbol */
export function convertBinding(value: unknown): Binding {
  switch (typeof value) {
    case 'string':
    case 'number':
      return value;
    case 'undefined':
      return null;
    case 'boolean':
      return String(value);
    case 'bigint':
      throw storageError(
        'INVALID_ARGUMENT',
        'exec(): a bigint cannot be bound; bind Number(value) or String(value).',
      );
    case 'symbol':
      throw storageError('INVALID_ARGUMENT', 'exec(): a symbol cannot be bound.');
    default:
      return value === null ? null : (bytes(value as object) ?? String(value));
  }
}

function bytes(value: object): ArrayBuffer | ArrayBufferView | undefined {
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value;
  // SharedArrayBuffer exists only if the page is cross-origin isolated.
  if (typeof SharedArrayBuffer !== 'undefined' && value instanceof SharedArrayBuffer) {
    return new Uint8Array(value);
  }
  return undefined;
}

/**
 * Copies the bytes of a binding, because the call may be sent later, and the caller may write to the buffer until then.
 * Without the copy, structured clone would also send the whole buffer behind a view.
 */
export function ownBytes(binding: Binding): Binding {
  const isView = ArrayBuffer.isView(binding);
  if (!isView && !(binding instanceof ArrayBuffer)) return binding;
  if (binding.byteLength === 0) return new Uint8Array(0); // A detached buffer has no bytes either.
  const bytes = isView
    ? new Uint8Array(binding.buffer, binding.byteOffset, binding.byteLength)
    : new Uint8Array(binding);
  return bytes.slice();
}

/** The most bindings of one statement, which is SQLite's limit (SQLITE_MAX_VARIABLE_NUMBER). */
const BINDINGS_MAX = 32_766;

export const checkBindings: FieldCheck<readonly Binding[]> = (name, value) =>
  checkArray(name, value, BINDINGS_MAX).map(checkBinding);

function checkBinding(value: unknown): Binding {
  const isBinding =
    value === null ||
    typeof value === 'string' ||
    typeof value === 'number' ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value);
  if (isBinding) return value;
  throw malformed('binding', 'a string, a number, null, or bytes');
}
