// Shares the code on screen as a link or a file, on request with the objects that it has stored and their history.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { formatBytes, formatCount } from '../ui/format.ts';
import { toText } from './packed.ts';
import { directoryOf, isUnchanged, openShared, project, sharedIn } from './project.ts';
import { end, heldMs, objects, refresh, runner } from './session.ts';
import { FILE_BYTES_MAX, LINK_CHARS_MAX, toHash, UNNAMED } from './share-link.ts';
import { classOfKey, packData, type SharedObject } from './shared-data.ts';
import { readStoredFiles } from './stored-files.ts';

/** A form in which the code can be shared. */
type Form =
  | { readonly kind: 'making' }
  | { readonly kind: 'made'; readonly address: string; readonly contents: string }
  | { readonly kind: 'none'; readonly reason: string };

const MAKING: Form = { kind: 'making' };

export function ShareDialog({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const code = useSignal(MAKING);
  const whole = useSignal(MAKING);
  const isWhole = useSignal(false);
  const said = useSignal('');
  useEffect(() => {
    dialog.current!.showModal();
    void formOf(async () => null).then((form) => (code.value = form));
    void formOf(dataText).then((form) => (whole.value = form));
  }, []);
  const form = (isWhole.value ? whole : code).value;
  const open = async (file: File | undefined) => {
    if (file === undefined) return;
    try {
      if (file.size > FILE_BYTES_MAX) {
        throw new Error(
          `The file has ${formatBytes(file.size)}; at most ${formatBytes(FILE_BYTES_MAX)} are read.`,
        );
      }
      const shared = await sharedIn(await file.text());
      end();
      openShared(shared);
      onClose();
    } catch (error) {
      said.value = (error as Error).message;
    }
  };
  return (
    <dialog class="share" ref={dialog} aria-label="Share" onClose={onClose}>
      <h2>Share this code</h2>
      <fieldset>
        <legend class="visually-hidden">What is shared</legend>
        <Choice
          form={code.value}
          isChosen={!isWhole.value}
          onChoose={() => (isWhole.value = false)}
        >
          The code
        </Choice>
        <Choice form={whole.value} isChosen={isWhole.value} onChoose={() => (isWhole.value = true)}>
          The code, with its data and history
        </Choice>
      </fieldset>
      {isWhole.value && (
        <p class="hint">
          Whoever has the link can read all objects of this code, and what was deleted from them. It
          runs in a sandbox there; nothing comes back.
        </p>
      )}
      {form.kind === 'made' && form.address.length > LINK_CHARS_MAX && (
        <p class="problem" role="alert">
          The link would have {formatCount(form.address.length)} characters. More than{' '}
          {formatCount(LINK_CHARS_MAX)} do not fit into an issue or a message: save a file, and
          attach that.
        </p>
      )}
      <div class="actions">
        <button
          type="button"
          class="primary"
          disabled={form.kind !== 'made' || form.address.length > LINK_CHARS_MAX}
          onClick={async () => (said.value = await copied(form))}
        >
          Copy the link
        </button>
        <button
          type="button"
          disabled={form.kind !== 'made'}
          onClick={() => (said.value = saved(form))}
        >
          Save a file
        </button>
        <button type="button" class="quiet" onClick={() => dialog.current!.close()}>
          Close
        </button>
      </div>
      <p class="said" role="status">
        {said}
      </p>
      <label class="share-open">
        Open a file that somebody saved here, or the file of a failed simulation:{' '}
        <input
          type="file"
          accept=".txt,.json"
          onChange={({ currentTarget: { files } }) => void open(files?.[0])}
        />
      </label>
    </dialog>
  );
}

interface ChoiceProps {
  readonly form: Form;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly children: string;
}

function Choice({ form, isChosen, onChoose, children }: ChoiceProps) {
  return (
    <label class="share-choice">
      <input
        type="radio"
        name="share"
        checked={isChosen}
        disabled={form.kind === 'none'}
        onChange={onChoose}
      />
      <span>{children}</span>
      <span class="hint">
        {form.kind === 'making' && 'Reading…'}
        {form.kind === 'made' && `a link of ${formatCount(form.address.length)} characters`}
        {form.kind === 'none' && form.reason}
      </span>
    </label>
  );
}

async function formOf(dataOf: () => Promise<string | null>): Promise<Form> {
  const { kind, files } = project.value;
  const isOwn = kind === 'own' && !isUnchanged(project.value);
  const name = isOwn ? UNNAMED : project.value.name;
  try {
    const contents = await toHash({ name, files, data: await dataOf() });
    return { kind: 'made', contents, address: new URL(contents, location.href).href };
  } catch (error) {
    return { kind: 'none', reason: (error as Error).message };
  }
}

/** Returns the stored data of the objects as text. @throws Error that says why it cannot be shared */
async function dataText(): Promise<string> {
  const { data } = project.value;
  if (data !== null) return data;
  const running = runner.value;
  if (running === null) throw new Error('Run the code first: its objects are read while it runs.');
  const { status } = running;
  if (status === null)
    throw new Error('This code came without data, and what it stores in the sandbox stays there.');
  if (status.medium !== 'opfs') {
    throw new Error(
      'This browser keeps the data elsewhere than in files, so its history cannot be read. The Inspector saves a database.',
    );
  }
  await refresh();
  const lines = objects.value;
  if (lines.length === 0) throw new Error('Nothing is stored yet.');
  const names = new Map(
    lines.map(({ className, id, name }) => [`${className}.${id}`, name === id ? null : name]),
  );
  const stored = await readStoredFiles(directoryOf(project.value));
  const shared = [...stored].flatMap(([key, files]): SharedObject[] => {
    const className = classOfKey(key);
    return className === null ? [] : [{ key, className, name: names.get(key) ?? null, files }];
  });
  const hasAlarm = lines.some(({ nextAlarm }) => nextAlarm !== null);
  const clockMs = hasAlarm ? (heldMs.value ?? Date.now()) : null;
  return toText(await packData({ clockMs, objects: shared }));
}

async function copied(form: Form): Promise<string> {
  if (form.kind !== 'made') return '';
  try {
    await navigator.clipboard.writeText(form.address);
    return 'The link is copied; it carries all of it.';
  } catch {
    history.replaceState(null, '', form.address);
    return 'The link is in the address bar; it carries all of it.';
  }
}

function saved(form: Form): string {
  if (form.kind !== 'made') return '';
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([form.contents], { type: 'text/plain' }));
  link.download = 'shared-code.txt';
  link.click();
  URL.revokeObjectURL(link.href);
  return 'The file is saved. Whoever has it opens it here, by Share.';
}
