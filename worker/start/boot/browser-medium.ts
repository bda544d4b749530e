// Chooses the medium of a directory in a browser's worker.
//
// Invariants: a directory stays on the medium that it began with, so that no browser, window or update ever
// shows other data than before; memory is used only when it is asked for by name.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { StorageMedium } from '../../../src/shared/contract/medium.ts';
import type { FilesWatch } from '../../../src/shared/wire/worker-end.ts';
import type { WatchEnvironment } from '../../engine/file/clearance-watch.ts';
import { isFromFullDisk } from '../../engine/file/full-disk.ts';
import { IdbMedium } from '../../engine/file/idb-medium.ts';
import { lockedError, SilentDatabase } from '../../engine/file/idb-turns.ts';
import { MemoryMedium, type ObjectMedium } from '../../engine/file/medium.ts';
import { recordedMedium, recordMedium } from '../../engine/file/medium-record.ts';
import type { OpfsEnvironment } from '../../engine/file/opfs-file.ts';
import { OpfsMedium } from '../../engine/file/opfs-medium.ts';

/** A medium that was opened. */
export interface BrowserMedium {
  readonly kind: StorageMedium;
  readonly medium: ObjectMedium;
  /** Resolves to the reason when the files are gone, or cannot be reached any more. */
  readonly lost: Promise<Error>;
  readonly watch: FilesWatch;
  /** Something failed that the end of the files would explain. */
  readonly suspect: () => void;
}

export interface BrowserMediumEnvironment extends OpfsEnvironment, WatchEnvironment {}

/** How long a lost connection waits for the reason: a database that is being deleted may still be found. */
const REASON_WAIT_MS = 1000;

/**
 * Opens the directory on the given medium; null: on its recorded medium, else on the best one here.
 *
 * @throws MEDIUM_CONFLICT, OPFS_UNAVAILABLE, INSECURE_CONTEXT, DISK_FULL, STORAGE_LOCKED
 */
export async function openBrowserMedium(
  directory: string,
  wanted: StorageMedium | null,
  environment: BrowserMediumEnvironment,
): Promise<BrowserMedium> {
  if (wanted === 'memory') return inMemory();
  const recorded = await readRecord(directory);
  if (recorded !== null && wanted !== null && recorded !== wanted) {
    throw conflict(directory, wanted, recorded);
  }
  if (recorded === 'opfs') return await onOpfs(directory, environment, 'known');
  if (recorded === 'indexeddb') return await onIndexedDb(directory, environment);
  const opened =
    wanted === 'indexeddb'
      ? await firstOnIndexedDb(directory, environment, conflict(directory, wanted, 'opfs'))
      : await best(directory, wanted, environment);
  await writeRecord(directory, opened.kind);
  return opened;
}

async function best(
  directory: string,
  wanted: 'opfs' | null,
  environment: BrowserMediumEnvironment,
): Promise<BrowserMedium> {
  try {
    return await onOpfs(directory, environment, 'untried');
  } catch (error) {
    const isMissing = isStorageError(error) && error.code === 'OPFS_UNAVAILABLE';
    if (!isMissing || wanted === 'opfs') throw error;
    return await firstOnIndexedDb(directory, environment, error);
  }
}

/** `occupied`: the error if OPFS has the directory's objects. */
async function firstOnIndexedDb(
  directory: string,
  environment: BrowserMediumEnvironment,
  occupied: Error,
): Promise<BrowserMedium> {
  if (await OpfsMedium.hasObjects(directory)) throw occupied;
  return await onIndexedDb(directory, environment);
}

async function onOpfs(
  directory: string,
  environment: BrowserMediumEnvironment,
  handles: 'known' | 'untried',
): Promise<BrowserMedium> {
  const medium = await OpfsMedium.open(directory, environment, handles);
  const { watch } = medium;
  return { kind: 'opfs', medium, lost: watch.cleared, watch, suspect: () => watch.expire() };
}

async function onIndexedDb(
  directory: string,
  environment: BrowserMediumEnvironment,
): Promise<BrowserMedium> {
  const medium = await IdbMedium.open(directory, environment);
  const { watch } = medium;
  const lost = medium.lost.then(async (reason) => {
    await environment.sleep(REASON_WAIT_MS);
    return watch.look().then(
      () => reason,
      (cleared: Error) => cleared,
    );
  });
  const unlessLost = async <T>(result: T | Promise<T>): Promise<T> => {
    const [settled] = await Promise.allSettled([result]);
    if (medium.isLost) {
      const reason = await lost;
      await environment.sleep(0); // the connections have ended by then
      throw reason;
    }
    if (settled.status === 'rejected') throw settled.reason;
    return settled.value;
  };
  return {
    kind: 'indexeddb',
    medium,
    lost: Promise.race([watch.cleared, lost]),
    watch: {
      // Failures after the loss are reported with the reason why this worker ends, so that the caller's next
      // call reaches the next worker. Most failures are outcomes, not rejections.
      during(work) {
        const result = watch.during(work);
        return result instanceof Promise || medium.isLost ? unlessLost(result) : result;
      },
    },
    suspect: () => watch.expire(),
  };
}

function inMemory(): BrowserMedium {
  return {
    kind: 'memory',
    medium: new MemoryMedium(),
    lost: new Promise(() => {}),
    watch: { during: (work) => work() },
    suspect: () => {},
  };
}

async function readRecord(directory: string): Promise<StorageMedium | null> {
  try {
    return await recordedMedium(directory);
  } catch (cause) {
    // Otherwise it may be in IndexedDB, and a new one on OPFS would look empty.
    if (await OpfsMedium.hasObjects(directory)) return 'opfs';
    if (cause instanceof SilentDatabase) throw recordLocked(directory, cause);
    const isFull = await isFromFullDisk(cause);
    throw storageError(
      isFull ? 'DISK_FULL' : 'OPFS_UNAVAILABLE',
      `The medium of the directory "${directory}" could not be read: it is noted in IndexedDB, which the ` +
        `browser refuses (${isFull ? 'a full disk' : 'a private window, or site data that is blocked?'}): ` +
        String(cause),
      { cause },
    );
  }
}

async function writeRecord(directory: string, kind: StorageMedium): Promise<void> {
  try {
    await recordMedium(directory, kind);
  } catch (cause) {
    if (kind === 'opfs') return; // its folder is a record too
    if (cause instanceof SilentDatabase) throw recordLocked(directory, cause);
    const isFull = await isFromFullDisk(cause);
    throw storageError(
      isFull ? 'DISK_FULL' : 'IO',
      `The medium of the directory "${directory}" could not be noted in IndexedDB: ${String(cause)}`,
      { cause },
    );
  }
}

function recordLocked(directory: string, cause: SilentDatabase): Error {
  return lockedError(`The record of the medium of the directory "${directory}" (IndexedDB)`, cause);
}

function conflict(directory: string, wanted: StorageMedium, kept: StorageMedium): Error {
  return storageError(
    'MEDIUM_CONFLICT',
    `The directory "${directory}" is kept on the medium "${kept}", and "${wanted}" was asked for. Omit the ` +
      'option medium, or name another directory.',
  );
}
