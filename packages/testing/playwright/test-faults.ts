// Breaks the parts that an app depends on: its disk, its worker, their speed.
//
// Workers of the test's pages begin with a script that can fail.

import { storageError } from '@ctx-storage/core/errors';
import type { OriginObjects } from './origin-objects.ts';
import { inStep } from './steps.ts';
import { mustBeCount, mustBeDuration } from './test-arguments.ts';
import { TestTabs } from './test-tabs.ts';
import {
  FAULTS_CHANNEL,
  failOnDemand,
  type KnownWorker,
  type LastingFaults,
  tellFaults,
  WORKERS_LIST,
  type WorkerFaults,
} from './worker-scripts.ts';

/** How long the worker that leads may take to hear of a fault. */
const TELL_MS_MAX = 10_000;

export class TestFaults {
  readonly #objects: OriginObjects;
  readonly #tabs: TestTabs;
  /** Faults that last until the test changes them, for workers that start later too. */
  #lasting: LastingFaults = { isFull: false, delayMs: 0 };

  constructor(objects: OriginObjects) {
    this.#objects = objects;
    this.#tabs = new TestTabs(objects);
  }

  /** Has workers that start from now on fail when told to. */
  async arm(): Promise<void> {
    await this.#objects.fronts.add(
      () =>
        `(${failOnDemand})(${JSON.stringify(FAULTS_CHANNEL)}, ${JSON.stringify(this.#lasting)});`,
    );
  }

  /** The next flush fails, or the next ones: the writes that it covers are undone, and their callers are told. */
  failNextFlush(count = 1): Promise<void> {
    return this.#tell(`fail the next ${count} flushes`, { failFlushes: count }, () =>
      mustBeCount('faults.failNextFlush', count),
    );
  }

  /** From now on, nothing more fits on the disk, whichever worker leads. */
  fillDisk(): Promise<void> {
    return this.#tell('fill the disk', { isFull: true });
  }

  /** There is room again. */
  freeDisk(): Promise<void> {
    return this.#tell('free the disk', { isFull: false });
  }

  /** From now on, each flush takes this much longer; 0: no longer. */
  delayFlushes(delayMs: number): Promise<void> {
    return this.#tell(`delay flushes by ${delayMs} ms`, { delayMs }, () =>
      mustBeDuration('faults.delayFlushes', delayMs),
    );
  }

  /** The worker that leads does nothing at all for this long. */
  freeze(durationMs: number): Promise<void> {
    return this.#tell(`freeze the worker for ${durationMs} ms`, { freezeMs: durationMs }, () =>
      mustBeDuration('faults.freeze', durationMs),
    );
  }

  /** Ends the worker that leads in the midst of whatever it does; that of `openStorage` too, if there is one. */
  crashWorker(): Promise<void> {
    return inStep('faults: crash the worker', async () => {
      for (const { page, worker } of await this.#tabs.findAll('faults.crashWorker')) {
        await page.evaluate(
          ([list, name]) => {
            const known = (globalThis as unknown as Record<string, KnownWorker[]>)[list!]!;
            known.find((entry) => entry.name === name)!.worker.terminate();
          },
          [WORKERS_LIST, worker],
        );
      }
    });
  }

  #tell(title: string, faults: WorkerFaults, check = () => {}): Promise<void> {
    return inStep(`faults: ${title}`, async () => {
      check();
      const leaders = await this.#tabs.findAll('faults');
      const { isFull = this.#lasting.isFull, delayMs = this.#lasting.delayMs } = faults;
      this.#lasting = { isFull, delayMs };
      const told = Promise.all(
        leaders.map(({ page, worker }) =>
          page.evaluate(tellFaults, [FAULTS_CHANNEL, worker, faults] as [
            string,
            string,
            WorkerFaults,
          ]),
        ),
      );
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        const message =
          `faults: the worker that leads did not hear of it within ${TELL_MS_MAX / 1000} s: it is busy, or was ` +
          'started before the test began, or from an address that is not http(s), such as a blob.';
        timer = setTimeout(() => reject(storageError('WORKER_BUSY', message)), TELL_MS_MAX);
      });
      await Promise.race([told, late]).finally(() => clearTimeout(timer));
    });
  }
}
