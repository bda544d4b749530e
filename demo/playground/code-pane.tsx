// Shows the left side: the choice of code, its files, the editor, and the buttons that run, stop and share the code.

import { effect, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { CodeEditor } from './editor.ts';
import { EXAMPLES } from './examples.ts';
import { MistakeList } from './mistake-list.tsx';
import {
  addFile,
  edit,
  isSandboxed,
  isUnchanged,
  openExample,
  openFile,
  path,
  project,
  removeFile,
  shown,
} from './project.ts';
import { end, isStale, mistakes, run, runState, stop } from './session.ts';
import { ShareDialog } from './share-dialog.tsx';
import { checking, checkOnceSeen } from './type-check.ts';

export function CodePane() {
  return (
    <section class="code-pane" aria-label="Code">
      <div class="code-bar">
        <ExampleChoice />
        <RunButtons />
      </div>
      <FileTabs />
      <Editor />
      <p id="editor-keys" class="editor-keys">
        <kbd>Esc</kbd>, then <kbd>Tab</kbd> leaves the editor
      </p>
      <MistakeList goTo={goTo} />
    </section>
  );
}

function ExampleChoice() {
  const { id, name } = project.value;
  const isExample = isUnchanged(project.value);
  return (
    <select
      aria-label="Example"
      value={isExample ? id : ''}
      onChange={({ currentTarget: { value } }) => {
        end();
        openExample(value);
        void run();
      }}
    >
      {!isExample && (
        <option value="" disabled>
          {project.value.kind === 'own' ? 'Your code' : name}
        </option>
      )}
      {EXAMPLES.map((example) => (
        <option key={example.id} value={example.id}>
          {example.label}
        </option>
      ))}
    </select>
  );
}

function RunButtons() {
  const isSharing = useSignal(false);
  const { kind } = runState.value;
  return (
    <>
      {project.value.kind !== 'shared' && (
        <button
          type="button"
          class="primary"
          aria-keyshortcuts="Control+Enter Meta+Enter"
          disabled={kind === 'starting'}
          onClick={() => void run()}
        >
          {kind === 'starting' ? 'Starting…' : runLabel()}
        </button>
      )}
      <button type="button" disabled={kind === 'idle'} onClick={stop}>
        Stop
      </button>
      <button type="button" class="quiet" onClick={() => (isSharing.value = true)}>
        Share
      </button>
      {isSharing.value && <ShareDialog onClose={() => (isSharing.value = false)} />}
    </>
  );
}

function runLabel(): string {
  if (isStale.value) return 'Run the changes';
  return isSandboxed(project.value) ? 'Run in a sandbox' : 'Run';
}

function FileTabs() {
  const name = useSignal<string | null>(null);
  const problem = useSignal('');
  const paths = Object.keys(project.value.files);
  return (
    <div class="file-tabs">
      {paths.map((each) => (
        <button
          key={each}
          type="button"
          class="file-tab"
          aria-pressed={each === path.value}
          onClick={() => openFile(each)}
        >
          {each}
        </button>
      ))}
      {project.value.kind !== 'shared' && name.value === null && (
        <button type="button" class="quiet" onClick={() => (name.value = '')}>
          Add file
        </button>
      )}
      {project.value.kind !== 'shared' && paths.length > 1 && path.value !== 'main.ts' && (
        <button type="button" class="quiet" onClick={() => removeFile(path.value)}>
          Delete {path}
        </button>
      )}
      {name.value !== null && (
        <form
          class="file-form"
          onSubmit={(event) => {
            event.preventDefault();
            problem.value = addFile(name.value ?? '') ?? '';
            if (problem.value === '') name.value = null;
          }}
        >
          <input
            aria-label="Name of the file"
            placeholder="words.ts"
            value={name.value}
            onInput={(event) => {
              name.value = event.currentTarget.value;
            }}
          />
          <button type="submit">Add</button>
          <button type="button" class="quiet" onClick={() => (name.value = null)}>
            Cancel
          </button>
          <span role="alert">{problem}</span>
        </form>
      )}
    </div>
  );
}

let editor: CodeEditor | null = null;

interface Place {
  readonly path: string;
  readonly line: number;
  readonly column?: number;
}

/** Opens the file, and puts the cursor there. */
export function goTo(place: Place): void {
  if (path.value !== place.path) openFile(place.path);
  editor?.goTo(place.line, place.column);
}

/** Marks the mistakes in the code on screen. During a check, the older ones stay and move with the text. */
function markMistakes(shownIn: CodeEditor): void {
  const { list, files: ran } = mistakes.value;
  const checked = checking.state.value;
  if (checked.kind === 'checking') return;
  const { files } = project.peek();
  const found = [
    ...(ran === files ? list : []),
    ...(checked.kind === 'checked' && checked.files === files ? checked.mistakes : []),
  ];
  shownIn.mark(found.filter((one) => one.path === path.peek()));
}

function Editor() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let dispose = () => {};
    // The editor is loaded separately, and until it is ready the page shows the code as text.
    void import('./editor.ts').then(({ createEditor }) => {
      if (host.current === null) return;
      host.current.replaceChildren();
      const created = createEditor(host.current, edit, () => {
        if (project.value.kind !== 'shared') void run();
      });
      editor = created;
      const stops = [
        effect(() => {
          void shown.value;
          const { files, kind } = project.peek();
          created.show(path.peek(), files[path.peek()] ?? '', kind === 'shared');
        }),
        effect(() => {
          void shown.value;
          markMistakes(created);
        }),
        checkOnceSeen(host.current),
      ];
      dispose = () => {
        for (const stopOne of stops) stopOne();
      };
    });
    return () => dispose();
  }, []);
  return (
    <div class="editor-host" ref={host}>
      <pre class="code-still">{project.peek().files[path.peek()]}</pre>
    </div>
  );
}
