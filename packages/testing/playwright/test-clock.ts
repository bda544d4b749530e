// The time of the objects and that of the pages, moved together.
//
// The objects' clock is in the app's worker, which Playwright's does not reach; the pages' `Date` is Playwright's. The
// timers of pages go on by themselves: a test that drives them too calls `page.clock`.
//
// Invariant: a worker that starts while time stands still has no other time, so that nothing runs early after a reload.

import { storageError } from '@ctx-storage/core/errors';
import type { BrowserContext } from '@playwright/test';
import type { OriginObjects } from './origin-objects.ts';
import { TIME_CHANNEL } from './page/helper-protocol.ts';
import { inStep } from './steps.ts';
import { mustBeDuration } from './test-arguments.ts';
import { holdTime } from './worker-scripts.ts';

/** An alarm that ran. */
export interface RanObjectAlarm {
  readonly className: string;
  readonly id: string;
  readonly name: string | undefined;
  /** When it was due, in milliseconds since the epoch. */
  readonly dueTime: number;
}

interface RanByHelper {
  readonly address: { readonly className: string; readonly id: string; readonly name?: string };
  readonly dueMs: number;
}

export class TestClock {
  readonly #objects: OriginObjects;
  readonly #pages: BrowserContext['clock'];
  /** Where time stands still, for workers that start later. */
  #heldMs: number | null = null;

  constructor(objects: OriginObjects) {
    this.#objects = objects;
    this.#pages = objects.context.clock;
  }

  /** Has workers that start from now on begin with the time that was set. */
  async arm(): Promise<void> {
    await this.#objects.fronts.add(
      () =>
        `(${holdTime})(${JSON.stringify(TIME_CHANNEL)}, ${JSON.stringify({ heldMs: this.#heldMs })});`,
    );
  }

  /** The objects' time, in milliseconds since the epoch. */
  now(): Promise<number> {
    return inStep('clock: now', () => this.#now());
  }

  /** Stops the time of objects and pages at this moment, and runs overdue tasks. */
  set(time: number | Date | string): Promise<void> {
    return inStep('clock: set', async () => {
      const timeMs = new Date(time).getTime();
      if (Number.isNaN(timeMs)) {
        throw storageError('INVALID_ARGUMENT', `clock.set: ${String(time)} is not a time.`);
      }
      await this.#objects.ask({ op: 'set', timeMs });
      await this.#follow();
    });
  }

  /**
   * Moves the time on from the objects' time, running every alarm on the way. If it was not stopped with `set`, the
   * time that has passed until now counts, too.
   */
  advance(durationMs: number): Promise<void> {
    return inStep(`clock: advance ${durationMs} ms`, async () => {
      mustBeDuration('clock.advance', durationMs);
      await this.#objects.ask({ op: 'advance', durationMs });
      await this.#follow();
    });
  }

  /** Moves to the next alarm and runs it; null if none is set. */
  runNextAlarm(): Promise<RanObjectAlarm | null> {
    return inStep('clock: run the next alarm', async () => {
      const ran = (await this.#objects.ask({ op: 'runNextAlarm' })) as RanByHelper | null;
      await this.#follow();
      if (ran === null) return null;
      const { className, id, name } = ran.address;
      return { className, id, name, dueTime: ran.dueMs };
    });
  }

  /** Returns to the system's time. */
  resume(): Promise<void> {
    return inStep('clock: resume', async () => {
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
