// The restores that the next opening of a simulated object may make, through openings that fail.
//
// An opening that cannot make one says so, once it has cancelled it. When power goes first, nobody
// hears of it, and a disk that fails may keep it from being cancelled: then the next opening may say
// it again, or find nothing to restore.
//
// Keeps true: a restore that was acknowledged and could be made is never taken for a cancelled one.

import type { Known } from './history.ts';

/** A restore that was requested. */
export interface RestoreRequest {
  readonly known: Known;
  /** The bookmark that undoes it; null when the call that asked has failed. */
  undo: string | null;
  isAcknowledged: boolean;
}

type Standing = 'pending' | 'perhapsCancelled' | 'cancelled';

export class RequestedRestores {
  readonly #requests: readonly RestoreRequest[];
  #standing: Standing;

  constructor(requests: readonly RestoreRequest[], standing: Standing = 'pending') {
    this.#requests = requests;
    this.#standing = standing;
  }

  /** For a disk of its own: what happens there is not known to the others. */
  copy(): RequestedRestores {
    return new RequestedRestores(this.#requests, this.#standing);
  }

  /** Those one of which may be made. */
  get requests(): readonly RestoreRequest[] {
    return this.#standing === 'cancelled' ? [] : this.#requests;
  }

  /** The object must be found restored. */
  get isCertain(): boolean {
    return this.#standing === 'pending' && this.#requests.some((request) => request.isAcknowledged);
  }

  /** An opening has refused it and said so; on a disk that failed meanwhile it may still stand. */
  refused(disk: 'sound' | 'failing'): void {
    this.#standing = disk === 'sound' ? 'cancelled' : 'perhapsCancelled';
  }

  /** An opening has failed before it said anything. */
  interrupted(mayBeRefused: (known: Known) => boolean): void {
    const isPending = this.#standing === 'pending';
    if (isPending && this.#requests.some(({ known }) => mayBeRefused(known))) {
      this.#standing = 'perhapsCancelled';
    }
  }
}
