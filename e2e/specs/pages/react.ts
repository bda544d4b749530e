// The blank page with components on it: rows, the result of a method, and how the handle is connected.

import { createElement as h, StrictMode, Suspense } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import type { RemoteStorage } from '../../../src/index.ts';
import { useConnectionStatus, useLive, useLiveValue } from '../../../src/tools/react/index.ts';
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

/** Writes through the handle that is shown. */
const note = async (text: string) =>
  void (await storage!.sql.exec('INSERT INTO note VALUES (?)', text).ready);

const react = { show, leave, note };

declare global {
  interface Window {
    react: typeof react;
  }
}

window.react = react;
