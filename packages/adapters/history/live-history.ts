// The entry `ctx-storage/history`: the commits of an object as a live value, for a list that stays up to date.
//
// It contains no code of the page's entry, and uses only the interface of that entry's handles.
//
// Invariant: a bookmark names one commit, so lists with the same bookmarks are equal, and need not be reported again.

import { isStorageError } from '@ctx-storage/core/errors';
import { type LiveSource, LiveValue, mustBeHandle, readAfterCommits } from '@ctx-storage/core/live';
import type { HistoryOptions, Live, StorageCommit, StorageHandle } from '@ctx-storage/core/storage';

/** The pause between two readings of the history, because other tabs may commit often. */
const PAUSE_MS = 100;

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, PAUSE_MS));

/**
 * The commits that `storage.history(options)` lists, again after each commit of any tab: at most ten times in a second,
 * the last one always. For `useLive` and `useLiveValue` of the frameworks' entries, `for await` and `subscribe`.
 *
 * @throws StorageError INVALID_ARGUMENT for a value that is not a handle; options are checked by the first reading,
 *   which fails with the errors of `history`
 */
export function liveHistory(
  storage: StorageHandle,
  options: HistoryOptions = {},
): Live<StorageCommit[]> {
  mustBeHandle('liveHistory', storage);
  const { from, to, before, limit } = options;
  const { owner } = storage.sql.live('SELECT 1').identity; // a live value that nobody subscribes to reads nothing
  const key = `history ${JSON.stringify([Number(from), Number(to), before, limit])}`;
  let last: StorageCommit[] = [];
  return new LiveValue(
    sourceOf(storage, options, (commits) => (last = commits)),
    () => last,
    {
      owner,
      key,
    },
  );
}

/**
 * Reads the history after each commit. `take` gets the commits; the sink gets only their bookmarks, which tell lists
 * apart.
 */
function sourceOf(
  storage: StorageHandle,
  options: HistoryOptions,
  take: (commits: StorageCommit[]) => void,
): LiveSource {
  return (sink) => {
    const read = async () => {
      const commits = await storage.history(options);
      take(commits);
      const names = commits.map(({ bookmark }) => bookmark).join();
      sink.result(new TextEncoder().encode(names));
    };
    const report = (error: unknown) => {
      // The code means that the handle is closed, so no later reading can succeed.
      if (isStorageError(error) && error.code === 'CONNECTION_CLOSED') sink.ended(error);
      else sink.failed(error);
    };
    const onError = (error: unknown) => {
      if (isStorageError(error) && error.retryable) read().catch(report);
      else report(error);
    };
    return readAfterCommits(storage, { read, onError, pause });
  };
}
