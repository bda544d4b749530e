// The restores that the next opening of a simulated object may make, also after openings that failed.
//
// An opening that cannot make a restore cancels it, then reports the reason. If power fails first, nobody learns the
// reason; if the disk fails, the cancellation may be lost. The next opening may then report the reason again, or find
// nothing to restore.
//
// Invariant: a restore that was acknowledged and is possible never counts as cancelled.

import type { ReturnedBookmark } from './history.ts';

/** A restore that was requested. */
export interface RestoreRequest {
  readonly known: ReturnedBookmark;
  /** The bookmark that undoes the restore; null if the request failed. */
  undo: string | null;
  isAcknowledged: boolean;
}

type Status = 'pending' | 'perhapsCancelled' | 'cancelled';

export class RequestedRestores {
  readonly #requests: readonly RestoreRequest[];
  #status: Status;

  constructor(requests: readonly RestoreRequest[], status: Status = 'pending') {
    this.#requests = requests;
    this.#status = status;
  }

  /** Returns an independent copy, for one of several possible disks. */
  copy(): RequestedRestores {
    return new RequestedRestores(this.#requests, this.#status);
  }

  /** The requests, of which the next opening makes at most one. */
  get requests(): readonly RestoreRequest[] {
    return this.#status === 'cancelled' ? [] : this.#requests;
  }

  /** Whether the next opening must restore the object. */
  get isCertain(): boolean {
    return this.#status === 'pending' && this.#requests.some((request) => request.isAcknowledged);
  }

  /** Records that an opening has reported a refusal. If the disk failed meanwhile, the request may still exist. */
  refused(disk: 'sound' | 'failing'): void {
    this.#status = disk === 'sound' ? 'cancelled' : 'perhapsCancelled';
  }

  /**
   * Records that the request may be gone, because an import may have withdrawn it, or the disk failed during an
   * opening.
   */
  mayBeCancelled(): void {
    if (this.#status === 'pending') this.#status = 'perhapsCancelled';
  }

  /** Records that an opening failed before it reported anything. */
  interrupted(mayBeRefused: (known: ReturnedBookmark) => boolean): void {
    const isPending = this.#status === 'pending';
    if (isPending && this.#requests.some(({ known }) => mayBeRefused(known))) {
      this.#status = 'perhapsCancelled';
    }
  }
}
