// The candidates of a directory, found by the locks that they hold: each tells its deployment in the name of a
// lock, which it holds while it waits for its turn to lead, and while it leads.
//
// Invariant: a candidate is seen as long as it lives, and not a moment longer, whichever way it ends.
//
// The form of the name must not change: candidates of all versions of this package see each other.

import { type Deployment, deploymentIn } from '../../../src/shared/contract/deployment.ts';
import type { Locks } from '../../../src/shared/wire/control.ts';

/** The part of `navigator.locks` that is used. */
export interface CandidateLocks extends Locks {
  query(): Promise<{
    readonly held?: readonly ListedLock[];
    /** The requests of one name are in the order of its queue. */
    readonly pending?: readonly ListedLock[];
  }>;
}

interface ListedLock {
  readonly name?: string;
  /** Of the page or worker that holds or requests it. */
  readonly clientId?: string;
}

export interface LivingCandidate {
  readonly worker: string;
  readonly deployment: Deployment;
}

/** Shows a candidate to the others. */
export class Presence {
  readonly #locks: CandidateLocks;
  readonly #name: string;
  #release: (() => void) | null = null;
  #held: Promise<void> = Promise.resolve();

  /** `prefix`: of the names of such locks. */
  constructor(locks: CandidateLocks, prefix: string, candidate: LivingCandidate) {
    this.#locks = locks;
    this.#name = prefix + JSON.stringify(candidate);
  }

  /** Resolves once the others can see it. */
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

/** None if the browser tells nothing of locks, as Firefox does in a frame of another site, which has locks otherwise (153). */
async function listed(locks: CandidateLocks): ReturnType<CandidateLocks['query']> {
  try {
    return await locks.query();
  } catch {
    return {};
  }
}

/** Every candidate that lives now, the caller included; none if the browser does not tell. */
export async function livingCandidates(
  locks: CandidateLocks,
  prefix: string,
): Promise<LivingCandidate[]> {
  const { held = [] } = await listed(locks);
  return shownBy(held, prefix);
}

/** The candidates that wait for a lock, the first one first; `prefix` as of `Presence`. */
export async function candidatesInLine(
  locks: CandidateLocks,
  lock: string,
  prefix: string,
): Promise<LivingCandidate[]> {
  const { held = [], pending = [] } = await listed(locks);
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

// Any code of the origin can hold a lock of this name.
function candidateIn(text: string): LivingCandidate | null {
  try {
    const { worker, deployment } = JSON.parse(text);
    const told = deploymentIn(deployment);
    return typeof worker === 'string' && told !== null ? { worker, deployment: told } : null;
  } catch {
    return null;
  }
}
