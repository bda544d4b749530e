// Shows the page: the introduction, the code, and next to it the running objects.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { SiteHead } from '../ui/site-head.tsx';
import { CallPanel } from './call-panel.tsx';
import { CodePane } from './code-pane.tsx';
import { DataPanel } from './data-panel.tsx';
import { LogPanel } from './log-panel.tsx';
import { isSandboxed, keep, linkProblem, openFirst, project, trust } from './project.ts';
import { end, run, runState } from './session.ts';
import { StatusLine } from './status-line.tsx';
import { TimeBar } from './time-bar.tsx';

/** Matches wide screens. On a phone the code comes last, except a stranger's, which is to be read before it is run. */
const WIDE = matchMedia('(min-width: 60rem)');
const isWide = signal(WIDE.matches);
WIDE.addEventListener('change', ({ matches }) => {
  isWide.value = matches;
});

export function Playground() {
  useEffect(() => {
    const onHash = () => {
      end();
      void openFirst();
    };
    window.addEventListener('hashchange', onHash);
    return () => window.removeEventListener('hashchange', onHash);
  }, []);
  const isCodeFirst = isWide.value || isSandboxed(project.value);
  return (
    <div class="playground">
      <SiteHead current="./" />
      <section class="intro intro-line" aria-label="What this is">
        <h2>Write a stateful object. Run it here, with no server. Deploy the same class.</h2>
        <p>
          The storage of Durable Objects, in your browser: keys, SQL, alarms and sockets on a real
          SQLite database that outlives this tab.
        </p>
        <p class="install">
          <code>npm install ctx-storage</code>
        </p>
      </section>
      {linkProblem.value !== null && (
        <p class="problem" role="alert">
          {linkProblem.value}
        </p>
      )}
      {isSandboxed(project.value) && <SandboxNote />}
      <main class="bench">
        {isCodeFirst && <CodePane key="code" />}
        <div key="side" class="bench-side">
          <CallPanel />
          <DataPanel />
          <LogPanel />
        </div>
        {!isCodeFirst && <CodePane key="code" />}
      </main>
      <TimeBar />
      <StatusLine />
    </div>
  );
}

/** Whether another page frames this one, which could trick the visitor into clicking the button that runs code. */
const isFramed = window.top !== window;

const SAID = {
  idle: 'It has not run.',
  starting: 'It starts in a sandbox.',
  running: 'It runs in a sandbox.',
  failed: 'It does not run.',
} as const;

function SandboxNote() {
  const state = runState.value;
  const { kind, name, data } = project.value;
  return (
    <section class="shared-note" aria-label="Shared code">
      <p>
        <strong>
          {kind === 'shared' ? 'Somebody shared this code' : 'Somebody else wrote this code'}: “
          {name}”.
        </strong>{' '}
        {SAID[state.kind]} In the sandbox it has no network, and sees nothing that is stored on this
        site.{' '}
        {data === null
          ? 'Its data ends with it.'
          : 'It came with its data and history: each run begins with them, and changes end with the run.'}
        {data !== null && kind === 'kept' && ' Trusted, it begins without them.'}
      </p>
      <div class="actions">
        {kind === 'shared' && (
          <>
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
              Keep it, to change it
            </button>
          </>
        )}
        {kind === 'kept' && !isFramed && (
          <button
            type="button"
            onClick={() => {
              end();
              trust();
            }}
          >
            Trust it: it can read everything stored on this site
          </button>
        )}
      </div>
    </section>
  );
}
