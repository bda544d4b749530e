// The entry `ctx-storage/playwright` tests an app that uses this package, from outside of the browser.

export { type ObjectsFixtures, test } from './fixtures.ts';
export type { TestForkOptions } from './forks.ts';
export { type ChangeOptions, type ExpectedChange, expect, type MatchOptions } from './matchers.ts';
export type { ById } from './object-names.ts';
export type { ObjectsOptions } from './options.ts';
export {
  evictDurableObject,
  listDurableObjectIds,
  type RemoteInstance,
  type RemoteState,
  reset,
  runDurableObjectAlarm,
  runInDurableObject,
} from './runtime-names.ts';
export type { SeedContent, SeedTable } from './seed.ts';
export type { ObjectsSnapshot } from './snapshots.ts';
export { type RanObjectAlarm, TestClock } from './test-clock.ts';
export { TestFaults } from './test-faults.ts';
export {
  type DefineOptions,
  defineObjects,
  type Seed,
  type StoredObject,
  TestObjects,
} from './test-objects.ts';
export { TestStorage } from './test-storage.ts';
export { TestTabs } from './test-tabs.ts';
