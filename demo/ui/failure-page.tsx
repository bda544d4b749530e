// The whole page when the storage cannot be opened: what is wrong, its code, and what helps.

import { connect } from '../storage.ts';
import type { Problem } from './problem.ts';

const WAYS_OUT: Readonly<Record<string, string>> = {
  OPFS_UNAVAILABLE:
    'The database needs the origin private file system with synchronous access handles. A current ' +
    'Chrome, Edge, Firefox or Safari has it, though some not in private windows.',
  STORAGE_LOCKED: 'Close other tabs of this page, or wait a few seconds, and try again.',
  WORKER_FAILED: 'The worker or its WebAssembly did not load. Check the network, and reload.',
  DISK_FULL: 'Free some space on this device, or remove data of this site, and try again.',
  CORRUPT:
    'The stored database is damaged. Nothing was changed; keep the profile if the notes matter.',
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
        Nothing is kept in memory instead: notes that would be gone with the tab are not offered.
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

export function OpeningPage() {
  return (
    <main class="opening">
      <p role="status">Opening the database…</p>
      <p class="hint opening-late">
        Still waiting: another tab or a page just closed may hold the files for a few seconds.
      </p>
    </main>
  );
}
