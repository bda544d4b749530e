// Makes the parts fail on which an app depends: its disk, its worker, and their speed.
//
// Workers of the test's pages begin with a script that can fail on demand.

import { storageError } from '@ctx-storage/core/errors';
import type { OriginObjects } from './origin-objects.ts';
import { runAsStep } from './steps.ts';
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

/** How long the worker that leads may take to receive a fault. */
const TELL_MS_MAX = 10_000;

export class TestFaults {
  readonly #objects: OriginObjects;
  readonly #tabs: TestTabs;
  /** Faults that last until the test changes them. Workers that start later have them, too. */
  #lasting: LastingFaults = { isFull: false, delayMs: 0 };

  constructor(objects: OriginObjects) {
    this.#objects = objects;
    this.#tabs = new TestTabs(objects);
  }

  /** Makes workers that start from now on able to fail on demand. */
  async arm(): Promise<void> {
    await this.#objects.fronts.add(
      () =>
        `(${failOnDemand})(${JSON.stringify(FAULTS_CHANNEL)}, ${JSON.stringify(this.#lasting)});`,
    );
  }

  /** Makes the next `count` flushes fail: the writes that each covers are undone, and their callers get the error. */
  failNextFlush(count = 1): Promise<void> {
    return this.#tell(`fail the next ${count} flushes`, { failFlushes: count }, () =>
      mustBeCount('faults.failNextFlush', count),
    );
  }

  /** From now on, nothing more fits on the disk, whichever worker leads. */
  fillDisk(): Promise<void> {
    return this.#tell('fill the disk', { isFull: true });
  }

  /** Frees the disk, so that writes succeed again. */
  freeDisk(): Promise<void> {
    return this.#tell('free the disk', { isFull: false });
  }

  /** From now on, each flush takes this much longer; 0 ends the delay. */
  delayFlushes(delayMs: number): Promise<void> {
    return this.#tell(`delay flushes by ${delayMs} ms`, { delayMs }, () =>
      mustBeDuration('faults.delayFlushes', delayMs),
    );
  }

  /** Blocks the thread of the worker that leads for this many milliseconds. */
  freeze(durationMs: number): Promise<void> {
    return this.#tell(`freeze the worker for ${durationMs} ms`, { freezeMs: durationMs }, () =>
      mustBeDuration('faults.freeze', durationMs),
    );
  }

  /**
   * Terminates the worker that leads in the middle of its work, and that of `openStorage`, if there is one. Resolves when
   * every tab has learned of it: a call that is made afterwards reaches the next worker.
   */
  crashWorker(): Promise<void> {
    return runAsStep('faults: crash the worker', async () => {
      const leaders = await this.#tabs.findAll('faults.crashWorker');
      for (const { page, worker } of leaders) {
        await page.evaluate(
          ([list, name]) => {
            const known = (globalThis as unknown as Record<string, KnownWorker[]>)[list!]!;
            known.find((entry) => entry.name === name)!.worker.terminate();
          },
          [WORKERS_LIST, worker],
        );
      }
      const ended = leaders.map(({ worker }) => worker);
      await Promise.all(this.#tabs.all().map((page) => page.evaluate(waitForEnds, ended)));
    });
  }

  #tell(title: string, faults: WorkerFaults, check = () => {}): Promise<void> {
    return runAsStep(`faults: ${title}`, async () => {
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

/**
 * Runs in a page. A worker holds a lock for its life, whose name ends with its own, and the page waits for that lock to
 * learn of the end. Locks are granted in the order of their requests, so the page has learned of it before this resolves.
 */
async function waitForEnds(workers: readonly string[]): Promise<void> {
  const { held = [] } = await navigator.locks.query();
  const locks = held.flatMap(({ name = '' }) => {
    return workers.some((worker) => name.endsWith(`/worker/${worker}`)) ? [name] : [];
  });
  await Promise.all(locks.map((name) => navigator.locks.request(name, () => {})));
}
