// Chooses the medium of a directory in a browser's worker.
//
// Invariants: a directory stays on its first medium, so that data never seems to vanish in another browser mode, window or
// version. Memory is used only if the app requests it. No assertion keeps this: another medium is the user's choice or
// the browser's lack, and has typed errors.

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

/** An open medium. */
export interface BrowserMedium {
  readonly kind: StorageMedium;
  readonly medium: ObjectMedium;
  /** Resolves to the reason when the files were deleted, or can no longer be reached. */
  readonly lost: Promise<Error>;
  readonly watch: FilesWatch;
  /**
   * Tells the medium about a failure that deleted files would explain, so that the next call checks whether the files
   * exist.
   */
  readonly suspect: () => void;
}

export interface BrowserMediumEnvironment extends OpfsEnvironment, WatchEnvironment {}

/**
 * How long the loss of a connection to IndexedDB waits for a better reason: a database that is being deleted may still
 * be found.
 */
const REASON_WAIT_MS = 1000;

/**
 * Opens the directory on the given medium. With null, it opens the directory's recorded medium, or else the best one.
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

/** Opens a new directory on IndexedDB. `occupied` is thrown if OPFS has objects of the directory. */
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
      await environment.sleep(0); // The connections have closed after this turn.
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
      // Failures after the loss are reported with the reason why this worker ends, so that the caller's next call reaches
      // the next worker. Most failures are outcomes, not rejections, so both are checked.
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
    // Without objects on OPFS, the directory may be in IndexedDB, and a new directory on OPFS would look empty.
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
    if (kind === 'opfs') return; // For OPFS, the existence of the folder serves as the record.
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
