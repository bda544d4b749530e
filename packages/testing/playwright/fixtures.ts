// Defines the fixtures, and the `test` that has them.

import { storageError } from '@ctx-storage/core/errors';
import {
  test as base,
  type PlaywrightTestArgs,
  type PlaywrightTestOptions,
  type PlaywrightWorkerArgs,
  type PlaywrightWorkerOptions,
  type TestType,
} from '@playwright/test';
import { attachStorages } from './failure-report.ts';
import type { TestForkOptions } from './forks.ts';
import type { ObjectsOptions } from './options.ts';
import type { ObjectsSnapshot } from './snapshots.ts';
import { TestClock } from './test-clock.ts';
import { TestFaults } from './test-faults.ts';
import { defineObjects, type Seed, TestObjects } from './test-objects.ts';
import type { TestStorage } from './test-storage.ts';
import { TestTabs } from './test-tabs.ts';

/** The fixtures that a test can use. */
export interface ObjectsFixtures {
  /** Facts about the app that the harness cannot find out: `test.use({ objectsOptions: { … } })`. */
  readonly objectsOptions: ObjectsOptions;
  /** The objects of the app and their storage, by class and name. */
  readonly objects: TestObjects;
  /**
   * Stores the test's initial data. If it is called before `page.goto`, the data is stored before the app's first
   * script runs.
   */
  readonly seed: Seed;
  /** Marks the present state of all objects. */
  readonly snapshot: () => Promise<ObjectsSnapshot>;
  /** Restores all objects to a snapshot. */
  readonly restore: (snapshot: ObjectsSnapshot) => Promise<void>;
  /** Forks an object into a branch with its data, which is dropped after the test. */
  readonly fork: (storage: TestStorage, options?: TestForkOptions) => Promise<TestStorage>;
  /** Controls the time of objects and pages. */
  readonly clock: TestClock;
  /** The tabs of the app, and which of them leads. */
  readonly tabs: TestTabs;
  /** Makes the disk and the worker fail. */
  readonly faults: TestFaults;
}

// The type is written out, because the compiler would otherwise name `playwright`, which this package cannot resolve in
// every installation.
/** Playwright's `test`, with the fixtures of this package. */
export const test: TestType<
  PlaywrightTestArgs & PlaywrightTestOptions & ObjectsFixtures,
  PlaywrightWorkerArgs & PlaywrightWorkerOptions
> = base.extend<ObjectsFixtures>({
  objectsOptions: [{}, { option: true }],
  objects: async ({ context, baseURL, objectsOptions }, use, testInfo) => {
    const objects = defineObjects({ context, baseURL, ...objectsOptions });
    const startedMs = Date.now();
    await use(objects);
    if (testInfo.status !== testInfo.expectedStatus) {
      await attachStorages(objects.touched, testInfo, startedMs);
      return;
    }
    await objects.verify();
    await objects.dropForks(); // the branches of a failed test are in its report
  },
  seed: ({ objects }, use) => use(requireOwnObjects(objects).seed),
  snapshot: ({ objects }, use) => use(requireOwnObjects(objects).snapshot),
  restore: ({ objects }, use) => use(requireOwnObjects(objects).restore),
  fork: ({ objects }, use) => use(requireOwnObjects(objects).fork),
  clock: async ({ objects }, use) => {
    const clock = new TestClock(requireOwnObjects(objects).origin);
    await clock.arm();
    await use(clock);
  },
  tabs: async ({ objects }, use) => {
    const tabs = new TestTabs(requireOwnObjects(objects).origin);
    await tabs.watch();
    await use(tabs);
  },
  faults: async ({ objects }, use) => {
    const faults = new TestFaults(requireOwnObjects(objects).origin);
    await faults.arm();
    await use(faults);
  },
});

/**
 * Returns this package's own fixture, on which the others depend. @throws INVALID_ARGUMENT if a merged test has another
 * fixture of this name
 */
function requireOwnObjects(objects: unknown): TestObjects {
  if (objects instanceof TestObjects) return objects;
  throw storageError(
    'INVALID_ARGUMENT',
    'fixtures: `objects` is not that of ctx-storage/playwright: a test that was merged with it has a fixture of ' +
      'this name. Give that one another name, or use defineObjects({ context, baseURL }) in it.',
  );
}
