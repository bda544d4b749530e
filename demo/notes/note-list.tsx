// Shows the search box and the list. Arrow keys move between the box and the list; Enter opens a note.

import { navigate, showNotes } from '../route.ts';
import { counted, formatCount, formatDateTime, formatShortTime } from '../ui/format.ts';
import { MarkedText } from '../ui/marked-text.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import { EXAMPLE_NOTES } from './example-notes.ts';
import { focusOpened, lines, SEARCH_ID } from './focus.ts';
import type { NoteSummary } from './note-table.ts';
import {
  addNotes,
  isOpened,
  type ListState,
  listMore,
  listState,
  openId,
  removeNote,
  repairTables,
  search,
  setSearch,
} from './notes.ts';

/** Opens an empty note with the cursor in it. */
export function startNewNote(): void {
  showNotes({ note: 'new' }, 'push');
  focusOpened(isOpened());
}

export function NoteList() {
  return (
    <section class="note-list" aria-label="Notes">
      <div class="list-head">
        <input
          id={SEARCH_ID}
          class="search"
          type="search"
          aria-label="Search notes"
          placeholder="Search notes"
          autocomplete="off"
          spellcheck={false}
          aria-keyshortcuts="/"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
          onKeyDown={onSearchKey}
        />
        <button type="button" class="primary" aria-keyshortcuts="n" onClick={startNewNote}>
          New note
        </button>
      </div>
      <Content state={listState.value} />
      <p class="key-hints" aria-hidden="true">
        <kbd>/</kbd> search <kbd>↑</kbd> <kbd>↓</kbd> move <kbd>Enter</kbd> edit <kbd>N</kbd> new
      </p>
    </section>
  );
}

function Content({ state }: { state: ListState }) {
  switch (state.kind) {
    case 'loading':
      return <p class="empty">Reading notes…</p>;
    case 'failed':
      return (
        <ProblemNote title="The notes cannot be read." problem={state.problem}>
          {state.problem.message.includes('no such table') && (
            <button type="button" onClick={() => void repairTables()}>
              Create the tables again
            </button>
          )}
        </ProblemNote>
      );
    case 'listed': {
      const { notes, total } = state.list;
      if (total === 0) {
        return state.search.trim() === '' ? <NoNotes /> : <NoMatch text={state.search} />;
      }
      return (
        <>
          <p class="list-count">
            {state.search.trim() === '' ? counted(total, 'note') : `${formatCount(total)} found`}
          </p>
          <ul class="lines" onKeyDown={onListKey}>
            {notes.map((note) => (
              <NoteLine key={note.id} note={note} />
            ))}
            {notes.length < total && (
              <li>
                <button type="button" class="more" onClick={listMore}>
                  Show more ({formatCount(total - notes.length)} left)
                </button>
              </li>
            )}
          </ul>
        </>
      );
    }
  }
}

function NoteLine({ note }: { note: NoteSummary }) {
  return (
    <li>
      <button
        type="button"
        class="line"
        data-note={note.id}
        aria-current={openId.value === note.id ? 'true' : undefined}
        onClick={() => navigate({ note: note.id }, 'push')}
      >
        <span class="line-title">
          {note.title.trim() === '' ? (
            <span class="untitled">Untitled</span>
          ) : (
            <MarkedText text={note.title} />
          )}
        </span>
        <time
          class="line-time"
          dateTime={new Date(note.updatedMs).toISOString()}
          title={formatDateTime(note.updatedMs)}
        >
          {formatShortTime(note.updatedMs)}
        </time>
        <span class="line-excerpt">
          <MarkedText text={note.excerpt} />
        </span>
      </button>
    </li>
  );
}

function NoNotes() {
  return (
    <div class="empty">
      <p class="empty-title">No notes yet</p>
      <p>Your notes stay in this browser, in a SQLite database. It needs no connection.</p>
      <button type="button" onClick={() => void addNotes(EXAMPLE_NOTES)}>
        Add example notes
      </button>
    </div>
  );
}

function NoMatch({ text }: { text: string }) {
  return (
    <div class="empty">
      <p class="empty-title">Nothing found</p>
      <p>
        No note contains every word of <q>{text.length > 80 ? `${text.slice(0, 80)}…` : text}</q>.
      </p>
      <button type="button" onClick={() => setSearch('')}>
        Clear the search
      </button>
    </div>
  );
}

function focusLine(button: HTMLButtonElement | undefined): void {
  if (button === undefined) return;
  button.focus();
  const id = Number(button.dataset.note);
  // A wide screen has room to show the note beside the list at once; on a phone, Enter opens it.
  if (id > 0 && matchMedia('(min-width: 720px)').matches) navigate({ note: id });
}

function onSearchKey(event: KeyboardEvent): void {
  if (event.isComposing) return;
  if (event.key === 'ArrowDown') {
    event.preventDefault();
    focusLine(lines()[0]);
  } else if (event.key === 'Enter') {
    event.preventDefault();
    lines()[0]?.click();
  } else if (event.key === 'Escape') {
    event.preventDefault();
    if (search.value !== '') setSearch('');
    else (event.currentTarget as HTMLElement).blur();
  }
}

function onListKey(event: KeyboardEvent): void {
  const buttons = lines();
  const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
  if (at < 0) return;
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
  const step = steps[event.key];
  if (step !== undefined) {
    event.preventDefault();
    if (at + step < 0) document.getElementById(SEARCH_ID)?.focus();
    else focusLine(buttons[at + step]);
  } else if (event.key === 'Enter') {
    // The focus moves a frame later, because the click that follows this event opens the note.
    requestAnimationFrame(() => focusOpened(isOpened()));
  } else if (event.key === 'Escape') {
    event.preventDefault();
    document.getElementById(SEARCH_ID)?.focus();
  } else if (event.key === 'Delete') {
    const id = Number(buttons[at]?.dataset.note);
    if (id > 0) {
      event.preventDefault();
      focusLine(buttons[at + 1] ?? buttons[at - 1]);
      void removeNote(id);
    }
  }
}
