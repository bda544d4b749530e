// The error of calls whose connection has ended.

import { storageError } from '../contract/errors.ts';

/** `fact` says why the connection ended. */
export function connectionClosed(fact: string): Error {
  return storageError(
    'CONNECTION_CLOSED',
    `The connection to the worker ended: ${fact}. A write under way may or may not have taken ` +
      'effect; read before making it again.',
  );
}
