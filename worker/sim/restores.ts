// The restores that were asked of a simulated object: those one of which the next opening is to make,
// and those that damage of the last records may bring back.
//
// A marker has the sequence of the commit before it. So only a commit that was written once a later
// one was on disk proves that the marker was: until then damage may take back what it, or the commit
// of a restore, has settled.

import { RequestedRestores, type RestoreRequest } from './requested-restores.ts';

/** Flushes of commits after which what was settled is proved by the log. */
const PROOF_FLUSHES = 2;

export class Restores {
  /** Those asked for since the last that was acknowledged, and that one. */
  #requests: RestoreRequest[] = [];
  #settled: readonly RestoreRequest[] = [];
  #flushesToProof = 0;

  add(request: RestoreRequest): void {
    this.#requests.push(request);
  }

  /** The last was refused at once. */
  withdraw(): void {
    this.#requests.pop();
  }

  /** Everything so far is on disk. */
  acknowledged(what: 'commits' | 'noCommit'): void {
    if (what === 'commits') this.#flushesToProof--;
    const last = this.#requests.at(-1);
    if (last === undefined) return;
    last.isAcknowledged = true;
    this.#requests = [last];
  }

  /** What the next opening may make. */
  requested(): RequestedRestores {
    return new RequestedRestores(this.#requests);
  }

  /** An opening has made one of them, or none is to be made any more. */
  settle(): void {
    if (this.#requests.length === 0) return;
    this.#settled = this.#requests;
    this.#flushesToProof = PROOF_FLUSHES;
    this.#requests = [];
  }

  /** Those that a damaged object may make, or refuse. */
  get ofDamaged(): readonly RestoreRequest[] {
    return this.#flushesToProof > 0 ? [...this.#requests, ...this.#settled] : this.#requests;
  }
}
