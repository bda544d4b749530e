// The input of a statement. It suggests completions of the word that is typed: arrows choose one, Enter or Tab inserts
// it.

import type { StorageHandle } from '@ctx-storage/core/storage';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Suggestions, suggestionsAt } from './sql-completion.ts';
import { type Table, tablesOf } from './tables.ts';

interface SqlInputProps {
  readonly storage: StorageHandle;
  readonly text: string;
  readonly change: (text: string) => void;
  readonly run: () => void;
}

const NO_SUGGESTIONS: Suggestions = { from: 0, list: [] };

export function SqlInput({ storage, text, change, run }: SqlInputProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [tables, setTables] = useState<readonly Table[]>([]);
  const [{ from, list }, setSuggestions] = useState(NO_SUGGESTIONS);
  const [chosen, setChosen] = useState(0);
  const cursorAfter = useRef<number | null>(null);
  useEffect(() => {
    const cursor = cursorAfter.current;
    cursorAfter.current = null;
    if (cursor !== null) area.current?.setSelectionRange(cursor, cursor);
  }, [text]);
  const readTables = () => {
    // If the tables cannot be read, only their names are not suggested.
    tablesOf(storage).then(setTables, () => setTables([]));
  };
  const insert = (index: number) => {
    const { text: word } = list[index]!;
    const end = area.current!.selectionStart;
    cursorAfter.current = from + word.length;
    change(text.slice(0, from) + word + text.slice(end));
    setSuggestions(NO_SUGGESTIONS);
    area.current!.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event;
    if (key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      setSuggestions(NO_SUGGESTIONS);
      run();
    } else if (list.length === 0) return;
    else if (key === 'ArrowDown') setChosen((chosen + 1) % list.length);
    else if (key === 'ArrowUp') setChosen((chosen + list.length - 1) % list.length);
    else if (key === 'Enter' || key === 'Tab') insert(chosen);
    else if (key === 'Escape') setSuggestions(NO_SUGGESTIONS);
    else return;
    event.preventDefault();
  };
  return (
    <div class="sql-input">
      <textarea
        class="code"
        aria-label="SQL"
        aria-autocomplete="list"
        aria-controls={list.length > 0 ? 'suggestions' : undefined}
        aria-activedescendant={list.length > 0 ? `suggestion-${chosen}` : undefined}
        rows={5}
        spellcheck={false}
        placeholder="SELECT name FROM sqlite_schema"
        value={text}
        ref={area}
        onFocus={readTables}
        onBlur={() => setSuggestions(NO_SUGGESTIONS)}
        onInput={({ currentTarget: { value, selectionStart } }) => {
          change(value);
          setSuggestions(suggestionsAt(value, selectionStart, tables));
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      {list.length > 0 && (
        <div id="suggestions" class="suggestions" role="listbox" aria-label="Suggestions">
          {list.map(({ text: word, kind }, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the text keeps the focus
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys are those of the text
            <div
              key={word}
              id={`suggestion-${index}`}
              role="option"
              aria-selected={index === chosen}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => insert(index)}
            >
              <span class="mono">{word}</span> <span class="type">{kind}</span>
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
