// The panel of keys: a list of keys by prefix, which follows every commit, and the chosen value as a tree.

import type { StorageHandle } from '@ctx-storage/core/storage';
import { useMemo, useState } from 'preact/hooks';
import { fingerprintOf, lineOf, parseLiteral } from './stored-value.ts';
import { countText, errorText, leafText, typeText } from './text.ts';
import { useChanges, useFollowed } from './use-followed.ts';
import { ValueTree } from './value-tree.tsx';

const KEYS_PER_PAGE = 100;

export function KeysPanel({ storage }: { readonly storage: StorageHandle }) {
  const [prefix, setPrefix] = useState('');
  const [pageStarts, setPageStarts] = useState<readonly string[]>([]);
  const [chosen, setChosen] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const startAfter = pageStarts.at(-1);
  // One more key than a page has is read, to know whether there are more.
  const range = {
    limit: KEYS_PER_PAGE + 1,
    ...(prefix !== '' && { prefix }),
    ...(startAfter !== undefined && { startAfter }),
  };
  const subject = `${prefix}\n${startAfter ?? ''}`;
  const {
    value: found,
    error,
    about,
  } = useFollowed(() => storage.live<unknown>(range), [storage, subject], subject);
  const texts = useMemo(
    () => found && new Map([...found].map(([key, value]) => [key, fingerprintOf(value)])),
    [found],
  );
  const changed = useChanges(texts, about);
  const entries = [...(found ?? [])].slice(0, KEYS_PER_PAGE);
  const attempt = (work: Promise<unknown>) =>
    work.then(
      () => setProblem(null),
      (failure) => setProblem(errorText(failure)),
    );
  const exists = chosen !== null && found?.has(chosen);
  return (
    <div class="panel split">
      <div class="side">
        <label class="field">
          Prefix
          <input
            type="search"
            value={prefix}
            onInput={(event) => {
              setPageStarts([]);
              setPrefix(event.currentTarget.value);
            }}
          />
        </label>
        {error !== undefined && <p role="alert">{errorText(error)}</p>}
        {found !== undefined && entries.length === 0 && <p class="empty">No keys.</p>}
        <ul class="list" aria-label="Keys">
          {entries.map(([key, value]) => (
            <li key={key} class={changed.has(key) ? 'changed' : ''}>
              <button
                type="button"
                class="row"
                aria-pressed={key === chosen}
                onClick={() => setChosen(key)}
              >
                <span class="mono">{key}</span>
                <span class="type" title={typeText(value)}>
                  {lineOf(value)}
                </span>
              </button>
            </li>
          ))}
        </ul>
        <div class="actions">
          {pageStarts.length > 0 && (
            <button type="button" onClick={() => setPageStarts(pageStarts.slice(0, -1))}>
              Back
            </button>
          )}
          {found !== undefined && found.size > KEYS_PER_PAGE && (
            <button
              type="button"
              onClick={() => setPageStarts([...pageStarts, entries.at(-1)![0]])}
            >
              More keys
            </button>
          )}
        </div>
        <NewEntry add={(key, value) => storage.put(key, value).then(() => setChosen(key))} />
      </div>
      <section class="main" aria-label="Entry">
        {problem !== null && <p role="alert">{problem}</p>}
        {exists ? (
          <>
            <ValueTree
              key={chosen}
              name={chosen}
              value={found!.get(chosen)}
              change={(value) => storage.put(chosen, value)}
            />
            <div class="actions">
              <button
                type="button"
                class="danger"
                onClick={() => attempt(storage.delete(chosen).then(() => setChosen(null)))}
              >
                Delete {leafText(chosen)}
              </button>
            </div>
          </>
        ) : (
          <p class="empty">
            {entries.length === 0
              ? 'Nothing is stored here.'
              : `Choose one of ${countText(entries.length, 'key')}.`}
          </p>
        )}
      </section>
    </div>
  );
}

function NewEntry({ add }: { readonly add: (key: string, value: unknown) => Promise<void> }) {
  const [key, setKey] = useState('');
  const [literal, setLiteral] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const store = async () => {
    try {
      await add(key, parseLiteral(literal));
      setKey('');
      setLiteral('');
      setProblem(null);
    } catch (error) {
      setProblem(errorText(error));
    }
  };
  return (
    <details class="new-entry">
      <summary>New key</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void store();
        }}
      >
        <label class="field">
          Key
          <input value={key} required onInput={(event) => setKey(event.currentTarget.value)} />
        </label>
        <label class="field">
          Value (JSON, 12n or new Date("…"))
          <input
            class="code"
            value={literal}
            required
            onInput={(event) => setLiteral(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Store</button>
        {problem !== null && <p role="alert">{problem}</p>}
      </form>
    </details>
  );
}
