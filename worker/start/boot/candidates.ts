// Lists the candidates of a directory by means of Web Locks: each candidate holds a lock whose name contains its
// deployment, while it waits for its turn to lead and while it leads.
//
// Invariant: a candidate is listed exactly as long as it lives, in whichever way it ends. No assertion keeps this: the
// browser ends it and frees its lock; the model of the election has these ends.
//
// The form of the name must not change, because candidates of all versions of this package list each other.

import { type Deployment, deploymentIn } from '../../../src/shared/contract/deployment.ts';
import type { Locks } from '../../../src/shared/wire/control.ts';

/** The members of `navigator.locks` that this file uses. */
export interface CandidateLocks extends Locks {
  query(): Promise<{
    readonly held?: readonly ListedLock[];
    /** The waiting requests. Requests for one name are in the order of that name's queue. */
    readonly pending?: readonly ListedLock[];
  }>;
}

interface ListedLock {
  readonly name?: string;
  /** The browser's id of the page or worker that holds or requests the lock. */
  readonly clientId?: string;
}

export interface LivingCandidate {
  readonly worker: string;
  readonly deployment: Deployment;
}

/** Makes a candidate visible to the others. */
export class Presence {
  readonly #locks: CandidateLocks;
  readonly #name: string;
  #release: (() => void) | null = null;
  #held: Promise<void> = Promise.resolve();

  /** `prefix` is the beginning of the names of candidates' locks. */
  constructor(locks: CandidateLocks, prefix: string, candidate: LivingCandidate) {
    this.#locks = locks;
    this.#name = prefix + JSON.stringify(candidate);
  }

  /** Resolves once the others can see the candidate. */
  show(): Promise<void> {
    if (this.#release !== null) return this.#held;
    const end = new Promise<void>((release) => {
      this.#release = release;
    });
    this.#held = new Promise((held, refused) => {
      const hold = () => {
        held();
        return end;
      };
      this.#locks.request(this.#name, {}, hold).catch(refused);
    });
    return this.#held;
  }

  hide(): void {
    this.#release?.();
    this.#release = null;
  }
}

/**
 * Lists all locks. Lists none if the browser refuses, as Firefox 153 does in a frame of another site, where locks work
 * otherwise.
 */
async function listLocks(locks: CandidateLocks): ReturnType<CandidateLocks['query']> {
  try {
    return await locks.query();
  } catch {
    return {};
  }
}

/** Lists all living candidates, including the caller. Lists none if the browser refuses. */
export async function livingCandidates(
  locks: CandidateLocks,
  prefix: string,
): Promise<LivingCandidate[]> {
  const { held = [] } = await listLocks(locks);
  return shownBy(held, prefix);
}

/** Lists the candidates that wait for a lock, in the order of the queue. `prefix` is the same as for `Presence`. */
export async function candidatesInLine(
  locks: CandidateLocks,
  lock: string,
  prefix: string,
): Promise<LivingCandidate[]> {
  const { held = [], pending = [] } = await listLocks(locks);
  return pending
    .filter(({ name }) => name === lock)
    .flatMap(({ clientId }) => {
      const own = held.filter((each) => each.clientId === clientId);
      return shownBy(own, prefix);
    });
}

function shownBy(held: readonly ListedLock[], prefix: string): LivingCandidate[] {
  return held.flatMap(({ name }) => {
    const candidate = name?.startsWith(prefix) ? candidateIn(name.slice(prefix.length)) : null;
    return candidate === null ? [] : [candidate];
  });
}

// Parses the name of a candidate's lock. Null if it is malformed, because any code of the origin can hold such a lock.
function candidateIn(text: string): LivingCandidate | null {
  try {
    const { worker, deployment } = JSON.parse(text);
    const told = deploymentIn(deployment);
    return typeof worker === 'string' && told !== null ? { worker, deployment: told } : null;
  } catch {
    return null;
  }
}
