// The panel of files: it imports a database or rows, can go back to the moment before, and saves the object or a table.

import { withSignal } from '@ctx-storage/core/calls';
import type { StorageHandle } from '@ctx-storage/core/storage';
import { useEffect, useState } from 'preact/hooks';
import { type GivenFiles, givenFiles } from './given-files.ts';
import { type RowFormat, rowsAsFile, saveFile } from './row-text.ts';
import { quoteName, tablesOf } from './tables.ts';
import { bytesText, countText, errorText } from './text.ts';

const ACCEPTED = '.sqlite,.sqlite3,.db,.csv,.tsv,.txt,.json,.jsonl,.ndjson,-wal';

interface Work {
  readonly text: string;
  /** The done share of the work, from 0 to 1, or null if it is not known. */
  readonly share: number | null;
  /** Stops the work; null if it cannot be stopped. */
  readonly stop: (() => void) | null;
}

interface Outcome {
  readonly text: string;
  readonly isFault: boolean;
  /** The bookmark of the moment before the import, or null if nothing was written. */
  readonly before: string | null;
}

export function FilesPanel({ storage }: { readonly storage: StorageHandle }) {
  const [given, setGiven] = useState<GivenFiles | null>(null);
  const [work, setWork] = useState<Work | null>(null);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [isDraggedOver, setDraggedOver] = useState(false);
  const fail = (error: unknown, before: string | null = null) =>
    setOutcome({ text: errorText(error), isFault: true, before });
  const open = async (files: readonly File[]) => {
    if (work !== null || files.length === 0) return;
    setOutcome(null);
    try {
      setGiven(await givenFiles(files));
    } catch (error) {
      setGiven(null);
      fail(error);
    }
  };
  const attempt = async (first: Work, action: () => Promise<Outcome | null>) => {
    setWork(first);
    setOutcome(null);
    try {
      setOutcome(await action());
    } catch (error) {
      fail(error);
    }
    setWork(null);
  };
  const importDatabaseFile = (database: File, wal: File | null) =>
    attempt({ text: `Checking ${database.name}…`, share: null, stop: null }, async () => {
      setGiven(null);
      const before = await storage.importDatabase(database, wal);
      const text = `The object now holds ${database.name}, ${bytesText(database.size)}.`;
      return { text, isFault: false, before };
    });
  const importRowsFile = (file: File, table: string) => {
    const controller = new AbortController();
    const stop = () => controller.abort(new Error('Stopped.'));
    return attempt({ text: `Checking ${file.name}…`, share: 0, stop }, async () => {
      setGiven(null);
      const { takeRowFile } = await import('./take-row-file.ts');
      return takeRowFile(storage, file, table, controller.signal, (text, share) =>
        setWork({ text, share, stop }),
      );
    });
  };
  const goBack = (bookmark: string) =>
    attempt({ text: 'Going back…', share: null, stop: null }, async () => {
      await storage.restore(bookmark);
      return { text: 'The object is as it was before.', isFault: false, before: null };
    });
  return (
    <section
      class={isDraggedOver ? 'panel files drop-over' : 'panel files'}
      aria-label="Files"
      onDragOver={(event) => {
        event.preventDefault();
        setDraggedOver(true);
      }}
      onDragLeave={() => setDraggedOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setDraggedOver(false);
        void open([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <div class="field drop">
        <label class="field">
          Open a file, or drop it here
          <input
            type="file"
            multiple
            accept={ACCEPTED}
            aria-describedby="file-kinds"
            disabled={work !== null}
            onChange={(event) => {
              void open([...(event.currentTarget.files ?? [])]);
              event.currentTarget.value = '';
            }}
          />
        </label>
        <span class="soft" id="file-kinds">
          A SQLite database (with its -wal, if there is one), or rows as CSV, TSV, JSON or JSON
          lines.
        </span>
      </div>
      {given?.kind === 'database' && (
        <div class="actions">
          <span>
            Everything in this object is replaced by {given.database.name}
            {given.wal !== null && ` and ${given.wal.name}`}.
          </span>
          <button
            type="button"
            class="primary"
            onClick={() => importDatabaseFile(given.database, given.wal)}
          >
            Replace
          </button>
          <button type="button" onClick={() => setGiven(null)}>
            Leave it
          </button>
        </div>
      )}
      {given?.kind === 'rows' && (
        <form
          class="actions"
          onSubmit={(event) => {
            event.preventDefault();
            void importRowsFile(given.file, given.table);
          }}
        >
          <label class="field inline">
            Rows of {given.file.name}, {bytesText(given.file.size)}, into the table
            <input
              class="code"
              required
              value={given.table}
              onInput={(event) => setGiven({ ...given, table: event.currentTarget.value })}
            />
          </label>
          <button type="submit" class="primary">
            Import
          </button>
          <button type="button" onClick={() => setGiven(null)}>
            Leave it
          </button>
        </form>
      )}
      {work !== null && (
        <div class="actions">
          <span role="status">{work.text}</span>
          {work.share !== null && <progress aria-label="Progress" max={1} value={work.share} />}
          {work.stop !== null && (
            <button type="button" class="danger" onClick={work.stop}>
              Stop
            </button>
          )}
        </div>
      )}
      {outcome !== null && (
        <div class="actions">
          <p role={outcome.isFault ? 'alert' : 'status'}>{outcome.text}</p>
          {outcome.before !== null && (
            <button type="button" onClick={() => goBack(outcome.before!)}>
              Go back to before the import
            </button>
          )}
        </div>
      )}
      <SaveButtons storage={storage} attempt={attempt} isBusy={work !== null} setWork={setWork} />
    </section>
  );
}

interface SaveButtonsProps {
  readonly storage: StorageHandle;
  readonly attempt: (first: Work, action: () => Promise<Outcome | null>) => Promise<void>;
  readonly isBusy: boolean;
  readonly setWork: (work: Work) => void;
}

function SaveButtons({ storage, attempt, isBusy, setWork }: SaveButtonsProps) {
  const [tables, setTables] = useState<readonly string[]>([]);
  const [table, setTable] = useState('');
  useEffect(() => {
    if (isBusy) return;
    tablesOf(storage).then(
      (found) => setTables(found.map(({ name }) => name)),
      () => setTables([]),
    );
  }, [storage, isBusy]);
  const chosen = tables.includes(table) ? table : (tables[0] ?? '');
  const saveAll = () =>
    attempt({ text: 'Reading…', share: null, stop: null }, async () => {
      const bytes = await storage.exportDatabase();
      saveFile(`${storage.name}.sqlite`, new Blob([bytes], { type: 'application/vnd.sqlite3' }));
      return { text: `Saved, ${bytesText(bytes.length)}.`, isFault: false, before: null };
    });
  const saveTable = (format: RowFormat) => {
    const controller = new AbortController();
    const stop = () => controller.abort(new Error('Stopped.'));
    return attempt({ text: 'Reading…', share: null, stop }, async () => {
      const cursor = withSignal(storage, controller.signal).sql.exec(
        `SELECT * FROM ${quoteName(chosen)}`,
      );
      const blob = await rowsAsFile(
        format,
        () => cursor.columnNames,
        cursor.raw(),
        (count) => setWork({ text: `Reading, ${countText(count, 'row')}…`, share: null, stop }),
      );
      saveFile(`${chosen}.${format}`, blob);
      return { text: `Saved, ${bytesText(blob.size)}.`, isFault: false, before: null };
    });
  };
  return (
    <>
      <h2>Save</h2>
      <div class="actions">
        <button type="button" disabled={isBusy} onClick={saveAll}>
          All as one .sqlite file
        </button>
      </div>
      {tables.length > 0 && (
        <div class="actions">
          <label class="field inline">
            Table
            <select value={chosen} onChange={(event) => setTable(event.currentTarget.value)}>
              {tables.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <button type="button" disabled={isBusy} onClick={() => saveTable('csv')}>
            As CSV
          </button>
          <button type="button" disabled={isBusy} onClick={() => saveTable('json')}>
            As JSON
          </button>
        </div>
      )}
    </>
  );
}
