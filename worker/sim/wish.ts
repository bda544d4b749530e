// The restores that the next opening of a simulated object may make, through openings that fail.
//
// An opening that cannot make one says so, once it has cancelled it. When power goes first, nobody
// hears of it, and a disk that fails may keep it from being cancelled: then the next opening may say
// it again, or find nothing to restore.
//
// Keeps true: a restore that was acknowledged and could be made is never taken for a cancelled one.

import type { Known } from './history.ts';

/** A restore that was asked for. */
export interface Asked {
  readonly known: Known;
  /** The bookmark that undoes it; null when the call that asked has failed. */
  undo: string | null;
  isAcknowledged: boolean;
}

type Standing = 'pending' | 'perhapsCancelled' | 'cancelled';

export class Wish {
  readonly #asked: readonly Asked[];
  #standing: Standing;

  constructor(asked: readonly Asked[], standing: Standing = 'pending') {
    this.#asked = asked;
    this.#standing = standing;
  }

  /** For a disk of its own: what happens there is not known to the others. */
  copy(): Wish {
    return new Wish(this.#asked, this.#standing);
  }

  /** Those one of which may be made. */
  get asked(): readonly Asked[] {
    return this.#standing === 'cancelled' ? [] : this.#asked;
  }

  /** The object must be found restored. */
  get isCertain(): boolean {
    return this.#standing === 'pending' && this.#asked.some((asked) => asked.isAcknowledged);
  }

  /** An opening has refused it and said so; on a disk that failed meanwhile it may still stand. */
  refused(disk: 'sound' | 'failing'): void {
    this.#standing = disk === 'sound' ? 'cancelled' : 'perhapsCancelled';
  }

  /** An opening has failed before it said anything. */
  interrupted(mayBeRefused: (known: Known) => boolean): void {
    const isPending = this.#standing === 'pending';
    if (isPending && this.#asked.some(({ known }) => mayBeRefused(known))) {
      this.#standing = 'perhapsCancelled';
    }
  }
}
