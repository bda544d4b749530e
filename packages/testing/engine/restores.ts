// The restores that were requested of a simulated object: the candidates for the next opening, which makes one of them,
// and the restores that may return if the last records are damaged.
//
// A marker has the sequence of the commit before it. Only a commit that was written when a later one was already
// durable proves that the marker is durable. Until then, damage may revert the effect of the marker, or of the commit
// of a restore.

import { RequestedRestores, type RestoreRequest } from './requested-restores.ts';

/** The number of flushes with commits after which the log proves that a restore has happened. */
const PROOF_FLUSHES = 2;

export class Restores {
  /** The last acknowledged request, and the later ones. */
  #requests: RestoreRequest[] = [];
  /** The restores that the openings since then have reported. They are kept until an opening succeeds. */
  #requested = new RequestedRestores([]);
  #settled: readonly RestoreRequest[] = [];
  #flushesToProof = 0;

  add(request: RestoreRequest): void {
    this.#replace([...this.#requests, request]);
  }

  /** Removes the last request, because it was refused immediately. */
  withdraw(): void {
    this.#replace(this.#requests.slice(0, -1));
  }

  /** Records that everything so far is durable. */
  acknowledged(what: 'commits' | 'noCommit'): void {
    if (what === 'commits') this.#flushesToProof--;
    const last = this.#requests.at(-1);
    if (last === undefined) return;
    last.isAcknowledged = true;
    this.#replace([last]);
  }

  /** Returns the restores that the next opening may make. */
  requested(): RequestedRestores {
    return this.#requested;
  }

  /** Records that an opening has made one of the restores, or that none remains. */
  settle(): void {
    if (this.#requests.length === 0) return;
    this.#settled = this.#requests;
    this.#flushesToProof = PROOF_FLUSHES;
    this.#replace([]);
  }

  /** Returns the restores that a damaged object may make or refuse. */
  get restoresOfDamagedObject(): readonly RestoreRequest[] {
    return this.#flushesToProof > 0 ? [...this.#requests, ...this.#settled] : this.#requests;
  }

  #replace(requests: RestoreRequest[]): void {
    this.#requests = requests;
    this.#requested = new RequestedRestores(requests);
  }
}
