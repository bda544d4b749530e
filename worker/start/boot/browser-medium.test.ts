// Tests which medium a directory is opened on: the recorded one, before all others.

import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { StorageMedium } from '../../../src/shared/contract/medium.ts';

let recorded: StorageMedium | null;
/** Whether OPFS has the synchronous handles. */
let hasHandles: boolean;
/** Whether OPFS has objects of the directory. */
let hasObjects: boolean;
let opened: string[];

let openBrowserMedium: typeof import('./browser-medium.ts').openBrowserMedium;

beforeAll(async () => {
  vi.resetModules();
  vi.doMock('../../engine/file/medium-record.ts', () => ({
    recordedMedium: async () => recorded,
    recordMedium: async (_: string, medium: StorageMedium) => {
      recorded = medium;
    },
  }));
  vi.doMock('../../engine/file/opfs-medium.ts', () => ({
    OpfsMedium: {
      hasObjects: async () => hasObjects,
      open: async () => {
        if (!hasHandles) throw storageError('OPFS_UNAVAILABLE', 'No handles.');
        opened.push('opfs');
        return { watch: {} };
      },
    },
  }));
  vi.doMock('../../engine/file/idb-medium.ts', () => ({
    IdbMedium: {
      open: async () => {
        opened.push('indexeddb');
        return { watch: { cleared: new Promise(() => {}) }, lost: new Promise(() => {}) };
      },
    },
  }));
  ({ openBrowserMedium } = await import('./browser-medium.ts'));
});

afterAll(() => {
  for (const file of ['medium-record', 'opfs-medium', 'idb-medium']) {
    vi.doUnmock(`../../engine/file/${file}.ts`);
  }
  vi.resetModules();
});

beforeEach(() => {
  recorded = null;
  hasHandles = true;
  hasObjects = false;
  opened = [];
});

async function mediumOf(wanted: StorageMedium | null = null): Promise<string> {
  const environment = { sleep: async () => {} } as never;
  return await openBrowserMedium('app', wanted, environment).then(
    ({ kind }) => {
      expect(opened).toEqual(kind === 'memory' ? [] : [kind]);
      return kind;
    },
    (error) => error.code as string,
  );
}

test('[MEDIUM2] a directory stays on the medium that it began with', async () => {
  expect([await mediumOf(), recorded]).toEqual(['opfs', 'opfs']);
  hasHandles = false;
  hasObjects = true;
  expect(await mediumOf()).toBe('OPFS_UNAVAILABLE');
  recorded = null;
  hasObjects = false;
  opened = [];
  expect([await mediumOf(), recorded]).toEqual(['indexeddb', 'indexeddb']);
  // Handles that appear later do not move the directory.
  hasHandles = true;
  opened = [];
  expect(await mediumOf()).toBe('indexeddb');
});

test('[MEDIUM2] objects on OPFS are never hidden by an empty directory in IndexedDB', async () => {
  hasHandles = false;
  hasObjects = true;
  expect([await mediumOf(), recorded]).toEqual(['OPFS_UNAVAILABLE', null]);
  expect([await mediumOf('indexeddb'), recorded]).toEqual(['MEDIUM_CONFLICT', null]);
});

test.for<[StorageMedium | null, StorageMedium, string]>([
  [null, 'opfs', 'opfs'],
  [null, 'indexeddb', 'indexeddb'],
  ['opfs', 'opfs', 'opfs'],
  ['opfs', 'indexeddb', 'MEDIUM_CONFLICT'],
  ['indexeddb', 'indexeddb', 'indexeddb'],
  ['indexeddb', 'opfs', 'MEDIUM_CONFLICT'],
  ['opfs', 'memory', 'memory'],
])('[MEDIUM3] of a directory on %s, %s is asked for: %s', async ([kept, wanted, outcome]) => {
  recorded = kept;
  expect([await mediumOf(wanted), recorded]).toEqual([outcome, kept ?? outcome]);
});
