// The panel that browses keys and values.

import { useSignal } from '@preact/signals';
import { describeType, formatValue } from '../ui/js-literal.ts';
import type { Problem } from '../ui/problem.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import { EntryForm } from './entry-form.tsx';
import {
  type Entry,
  type KeysState,
  keysState,
  nextPage,
  pageStarts,
  prefix,
  previousPage,
  putSamples,
  removeEntry,
  setPrefix,
} from './keys.ts';

type Form = { readonly kind: 'add' } | { readonly kind: 'edit'; readonly entry: Entry };

export function KeyPanel() {
  const form = useSignal<Form | null>(null);
  const problem = useSignal<Problem | null>(null);
  const close = () => {
    form.value = null;
  };
  const act = async (action: () => Promise<Problem | null>) => {
    problem.value = await action();
  };

  if (form.value !== null) {
    const edited = form.value.kind === 'edit' ? form.value.entry : null;
    return <EntryForm entry={edited} onClose={close} />;
  }
  return (
    <div class="panel-body">
      <div class="list-head">
        <input
          class="search"
          type="search"
          aria-label="Keys that begin with"
          placeholder="Keys that begin with…"
          autocomplete="off"
          spellcheck={false}
          value={prefix}
          onInput={(event) => setPrefix(event.currentTarget.value)}
        />
        <button
          type="button"
          class="primary"
          onClick={() => {
            form.value = { kind: 'add' };
          }}
        >
          Add key
        </button>
      </div>
      {problem.value !== null && (
        <ProblemNote title="The change failed." problem={problem.value}>
          <button
            type="button"
            onClick={() => {
              problem.value = null;
            }}
          >
            Dismiss
          </button>
        </ProblemNote>
      )}
      <Entries
        state={keysState.value}
        onEdit={(entry) => {
          form.value = { kind: 'edit', entry };
        }}
        onDelete={(entry) => void act(() => removeEntry(entry))}
        onAddSamples={() => void act(putSamples)}
      />
    </div>
  );
}

interface EntriesProps {
  readonly state: KeysState;
  readonly onEdit: (entry: Entry) => void;
  readonly onDelete: (entry: Entry) => void;
  readonly onAddSamples: () => void;
}

function Entries({ state, onEdit, onDelete, onAddSamples }: EntriesProps) {
  if (state.kind === 'loading') return <p class="empty">Reading keys…</p>;
  if (state.kind === 'failed') {
    return <ProblemNote title="The keys cannot be read." problem={state.problem} />;
  }
  const page = pageStarts.value.length;
  if (state.entries.length === 0 && page === 0) {
    return prefix.value === '' ? (
      <div class="empty">
        <p class="empty-title">No keys yet</p>
        <p>Any value that can be cloned is kept as it is: a Map, a Date, a bigint, bytes.</p>
        <button type="button" onClick={onAddSamples}>
          Add sample values
        </button>
      </div>
    ) : (
      <div class="empty">
        <p class="empty-title">No such key</p>
        <p>
          No key begins with <q>{prefix}</q>.
        </p>
      </div>
    );
  }
  return (
    <>
      <ul class="entries">
        {state.entries.map((entry) => (
          <EntryLine key={entry.key} entry={entry} onEdit={onEdit} onDelete={onDelete} />
        ))}
      </ul>
      {(page > 0 || state.more) && (
        <nav class="pager" aria-label="Pages of keys">
          <button type="button" disabled={page === 0} onClick={previousPage}>
            Previous
          </button>
          <span>Page {page + 1}</span>
          <button type="button" disabled={!state.more} onClick={nextPage}>
            Next
          </button>
        </nav>
      )}
    </>
  );
}

type EntryLineProps = { readonly entry: Entry } & Pick<EntriesProps, 'onEdit' | 'onDelete'>;

function EntryLine({ entry, onEdit, onDelete }: EntryLineProps) {
  const open = useSignal(false);
  // Formatting a large value is slow; only visible values are formatted in full.
  const preview = open.value ? '' : formatValue(entry.value).replaceAll(/\s+/g, ' ').slice(0, 200);
  return (
    <li class="entry">
      <details
        onToggle={(event) => {
          open.value = event.currentTarget.open;
        }}
      >
        <summary>
          <code class="entry-key">{entry.key === '' ? '(empty key)' : entry.key}</code>
          <span class="entry-type">{describeType(entry.value)}</span>
          {!open.value && <code class="entry-preview">{preview}</code>}
        </summary>
        {open.value && (
          <>
            <pre class="entry-value">{formatValue(entry.value)}</pre>
            <div class="actions">
              <button type="button" onClick={() => onEdit(entry)}>
                Edit
              </button>
              <button type="button" class="quiet" onClick={() => onDelete(entry)}>
                Delete
              </button>
            </div>
          </>
        )}
      </details>
    </li>
  );
}
