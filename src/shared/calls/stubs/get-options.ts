// Checks the options of `get` and `getByName` as workerd does. They concern the network, so they have no effect here.

import { convertOptions } from '../../contract/arguments.ts';
import { storageError } from '../../contract/errors.ts';

/** The minimum and maximum of each number in `retry`. */
const RETRY_RANGES = { maxRetries: [0, 10], timeoutMs: [500, 60_000] } as const;

/** Checks the options. @throws INVALID_ARGUMENT; RangeError for a number or a routing mode that does not exist */
export function checkGetOptions(operation: string, options: unknown): void {
  const { routingMode, retry } = convertOptions(operation, options);
  if (routingMode !== undefined && routingMode !== 'primary-only') {
    throw new RangeError(
      `unknown routingMode: ${String(routingMode)}; omit it, or use primary-only.`,
    );
  }
  const numbers = convertOptions(`${operation}: retry`, retry);
  for (const [name, [least, most]] of Object.entries(RETRY_RANGES)) {
    const value = numbers[name];
    if (value === undefined) continue;
    if (typeof value !== 'number') {
      throw storageError('INVALID_ARGUMENT', `${operation}: retry.${name} is a number.`);
    }
    if (!(Number.isInteger(value) && value >= least && value <= most)) {
      throw new RangeError(`retry.${name} must be an integer between ${least} and ${most}.`);
    }
  }
}
