// A page's next worker takes the place of the one before: that one runs until it has stepped down, and is ended then.
//
// Invariant: it settles. The worker before is ended if it does not step down in time, because its code hangs.

import { LAST_ANSWERS_MS, SUCCESSION_WAIT_MS } from './leader-search.ts';
import type { OwnWorker } from './own-worker.ts';
import type { PageStanding } from './status.ts';

/** The page's functions for a succession. */
export interface SuccessionEnvironment {
  readonly standing: PageStanding;
  readonly after: (delayMs: number, task: () => void) => () => void;
  /** The worker at the other end of the page's connection; null: there is no connection. */
  leader(): string | null;
  /** The next worker cannot lead: the one before is the page's again. */
  undo(): void;
}

export class Succession {
  readonly done: Promise<void>;
  isOver = false;
  #settle!: (error: Error | null) => void;

  constructor(before: OwnWorker | null, environment: SuccessionEnvironment) {
    const { standing, after, leader, undo } = environment;
    const settled = new Promise<Error | null>((settle) => {
      this.#settle = settle;
    });
    const cancel = after(SUCCESSION_WAIT_MS, () => before?.terminate());
    const stop = standing.onStanding(() => {
      const now = leader();
      if (now !== null && now !== before?.id) this.#settle(null);
    });
    this.done = settled.then((error) => {
      this.isOver = true;
      cancel();
      stop();
      if (error !== null) {
        undo();
        throw error;
      }
      // Its last answers may still be on their way.
      after(LAST_ANSWERS_MS, () => before?.abandon());
    });
  }

  /** The next worker has failed, or the page connects no more. */
  fail(error: Error): void {
    this.#settle(error);
  }
}
