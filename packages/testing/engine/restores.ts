// The restores requested of a simulated object: the candidates for the next opening, which makes one of
// them, and restores that may return if the last records are damaged.
//
// A marker has the sequence of the commit before it. It is proved durable only by a commit written when
// a later one was already durable. Until then, damage may revert the effect of the marker, or of the
// commit of a restore.

import { RequestedRestores, type RestoreRequest } from './requested-restores.ts';

/** Number of flushes with commits after which the log proves a settled restore. */
const PROOF_FLUSHES = 2;

export class Restores {
  /** The last acknowledged request, and those after it. */
  #requests: RestoreRequest[] = [];
  /** The reports of the openings since then. Kept until an opening succeeds. */
  #requested = new RequestedRestores([]);
  #settled: readonly RestoreRequest[] = [];
  #flushesToProof = 0;

  add(request: RestoreRequest): void {
    this.#replace([...this.#requests, request]);
  }

  /** The last request was refused immediately. */
  withdraw(): void {
    this.#replace(this.#requests.slice(0, -1));
  }

  /** Everything so far is durable. */
  acknowledged(what: 'commits' | 'noCommit'): void {
    if (what === 'commits') this.#flushesToProof--;
    const last = this.#requests.at(-1);
    if (last === undefined) return;
    last.isAcknowledged = true;
    this.#replace([last]);
  }

  /** The restores that the next opening may make. */
  requested(): RequestedRestores {
    return this.#requested;
  }

  /** An opening has made one of them, or none remains to be made. */
  settle(): void {
    if (this.#requests.length === 0) return;
    this.#settled = this.#requests;
    this.#flushesToProof = PROOF_FLUSHES;
    this.#replace([]);
  }

  /** The restores that a damaged object may make or refuse. */
  get ofDamaged(): readonly RestoreRequest[] {
    return this.#flushesToProof > 0 ? [...this.#requests, ...this.#settled] : this.#requests;
  }

  #replace(requests: RestoreRequest[]): void {
    this.#requests = requests;
    this.#requested = new RequestedRestores(requests);
  }
}
