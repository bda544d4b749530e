// Tells which run the running code belongs to, and as which part of it. Node follows the code through everything that
// it awaits.

import { AsyncLocalStorage } from 'node:async_hooks';
import { carryIntoEvents } from '@ctx-storage/core/calls';
import type { Random } from './world/random.ts';
import type { World } from './world.ts';

export interface Scope {
  readonly world: World;
  /** The random numbers that code of the test draws from; each call has its own. */
  readonly random: Random;
  /** The attempt that runs, if the code is a client's. */
  readonly attempt?: Attempt;
  /** The event that runs, if the code is an object's. */
  readonly event?: RunningEvent;
}

/** One attempt of a client to make the calls of a step. */
export interface Attempt {
  readonly step: number;
  readonly attempt: number;
  /** The values of `unique()` that its code has drawn. */
  readonly keys: string[];
}

/** A method of an object that has begun and not ended. */
export interface RunningEvent {
  readonly owner: { resumed(event: RunningEvent): void };
  readonly instance: object;
  /** The object, such as `Account/alice`. */
  readonly object: string;
  /** The method, such as `Account.transfer`. */
  readonly method: string;
  waits: number;
  lastTurn: number;
}

export const scope = new AsyncLocalStorage<Scope>();
carryIntoEvents(scope);
