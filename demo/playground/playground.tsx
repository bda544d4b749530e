// The page: what this is, the code, and beside it what the code does.

import { useEffect } from 'preact/hooks';
import { SiteHead } from '../ui/site-head.tsx';
import { CallPanel } from './call-panel.tsx';
import { CodePane } from './code-pane.tsx';
import { DataPanel } from './data-panel.tsx';
import { LogPanel } from './log-panel.tsx';
import { keep, linkProblem, openFirst, project } from './project.ts';
import { end, run, runState } from './session.ts';
import { StatusLine } from './status-line.tsx';

export function Playground() {
  useEffect(() => {
    const onHash = () => {
      end();
      void openFirst();
    };
    window.addEventListener('hashchange', onHash);
    return () => window.removeEventListener('hashchange', onHash);
  }, []);
  return (
    <div class="playground">
      <SiteHead current="./" />
      <section class="intro" aria-label="What this is">
        <h2>Write a stateful object. Run it here, with no server. Deploy the same class.</h2>
        <p>
          The storage of Durable Objects, in your browser: keys, SQL, alarms and sockets on a real
          SQLite database that outlives this tab.
        </p>
      </section>
      {linkProblem.value !== null && (
        <p class="problem" role="alert">
          {linkProblem.value}
        </p>
      )}
      {project.value.kind === 'shared' && <SharedNote />}
      <main class="bench">
        <CodePane />
        <div class="bench-side">
          <CallPanel />
          <LogPanel />
          <DataPanel />
        </div>
      </main>
      <StatusLine />
    </div>
  );
}

function SharedNote() {
  const state = runState.value;
  return (
    <section class="shared-note" aria-label="Shared code">
      <p>
        <strong>Somebody shared this code: “{project.value.name}”.</strong>{' '}
        {state.kind === 'idle' ? 'It has not run.' : 'It runs in a sandbox.'} There it has no
        network, and sees nothing that you have stored here; what it stores ends with it.
      </p>
      <div class="actions">
        <button
          type="button"
          class="primary"
          disabled={state.kind === 'starting'}
          onClick={() => void run()}
        >
          {state.kind === 'idle' ? 'Run in a sandbox' : 'Run it again'}
        </button>
        <button
          type="button"
          onClick={() => {
            end();
            keep();
          }}
        >
          Keep it: copy it to my own
        </button>
      </div>
    </section>
  );
}
