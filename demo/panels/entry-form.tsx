// Adds a key or gives it another value, written as JSON.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { describeType, fitsJson } from '../ui/js-literal.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import { type Entry, putEntry } from './keys.ts';

export interface EntryFormProps {
  /** The entry to edit, or null to add one. */
  readonly entry: Entry | null;
  readonly onClose: () => void;
}

export function EntryForm({ entry, onClose }: EntryFormProps) {
  const asJson = entry !== null && fitsJson(entry.value);
  const key = useSignal(entry?.key ?? '');
  const text = useSignal(asJson ? JSON.stringify(entry.value, null, 2) : '');
  const problem = useSignal<Problem | null>(null);
  const keyField = useRef<HTMLInputElement>(null);
  const valueField = useRef<HTMLTextAreaElement>(null);
  useEffect(() => (entry === null ? keyField : valueField).current?.focus(), []);

  const save = async () => {
    let value: unknown;
    try {
      value = JSON.parse(text.value);
    } catch (error) {
      problem.value = problemOf(error);
      return;
    }
    problem.value = await putEntry(key.value, value);
    if (problem.value === null) onClose();
  };

  return (
    <form
      class="panel-body"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void save();
      }}
    >
      <h2 class="form-title">{entry === null ? 'Add a key' : 'Edit a value'}</h2>
      <label class="field">
        <span>Key</span>
        <input
          ref={keyField}
          class="code"
          spellcheck={false}
          autocomplete="off"
          readOnly={entry !== null}
          value={key}
          onInput={(event) => {
            key.value = event.currentTarget.value;
          }}
        />
      </label>
      <label class="field">
        <span>Value, as JSON</span>
        <textarea
          ref={valueField}
          class="code"
          rows={8}
          spellcheck={false}
          placeholder='{ "any": ["JSON", 1, true, null] }'
          value={text}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
      </label>
      {entry !== null && !asJson && (
        <p class="hint">
          The stored value ({describeType(entry.value)}) holds what JSON cannot write. Saving
          replaces all of it.
        </p>
      )}
      {problem.value !== null && <ProblemNote title="Not stored." problem={problem.value} />}
      <div class="actions">
        <button type="submit" class="primary">
          Save
        </button>
        <button type="button" class="quiet" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  );
}
