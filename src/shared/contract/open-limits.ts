// Defines the option `limits` of `openStorage`, by which a page limits the worker of its storage, and checks it.

import { storageError } from './errors.ts';

export interface OpenLimits {
  /** The longest time that all checks of an imported file may take together, in milliseconds. @default 10,000 */
  readonly importMs?: number;
}

/** Checks the option `limits`. @throws INVALID_ARGUMENT */
export function checkOpenLimits(operation: string, given: unknown): OpenLimits {
  if (typeof given !== 'object' || given === null) {
    throw invalidLimits(
      operation,
      `limits is an object, such as { importMs: 60_000 }, not ${String(given)}.`,
    );
  }
  const { importMs, ...others } = given as { readonly [name: string]: unknown };
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw invalidLimits(
      operation,
      `limits has importMs only, not ${other}, which serve() takes in a worker of your own.`,
    );
  }
  if (importMs === undefined) return {};
  if (typeof importMs === 'number' && importMs > 0) return { importMs };
  throw invalidLimits(
    operation,
    `limits.importMs takes milliseconds above 0, not ${String(importMs)}.`,
  );
}

function invalidLimits(operation: string, fact: string): Error {
  return storageError('INVALID_ARGUMENT', `${operation}: ${fact}`);
}
