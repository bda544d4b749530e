// Makes the errors that say why an instance was reset, or could not be made.

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { ALARM_MS_MAX, CRITICAL_SECTION_MS_MAX } from '../../../src/shared/contract/limits.ts';
import type { ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import { fromWire, toWire } from '../../../src/shared/wire/errors-on-wire.ts';

/**
 * Makes the error of a critical section that took too long, with workerd's marks, by which programs decide whether to
 * repeat the call.
 */
export function sectionTimeout(): StorageError {
  const error = storageError(
    'TRANSACTION_TIMEOUT',
    `A critical section held the object for ${CRITICAL_SECTION_MS_MAX / 1000} s; ` +
      'the object was reset. Do slow work outside of it.',
  );
  return Object.assign(error, { overloaded: true, durableObjectReset: true });
}

export function alarmTimeout(): StorageError {
  return storageError(
    'ALARM_TIMEOUT',
    `An alarm() handler ran for ${ALARM_MS_MAX / 60_000} minutes; the object was reset, and the ` +
      'alarm will be retried. Split long work over several alarms.',
  );
}

/**
 * Makes the error of ctx.abort(). As on workerd, the call is not retryable: the object's own code ended it, and would
 * do so again.
 */
export function abortedError(reason = 'The object was reset by ctx.abort().'): StorageError {
  const error = storageError('OBJECT_RESET', reason);
  Object.defineProperty(error, 'retryable', { value: false, configurable: true });
  Object.defineProperty(error, 'durableObjectReset', { enumerable: true });
  return error;
}

/**
 * Returns the reason with which a facet ends. As on workerd, it is not marked as a reset, unlike the reason of an
 * object's reset.
 */
export function facetEnded(reason: string): StorageError {
  const error = abortedError(reason);
  Reflect.deleteProperty(error, 'durableObjectReset');
  return error;
}

export function alarmOfFacet(): StorageError {
  return facetEnded(
    'Facets currently cannot set alarms. The facet was reset; set an alarm in the object that it belongs to.',
  );
}

/**
 * Marks an error as the reason of a reset. An error of user code keeps its class and message, and gets a property that
 * says that it reset the object. For another value, or a frozen error, the reason is a copy, as callers would get it.
 */
export function withReset(thrown: unknown): unknown {
  const takesProperties = thrown instanceof Error && Object.isExtensible(thrown);
  const copy = takesProperties ? thrown : fromWire(toWire(thrown));
  const reason = typeof copy === 'object' && copy !== null ? copy : new Error(String(thrown));
  return Object.defineProperty(reason, 'durableObjectReset', {
    value: true,
    enumerable: true,
    configurable: true,
  });
}

// A failure of a commit or flush keeps its class, code and message.
export function broken(error: unknown): unknown {
  return error instanceof Error
    ? error
    : storageError('INTERNAL', 'The storage failed.', { cause: error });
}

/** Makes the error of an object that the catalog knows as stored, and that has no files any more. */
export function missing({ className, id }: ObjectAddress): StorageError {
  return storageError(
    'OBJECT_MISSING',
    `${className} ${id.name === undefined ? id.toString() : JSON.stringify(id.name)} was stored, and its files are ` +
      'gone: the browser has evicted them, or something else has deleted them. deleteObject(stub) accepts that; the ' +
      'next call then starts a new, empty object.',
  );
}

/** Returns the reason in the form that the instance's storage throws from then on. */
export function storageReason(reason: unknown): StorageError {
  return reason instanceof Error && 'code' in reason
    ? (reason as StorageError)
    : storageError('OBJECT_RESET', 'The object was reset.', { cause: reason });
}
