// Shows the page once the storage is open: the notes, and beside them a panel on the same database.

import { useEffect } from 'preact/hooks';
import { keepFocus, SEARCH_ID } from './notes/focus.ts';
import { NoteEditor } from './notes/note-editor.tsx';
import { NoteList, startNewNote } from './notes/note-list.tsx';
import { startNotes } from './notes/notes.ts';
import { CharacterPanel } from './panels/character-panel.tsx';
import { startCharacters } from './panels/characters.ts';
import { StoragePanel } from './panels/storage-panel.tsx';
import { navigate, type Panel, type Route, route, showNotes } from './route.ts';
import { connection } from './storage.ts';
import { FailurePage, Opening } from './ui/failure-page.tsx';
import { Intro } from './ui/intro.tsx';
import { Messages } from './ui/messages.tsx';
import { SiteHead } from './ui/site-head.tsx';
import { StatusStrip, startStatus } from './ui/status-strip.tsx';

const VIEWS: readonly { readonly view: Route['view']; readonly label: string }[] = [
  { view: 'notes', label: 'Notes' },
  { view: 'storage', label: 'Storage' },
  { view: 'characters', label: 'Data set' },
];

const PANEL_LABELS: Readonly<Record<Panel, string>> = {
  storage: 'Storage',
  characters: 'Data set',
};

export function App() {
  const state = connection.value;
  if (state.kind === 'refused') return <FailurePage problem={state.problem} />;
  return <Frame isOpen={state.kind !== 'opening'} />;
}

/** Shows the parts that need no storage, which appear at once and do not move. */
function Frame({ isOpen }: { isOpen: boolean }) {
  useEffect(() => {
    if (!isOpen) return;
    startNotes();
    keepFocus(document.getElementById('app')!);
    startCharacters();
    startStatus();
    document.addEventListener('keydown', onShortcut);
  }, [isOpen]);
  const { view, note } = route.value;
  const panel: Panel = view === 'notes' ? 'storage' : view;
  return (
    <div class="app" data-view={view} data-note={note === null ? 'closed' : 'open'}>
      <SiteHead current="./notes.html" />
      <Intro />
      {isOpen ? (
        <>
          <main class="main">
            <Views panel={panel} />
            <NoteList />
            <NoteEditor />
            <section class="panel" aria-label={PANEL_LABELS[panel]}>
              <StoragePanel hidden={panel !== 'storage'} />
              {panel === 'characters' && <CharacterPanel />}
            </section>
          </main>
          <StatusStrip />
          <Messages />
        </>
      ) : (
        <Opening />
      )}
    </div>
  );
}

function Views({ panel }: { panel: Panel }) {
  const { view } = route.value;
  return (
    <nav class="views tabs" aria-label="Views">
      {VIEWS.map(({ view: target, label }) => (
        <a
          key={target}
          href={target === 'notes' ? '#' : `#view=${target}`}
          class="tab"
          data-view={target}
          data-beside={target === panel ? '' : undefined}
          aria-current={target === view ? 'page' : undefined}
          onClick={(event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            navigate({ view: target }, 'push');
          }}
        >
          {label}
        </a>
      ))}
    </nav>
  );
}

// Handles shortcuts of a single key, which apply only where no text is being typed.
function onShortcut(event: KeyboardEvent): void {
  // In the inspector's shadow root, the event's own target is the inspector.
  const target = event.composedPath()[0] as HTMLElement;
  if (target.closest('input, textarea, select, [contenteditable]') !== null) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === '/') {
    event.preventDefault();
    // On a phone the open note covers the list.
    const phone = !matchMedia('(min-width: 720px)').matches;
    showNotes(phone ? { note: null } : {}, 'push');
    requestAnimationFrame(() => document.getElementById(SEARCH_ID)?.focus());
  } else if (event.key === 'n') {
    event.preventDefault();
    startNewNote();
  }
}
