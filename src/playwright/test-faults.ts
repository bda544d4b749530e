// Breaks what an app rests on: its disk, its worker, their speed.
//
// Pages of the test get their workers with a script in front that can fail; what the app itself loads is unchanged.

import type { BrowserContext } from '@playwright/test';
import { storageError } from '../contract/errors.ts';
import type { OriginObjects } from './origin-objects.ts';
import { inStep } from './steps.ts';
import { TestTabs } from './test-tabs.ts';
import {
  FAULTS_CHANNEL,
  FAULTS_PARAMETER,
  failOnDemand,
  type KnownWorker,
  tellFaults,
  WORKERS_LIST,
  type WorkerFaults,
  watchWorkers,
} from './worker-scripts.ts';

/** How long the worker that leads may take to hear of a fault. */
const TELL_MS_MAX = 10_000;

const MARKED = new RegExp(`[?&]${FAULTS_PARAMETER}(?:&|$)`);

export class TestFaults {
  readonly #context: BrowserContext;
  readonly #tabs: TestTabs;

  constructor(objects: OriginObjects) {
    this.#context = objects.context;
    this.#tabs = new TestTabs(objects);
  }

  /** Has workers that start from now on fail when told to. */
  async arm(): Promise<void> {
    await this.#context.addInitScript(watchWorkers, {
      list: WORKERS_LIST,
      parameter: FAULTS_PARAMETER,
    });
    await this.#context.route(MARKED, async (route) => {
      const address = route.request().url().replace(MARKED, '');
      const response = await route.fetch({ url: address });
      if (!response.ok()) return await route.fulfill({ response });
      const fault = `(${failOnDemand})(${JSON.stringify(FAULTS_CHANNEL)});`;
      await route.fulfill({ response, body: `${fault}\n${await response.text()}` });
    });
  }

  /** The next flush fails, or the next ones: the writes that it covers are undone, and their callers are told. */
  failNextFlush(count = 1): Promise<void> {
    return this.#tell(`fail the next ${count} flushes`, { failFlushes: count });
  }

  /** From now on, nothing more fits on the disk. */
  fillDisk(): Promise<void> {
    return this.#tell('fill the disk', { isFull: true });
  }

  /** There is room again. */
  freeDisk(): Promise<void> {
    return this.#tell('free the disk', { isFull: false });
  }

  /** From now on, each flush takes this much longer; 0: no longer. */
  delayFlushes(delayMs: number): Promise<void> {
    return this.#tell(`delay flushes by ${delayMs} ms`, { delayMs });
  }

  /** The worker that leads does nothing at all for this long. */
  freeze(durationMs: number): Promise<void> {
    return this.#tell(`freeze the worker for ${durationMs} ms`, { freezeMs: durationMs });
  }

  /** Ends the worker that leads in the midst of whatever it does. */
  crashWorker(): Promise<void> {
    return inStep('faults: crash the worker', async () => {
      const { page, worker } = await this.#tabs.find('faults.crashWorker');
      await page.evaluate(
        ([list, name]) => {
          const known = (globalThis as unknown as Record<string, KnownWorker[]>)[list!]!;
          known.find((entry) => entry.name === name)!.worker.terminate();
        },
        [WORKERS_LIST, worker],
      );
    });
  }

  #tell(title: string, faults: WorkerFaults): Promise<void> {
    return inStep(`faults: ${title}`, async () => {
      const { page, worker } = await this.#tabs.find('faults');
      const told = page.evaluate(tellFaults, [FAULTS_CHANNEL, worker, faults] as [
        string,
        string,
        WorkerFaults,
      ]);
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
