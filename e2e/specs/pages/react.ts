// The blank page with components on it: rows, the result of a method, and how the handle is connected.

import { createElement as h, StrictMode, Suspense } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import {
  useConnectionStatus,
  useDraft,
  useLive,
  useLiveValue,
} from '../../../packages/adapters/react/index.ts';
import type { RemoteStorage } from '../../../src/index.ts';
import './blank.ts';

type Rooms = Awaited<ReturnType<typeof window.api.connectRooms>>['env'];
interface Opened {
  readonly storage: RemoteStorage;
  readonly room: ReturnType<Rooms['Room']['getByName']>;
}

function Notes({ storage }: { storage: RemoteStorage }) {
  const notes = useLiveValue(storage.sql.live<{ text: string }>('SELECT text FROM note'));
  return h('p', { id: 'notes' }, notes.map(({ text }) => text).join(', '));
}

function Sum({ room }: Pick<Opened, 'room'>) {
  const { status, value, error } = useLive(window.api.live(room).countedSum());
  return h('p', { id: 'sum' }, `${status} ${value} ${error ?? ''}`.trim());
}

function Badge({ storage }: { storage: RemoteStorage }) {
  const { state, pendingWrites, savedAt } = useConnectionStatus(storage);
  const saved = pendingWrites > 0 ? 'saving' : savedAt === null ? 'unwritten' : 'saved';
  return h('p', { id: 'badge' }, `${state} ${saved}`);
}

/** A field of a row. With `isBound` it shows the row itself, as an app without a draft does. */
function Field({ storage, isBound }: { storage: RemoteStorage; isBound: boolean }) {
  const [row] = useLiveValue(storage.sql.live<{ text: string }>('SELECT text FROM note'));
  const save = (text: string) => storage.sql.exec('UPDATE note SET text = ?', text).ready;
  const field = useDraft(row?.text ?? '', save, { delayMs: 50 });
  return [
    h('input', {
      key: 'field',
      id: 'field',
      value: isBound ? row?.text : field.text,
      onChange: (event: { target: HTMLInputElement }) => {
        if (isBound) void save(event.target.value);
        else field.setText(event.target.value);
      },
    }),
    h('p', { key: 'state', id: 'state' }, `${field.state} ${row?.text}`),
  ];
}

let root: Root | undefined;
let storage: RemoteStorage | undefined;

/** Shows the object of this name. */
async function show(name: string): Promise<void> {
  storage = await window.api.openStorage(name);
  await storage.sql.exec('CREATE TABLE IF NOT EXISTS note(text)').ready;
  const { env } = await window.api.connectRooms();
  root ??= createRoot(document.getElementById('app')!);
  root.render(
    h(
      StrictMode,
      null,
      h(Suspense, { fallback: 'waiting' }, h(Notes, { storage })),
      h(Sum, { room: env.Room.getByName(name) }),
      h(Badge, { storage }),
    ),
  );
}

/** Shows nothing any more; the handle stays. */
const leave = () => root?.render(null);

/** Shows a field of the row of the object. */
async function showField(name: string, isBound: boolean): Promise<void> {
  storage = await window.api.openStorage(name);
  await storage.sql.exec('CREATE TABLE IF NOT EXISTS note(text)').ready;
  await note('');
  root ??= createRoot(document.getElementById('app')!);
  root.render(h(StrictMode, null, h(Suspense, null, h(Field, { storage, isBound }))));
}

/** Writes through the handle that is shown. */
const note = async (text: string) =>
  void (await storage!.sql.exec('INSERT INTO note VALUES (?)', text).ready);

const react = { show, showField, leave, note };

declare global {
  interface Window {
    react: typeof react;
  }
}

window.react = react;
