// The restores that were asked of a simulated object: those one of which the next opening is to make,
// and those that damage of the last records may bring back.
//
// A marker has the sequence of the commit before it. So only a commit that was written once a later
// one was on disk proves that the marker was: until then damage may take back what it, or the commit
// of a restore, has settled.

import { type Asked, Wish } from './wish.ts';

/** Flushes of commits after which what was settled is proved by the log. */
const PROOF_FLUSHES = 2;

export class Restores {
  /** Those asked for since the last that was acknowledged, and that one. */
  #asked: Asked[] = [];
  #settled: readonly Asked[] = [];
  #flushesToProof = 0;

  ask(asked: Asked): void {
    this.#asked.push(asked);
  }

  /** The last was refused at once. */
  withdraw(): void {
    this.#asked.pop();
  }

  /** Everything so far is on disk. */
  acknowledged(what: 'commits' | 'noCommit'): void {
    if (what === 'commits') this.#flushesToProof--;
    const last = this.#asked.at(-1);
    if (last === undefined) return;
    last.isAcknowledged = true;
    this.#asked = [last];
  }

  /** What the next opening may make. */
  wish(): Wish {
    return new Wish(this.#asked);
  }

  /** An opening has made one of them, or none is to be made any more. */
  settle(): void {
    if (this.#asked.length === 0) return;
    this.#settled = this.#asked;
    this.#flushesToProof = PROOF_FLUSHES;
    this.#asked = [];
  }

  /** Those that a damaged object may make, or refuse. */
  get ofDamaged(): readonly Asked[] {
    return this.#flushesToProof > 0 ? [...this.#asked, ...this.#settled] : this.#asked;
  }
}
