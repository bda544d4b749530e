// Converts an error to what the page shows: always a code and a message, whatever was thrown.

import { isStorageError } from '../../src/index.ts';

export interface Problem {
  readonly code: string;
  readonly message: string;
  /** Whether repeating the same action may succeed. */
  readonly retryable: boolean;
}

export function problemOf(error: unknown): Problem {
  if (isStorageError(error)) {
    return { code: error.code, message: error.message, retryable: error.retryable === true };
  }
  if (error instanceof Error) {
    return { code: error.name, message: error.message, retryable: false };
  }
  return { code: 'UNKNOWN', message: String(error), retryable: false };
}
