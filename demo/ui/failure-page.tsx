// Shows a whole page when the storage cannot be opened: the failed action, its code, and what the user can do.

import { connect } from '../storage.ts';
import type { Problem } from './problem.ts';

const WAYS_OUT: Readonly<Record<string, string>> = {
  OPFS_UNAVAILABLE:
    'The database needs the origin private file system with synchronous access handles. A current ' +
    'Chrome, Edge, Firefox or Safari has it, but some lack it in private windows.',
  STORAGE_LOCKED: 'Close other tabs of this page, or wait a few seconds, and try again.',
  WORKER_FAILED: 'The worker or its WebAssembly did not load. Check the network, and reload.',
  DISK_FULL: 'Free some space on this device, or delete data of this site, and try again.',
  CORRUPT:
    'The stored database is damaged. Nothing was changed; keep the browser profile if you need the notes.',
};

export function FailurePage({ problem }: { problem: Problem }) {
  return (
    <main class="failure">
      <h1>The notes cannot be opened</h1>
      <p>
        <code class="problem-code">{problem.code}</code>
      </p>
      <p role="alert">{problem.message}</p>
      {WAYS_OUT[problem.code] !== undefined && <p>{WAYS_OUT[problem.code]}</p>}
      <p class="hint">
        There is no fallback to memory, because notes kept there would be lost with the tab.
      </p>
      <div class="actions">
        <button type="button" class="primary" onClick={() => void connect()}>
          Try again
        </button>
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </div>
    </main>
  );
}

/** Shows, in place of the notes, that the storage is being opened. */
export function Opening() {
  return (
    <main class="opening">
      <p role="status">Opening the database…</p>
      <p class="hint opening-late">
        Still waiting: another tab, or a page that was just closed, may hold the files for a few
        seconds.
      </p>
    </main>
  );
}
