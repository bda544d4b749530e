// Finds the state of an object by comparing it with each state that it may have.

import { type Contents, difference } from './contents.ts';
import { SimulationFailure, type State } from './history.ts';
import type { RequestedRestores, RestoreRequest } from './requested-restores.ts';
import type { SimulatedObject } from './simulated-object.ts';

export type Found = { readonly kind: 'state'; readonly state: State } | FoundRestored;

export interface FoundRestored {
  readonly kind: 'restored';
  readonly request: RestoreRequest;
  readonly contents: Contents;
  /** False if the object may have this state even without the restore. */
  readonly isCertain: boolean;
}

/**
 * Returns the state that the object has. @throws SimulationFailure if it has none of them, or lacks an acknowledged
 * restore
 */
export function identify(
  object: SimulatedObject,
  candidates: readonly State[],
  requested: RequestedRestores,
): Found {
  const differences: string[] = [];
  for (const request of requested.requests) {
    for (const contents of request.known.contents) {
      const differs = difference(object, contents);
      if (differs === null) {
        const isCertain = requested.isCertain && request.isAcknowledged;
        return { kind: 'restored', request, contents, isCertain };
      }
      differences.push(`restored: ${differs}`);
    }
  }
  if (requested.isCertain) {
    throw new SimulationFailure(`the restore was not made: ${differences.join('; ')}`);
  }
  for (const state of candidates) {
    const differs = difference(object, state.contents);
    if (differs === null) return { kind: 'state', state };
    differences.push(differs);
  }
  throw new SimulationFailure(
    `the object is in none of ${differences.length} possible states: ${differences.join('; ')}`,
  );
}
