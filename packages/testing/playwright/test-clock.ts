// Moves the time of the objects and that of the pages together.
//
// The objects' clock is in the app's worker, which Playwright's clock does not reach; the pages' `Date` is
// Playwright's. The timers of pages run on their own; a test that drives them too calls `page.clock`.
//
// Invariant: a worker that starts while time stands still has the same time, so that nothing runs early after a reload.

import { storageError } from '@ctx-storage/core/errors';
import type { BrowserContext } from '@playwright/test';
import type { OriginObjects } from './origin-objects.ts';
import { TIME_CHANNEL } from './page/helper-protocol.ts';
import { runAsStep } from './steps.ts';
import { mustBeDuration } from './test-arguments.ts';
import { holdTime } from './worker-scripts.ts';

/** An alarm that has run. */
export interface RanObjectAlarm {
  readonly className: string;
  readonly id: string;
  readonly name: string | undefined;
  /** The time at which the alarm was due, in milliseconds since the epoch. */
  readonly dueTime: number;
}

interface RanByHelper {
  readonly address: { readonly className: string; readonly id: string; readonly name?: string };
  readonly dueMs: number;
}

export class TestClock {
  readonly #objects: OriginObjects;
  readonly #pages: BrowserContext['clock'];
  /** The time at which the clock stands still, for workers that start later; null if it runs. */
  #heldMs: number | null = null;

  constructor(objects: OriginObjects) {
    this.#objects = objects;
    this.#pages = objects.context.clock;
  }

  /** Makes workers that start from now on begin with the time that was set. */
  async arm(): Promise<void> {
    await this.#objects.fronts.add(
      () =>
        `(${holdTime})(${JSON.stringify(TIME_CHANNEL)}, ${JSON.stringify({ heldMs: this.#heldMs })});`,
    );
  }

  /** Returns the objects' time, in milliseconds since the epoch. */
  now(): Promise<number> {
    return runAsStep('clock: now', () => this.#now());
  }

  /** Stops the time of objects and pages at this moment, and runs overdue tasks. */
  set(time: number | Date | string): Promise<void> {
    return runAsStep('clock: set', async () => {
      const timeMs = new Date(time).getTime();
      if (Number.isNaN(timeMs)) {
        throw storageError('INVALID_ARGUMENT', `clock.set: ${String(time)} is not a time.`);
      }
      await this.#objects.ask({ op: 'set', timeMs });
      await this.#follow();
    });
  }

  /**
   * Advances the time from the objects' time, and runs every alarm on the way. If it was not stopped with `set`, the
   * real time that has passed until now counts, too.
   */
  advance(durationMs: number): Promise<void> {
    return runAsStep(`clock: advance ${durationMs} ms`, async () => {
      mustBeDuration('clock.advance', durationMs);
      await this.#objects.ask({ op: 'advance', durationMs });
      await this.#follow();
    });
  }

  /** Advances the time to the next alarm and runs it. Returns null if none is set. */
  runNextAlarm(): Promise<RanObjectAlarm | null> {
    return runAsStep('clock: run the next alarm', async () => {
      const ran = (await this.#objects.ask({ op: 'runNextAlarm' })) as RanByHelper | null;
      await this.#follow();
      if (ran === null) return null;
      const { className, id, name } = ran.address;
      return { className, id, name, dueTime: ran.dueMs };
    });
  }

  /** Returns to the system's time. */
  resume(): Promise<void> {
    return runAsStep('clock: resume', async () => {
      this.#heldMs = null;
      await this.#objects.ask({ op: 'resume' });
      await this.#pages.setSystemTime(Date.now());
    });
  }

  async #follow(): Promise<void> {
    this.#heldMs = await this.#now();
    await this.#pages.setFixedTime(this.#heldMs);
  }

  async #now(): Promise<number> {
    return (await this.#objects.ask({ op: 'now' })) as number;
  }
}
