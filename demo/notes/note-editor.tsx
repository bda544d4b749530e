// Shows the open note: its title, its text, and whether it is saved.

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { navigate } from '../route.ts';
import { formatCount } from '../ui/format.ts';
import { problemOf } from '../ui/problem.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import type { NoteDraft } from './draft.ts';
import { noteOpened, SEARCH_ID } from './focus.ts';
import {
  discardOpen,
  type OpenNote,
  openNote,
  removeNote,
  repairTables,
  saveAsNew,
  takeBack,
} from './notes.ts';
import { UndoButtons } from './undo-buttons.tsx';

/** The longest title. The text is limited only by the size of a row. */
const TITLE_LENGTH_MAX = 300;

export function NoteEditor() {
  return (
    <section class="editor" aria-label="Note">
      <Content open={openNote.value} />
    </section>
  );
}

function Content({ open }: { open: OpenNote }) {
  switch (open.kind) {
    case 'none':
      return <p class="empty">Choose a note, or write a new one.</p>;
    case 'loading':
      return <p class="empty">Reading the note…</p>;
    case 'missing':
      return (
        <div class="empty">
          <p class="empty-title">This note does not exist</p>
          <p>It was deleted, or the address belongs to a note in another browser.</p>
          <button type="button" onClick={() => navigate({ note: null })}>
            Back to the list
          </button>
        </div>
      );
    case 'failed':
      return <ProblemNote title="The note cannot be read." problem={open.problem} />;
    case 'open':
      return <Editor key={open.draft.key} draft={open.draft} />;
  }
}

function Editor({ draft }: { draft: NoteDraft }) {
  const id = draft.id.value;
  const { title, body } = draft.parts;
  useEffect(noteOpened, []);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape leaves either field
    <div class="editor-form" onKeyDown={onKey}>
      <div class="editor-bar">
        <button type="button" class="back" onClick={() => navigate({ note: null })}>
          ‹ Notes
        </button>
        <SaveLabel draft={draft} />
        <UndoButtons draft={draft} />
        <button
          type="button"
          class="quiet"
          disabled={id === null}
          onClick={() => id !== null && void removeNote(id)}
        >
          Delete
        </button>
      </div>
      <Trouble draft={draft} />
      <input
        id="note-title"
        class="note-title"
        aria-label="Title"
        placeholder="Title"
        maxLength={TITLE_LENGTH_MAX}
        autocomplete="off"
        value={title}
        onInput={(event) => draft.edit({ title: event.currentTarget.value })}
      />
      <textarea
        id="note-body"
        class="note-body"
        aria-label="Text"
        placeholder="Write…"
        value={body}
        onInput={(event) => draft.edit({ body: event.currentTarget.value })}
      />
      <p class="editor-foot">{formatCount(body.length)} characters</p>
    </div>
  );
}

function SaveLabel({ draft }: { draft: NoteDraft }) {
  const { state, error } = draft.state.value;
  const isStuck = draft.isDeleted.value || error !== undefined;
  const labels = {
    saved: draft.id.value === null ? 'New note' : 'Saved',
    saving: 'Saving…',
    conflict: 'Not saved',
  };
  return (
    <span class="save-state" data-state={isStuck ? 'conflict' : state} role="status">
      {labels[isStuck ? 'conflict' : state]}
    </span>
  );
}

function Trouble({ draft }: { draft: NoteDraft }) {
  const { state, error } = draft.state.value;
  if (draft.isDeleted.value) {
    return (
      <Elsewhere title="This note was deleted elsewhere.">
        <button type="button" onClick={() => saveAsNew(draft)}>
          Save it as a new note
        </button>
        <button type="button" class="quiet" onClick={discardOpen}>
          Discard my text
        </button>
      </Elsewhere>
    );
  }
  if (state === 'conflict') {
    return (
      <Elsewhere title="This note was changed in another tab.">
        <button type="button" onClick={() => draft.text.resolve('mine')}>
          Keep mine
        </button>
        <button type="button" class="quiet" onClick={() => draft.text.resolve('theirs')}>
          Use the other version
        </button>
      </Elsewhere>
    );
  }
  if (error === undefined) return null;
  const problem = problemOf(error);
  return (
    <ProblemNote title="The note is not saved; your text is still here." problem={problem}>
      <button type="button" onClick={() => void draft.text.flush()}>
        Try again
      </button>
      {problem.message.includes('no such table') && (
        <button type="button" onClick={() => void repairTables()}>
          Create the tables again
        </button>
      )}
      <button type="button" class="quiet" onClick={discardOpen}>
        Discard the changes
      </button>
    </ProblemNote>
  );
}

function Elsewhere({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="problem" role="alert">
      <p class="problem-title">{title}</p>
      <p>Your text is still here, but not saved.</p>
      <div class="actions">{children}</div>
    </div>
  );
}

function onKey(event: KeyboardEvent): void {
  const isUndoKey = (event.ctrlKey || event.metaKey) && !event.altKey && !event.isComposing;
  if (isUndoKey && ['z', 'y'].includes(event.key.toLowerCase())) {
    // The undo of the notes replaces the field's own, which covers only one field and ends with it.
    event.preventDefault();
    const isRedo = event.shiftKey || event.key.toLowerCase() === 'y';
    void takeBack(isRedo ? 'redo' : 'undo');
    return;
  }
  if (event.key !== 'Escape' || event.isComposing) return;
  event.preventDefault();
  const line = document.querySelector<HTMLElement>('.line[aria-current]');
  if (matchMedia('(min-width: 720px)').matches) {
    (line ?? document.getElementById(SEARCH_ID))?.focus();
  } else {
    navigate({ note: null });
  }
}
