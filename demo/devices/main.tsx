// Starts the devices page: two devices and a server in one page, with a switch for each connection.

import { useSignal } from '@preact/signals';
import { render } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { FollowRefusal } from '../../packages/follow/app/followed.ts';
import { keepOffline } from '../offline/register.ts';
import { problemOf } from '../ui/problem.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import { SiteHead } from '../ui/site-head.tsx';
import { devices, openLists, problem, restart, type ShownList, server, stateOf } from './lists.ts';
import { offline, setOffline } from './network.ts';

const NAMES = ['Phone', 'Laptop'] as const;

function DevicesPage() {
  return (
    <div class="playground">
      <SiteHead current="./devices.html" />
      <main class="panel-body">
        <p>
          Two devices and a server, each with its own storage, all in this page. A device runs the
          class itself, so it answers at once, also in aeroplane mode; the server runs each call
          again, and the devices show its result. Add one item on both devices while both are
          offline: the server refuses the second one.
        </p>
        {problem.value && (
          <ProblemNote title="The lists could not be opened." problem={problem.value} />
        )}
        <div class="devices">
          {NAMES.map((name) => (
            <Device key={name} name={name} list={devices.value.get(name)} />
          ))}
          <Server />
        </div>
      </main>
    </div>
  );
}

function Device({ name, list }: { readonly name: string; readonly list: ShownList | undefined }) {
  const isOffline = offline.value.has(name);
  return (
    <section class="card device" aria-label={name}>
      <h2>{name}</h2>
      <label class="switch">
        <input
          type="checkbox"
          checked={isOffline}
          onChange={({ currentTarget }) => setOffline(name, currentTarget.checked)}
        />
        Aeroplane mode
      </label>
      {list === undefined ? <p>Opening …</p> : <Follower list={list} />}
    </section>
  );
}

function Follower({ list }: { readonly list: ShownList }) {
  const status = useMemo(() => stateOf(list), [list.stub]);
  const [, setCount] = useState(0);
  const [refusals, setRefusals] = useState<readonly FollowRefusal[]>([]);
  useEffect(() => {
    const changed = () => {
      setCount((count) => count + 1);
      void status.refusals().then(setRefusals, () => {});
    };
    status.addEventListener('change', changed);
    changed();
    return () => status.removeEventListener('change', changed);
  }, [status]);
  return (
    <>
      <p role="status">{stateText(status)}</p>
      <Items list={list} canWrite={true} />
      {refusals.map((refusal) => (
        <p class="refusal" key={refusal.n}>
          Refused: {refusal.method} “{String(refusal.args[0])}”. {messageOf(refusal.reason)}{' '}
          <button type="button" onClick={() => void status.dismiss(refusal)}>
            Dismiss
          </button>
        </p>
      ))}
    </>
  );
}

function Server() {
  const list = server.value;
  return (
    <section class="card device" aria-label="Server">
      <h2>Server</h2>
      <button type="button" onClick={() => void restart()}>
        Restart
      </button>
      {list === null ? <p>Opening …</p> : <Items list={list} canWrite={false} />}
    </section>
  );
}

function Items({ list, canWrite }: { readonly list: ShownList; readonly canWrite: boolean }) {
  const title = useSignal('');
  const failure = useSignal<string | null>(null);
  const make = (call: Promise<unknown>) => {
    failure.value = null;
    call.catch((error) => {
      failure.value = problemOf(error).message;
    });
  };
  return (
    <>
      {canWrite && (
        <form
          class="actions"
          onSubmit={(event) => {
            event.preventDefault();
            if (title.value.trim() === '') return;
            make(list.stub.add(title.value.trim()));
            title.value = '';
          }}
        >
          <input
            aria-label="New item"
            value={title.value}
            onInput={({ currentTarget }) => {
              title.value = currentTarget.value;
            }}
          />
          <button type="submit">Add</button>
        </form>
      )}
      {failure.value && <p class="refusal">{failure.value}</p>}
      <ul class="items">
        {list.items?.map(({ id, title: text, done }) => (
          <li key={id}>
            <label>
              <input
                type="checkbox"
                checked={done === 1}
                disabled={!canWrite}
                onChange={() => make(list.stub.tick(text))}
              />
              {text}
            </label>
            {canWrite && (
              <button
                type="button"
                aria-label={`Remove ${text}`}
                onClick={() => make(list.stub.remove(text))}
              >
                ×
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function stateText({ state, pending }: ReturnType<typeof stateOf>): string {
  const place = {
    offline: 'Offline',
    catchingUp: 'Catching up',
    current: 'Up to date',
    outdated: 'Another version: load the page again',
    stopped: 'Stopped',
  };
  return pending === 0 ? place[state] : `${place[state]}, ${pending} to send`;
}

function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

const root = document.getElementById('app')!;
root.replaceChildren();
render(<DevicesPage />, root);
void openLists(NAMES);
keepOffline();
