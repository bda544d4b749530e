// The line at the bottom: whether the objects answer, whether everything is saved, and where it is kept.

import { useEffect, useState } from 'preact/hooks';
import { formatBytes } from '../ui/format.ts';
import { objects, runner } from './session.ts';

const STATES = {
  leading: 'Connected',
  following: 'Connected, by another tab',
  connecting: 'Connecting…',
  lost: 'Not connected',
} as const;

const MEDIA = {
  opfs: 'in this browser',
  indexeddb: 'in this browser (IndexedDB)',
  memory: 'in memory only',
} as const;

export function StatusLine() {
  const [, setCount] = useState(0);
  const status = runner.value?.status ?? null;
  useEffect(() => {
    const onChange = () => setCount((count) => count + 1);
    status?.addEventListener('statechange', onChange);
    return () => status?.removeEventListener('statechange', onChange);
  }, [status]);
  if (runner.value === null) return null;
  const sizeBytes = objects.value.reduce((sum, one) => sum + Number(one.sizeBytes), 0);
  return (
    <footer class="status-line">
      {status === null ? (
        <span>In a sandbox, in memory</span>
      ) : (
        <>
          <span>{STATES[status.state]}</span>
          <span>{status.pendingWrites > 0 ? 'Saving…' : 'Saved'}</span>
          {status.medium !== null && <span>Kept {MEDIA[status.medium]}</span>}
        </>
      )}
      <span>{formatBytes(sizeBytes)}</span>
    </footer>
  );
}
