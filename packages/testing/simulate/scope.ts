// The run to which the running code belongs, and its part there. Node follows the code through everything it awaits.

import { AsyncLocalStorage } from 'node:async_hooks';
import { carryIntoEvents } from '@ctx-storage/core/calls';
import type { Random } from './world/random.ts';
import type { World } from './world.ts';

export interface Scope {
  readonly world: World;
  /** Where code of the test draws: a call has draws of its own. */
  readonly random: Random;
  /** For calls of clients. */
  readonly attempt?: Attempt;
  /** For code of an object. */
  readonly event?: RunningEvent;
}

/** One attempt of a client to make the calls of a step. */
export interface Attempt {
  readonly step: number;
  readonly attempt: number;
  /** The values of `unique()` that its code drew. */
  readonly keys: string[];
}

/** A method of an object that has not ended. */
export interface RunningEvent {
  readonly owner: { resumed(event: RunningEvent): void };
  readonly instance: object;
  /** `Account/alice`. */
  readonly object: string;
  /** `Account.transfer`. */
  readonly method: string;
  waits: number;
  lastTurn: number;
}

export const scope = new AsyncLocalStorage<Scope>();
carryIntoEvents(scope);
