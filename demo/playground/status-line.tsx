// Shows the line at the bottom: whether the objects answer, whether everything is saved, where it is stored, and
// whether the browser may delete it.

import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { ConnectionStatus } from '../../src/index.ts';
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
      {status !== null && status.medium !== 'memory' && <Keeping persisted={status.persisted} />}
    </footer>
  );
}

/**
 * Shows whether the browser may delete the data, and a button that asks it not to, because some browsers ask the user.
 */
function Keeping({ persisted }: { persisted: ConnectionStatus['persisted'] }) {
  const answer = useSignal<'none' | 'waiting' | 'granted' | 'refused'>('none');
  if (persisted === 'granted' || answer.value === 'granted') {
    return <span role="status">Only you can delete it</span>;
  }
  if (persisted === 'unavailable') return null;
  const ask = async () => {
    answer.value = 'waiting';
    // A request that fails counts as refused.
    const isGranted = await navigator.storage.persist().catch(() => false);
    answer.value = isGranted ? 'granted' : 'refused';
  };
  return (
    <span role="status">
      {answer.value === 'refused' &&
        'The browser refused: it may delete this when space is short. Bookmark or install the site, then ask again. '}
      <button
        type="button"
        class="link"
        title="Asks the browser not to delete it when space is short"
        disabled={answer.value === 'waiting'}
        onClick={() => void ask()}
      >
        {answer.value === 'refused' ? 'Ask again' : 'Keep this data'}
      </button>
    </span>
  );
}
