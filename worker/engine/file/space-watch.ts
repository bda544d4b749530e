// Notices that the space for files is about to run out, before a write fails.
//
// The browser is asked after the first write, and then whenever a quarter of the free space has been
// written, so that a fast writer is noticed in time and a slow one costs nothing. Invariant: `onLow` is
// called once, and again only after twice the limit was free.

/** The space reported by the browser, or the file system. */
export interface Space {
  readonly usage: number;
  readonly quota: number;
}

/** The minimum number of written bytes before the browser is asked again. */
const STEP_BYTES_MIN = 256 * 1024;

export class SpaceWatch {
  readonly #estimate: () => Promise<Space>;
  readonly #lowBytes: number;
  readonly #onLow: (space: Space) => void;
  /** Bytes that may be written before the browser is asked again. */
  #leftBytes = 0;
  #state: 'enough' | 'low' = 'enough';
  #isAsking = false;

  /** Calls `onLow` when fewer than `lowBytes` are free. */
  constructor(estimate: () => Promise<Space>, lowBytes: number, onLow: (space: Space) => void) {
    this.#estimate = estimate;
    this.#lowBytes = lowBytes;
    this.#onLow = onLow;
  }

  /** Reports bytes that were written, or that could not be written. */
  wrote(byteCount: number): void {
    this.#leftBytes -= byteCount;
    if (this.#leftBytes > 0 || this.#isAsking) return;
    this.#isAsking = true;
    void this.#askPlatform().finally(() => {
      this.#isAsking = false;
    });
  }

  async #askPlatform(): Promise<void> {
    try {
      const space = await this.#estimate();
      const freeBytes = space.quota - space.usage;
      this.#leftBytes = Math.max(STEP_BYTES_MIN, (freeBytes - this.#lowBytes) / 4);
      if (freeBytes >= 2 * this.#lowBytes) this.#state = 'enough';
      if (freeBytes >= this.#lowBytes || this.#state === 'low') return;
      this.#state = 'low';
      this.#onLow(space);
    } catch {
      this.#leftBytes = Number.POSITIVE_INFINITY; // the platform cannot report its space
    }
  }
}
