// Keeps the panel and the note on screen in the address, so that the Back button works and a reload returns to the same
// place.

import { signal } from '@preact/signals';

export const PANELS = ['storage', 'characters'] as const;
export type Panel = (typeof PANELS)[number];

export interface Route {
  /** The panel that is shown; `notes` shows the notes, and a panel only if there is room beside them. */
  readonly view: 'notes' | Panel;
  readonly note: number | 'new' | null;
}

export const route = signal<Route>(parseHash(location.hash));

window.addEventListener('popstate', () => {
  route.value = parseHash(location.hash);
});

/** Changes the address; `push` adds an entry to the history. */
export function navigate(change: Partial<Route>, how: 'push' | 'replace' = 'replace'): void {
  const next = { ...route.value, ...change };
  if (next.view === route.value.view && next.note === route.value.note) return;
  const hash = formatHash(next);
  if (how === 'push') history.pushState(null, '', hash);
  else history.replaceState(null, '', hash);
  route.value = next;
}

/** Shows the notes on a narrow screen; wide screens already show them beside every panel. */
export function showNotes(change: Partial<Pick<Route, 'note'>>, how: 'push' | 'replace'): void {
  const beside = matchMedia('(min-width: 1180px)').matches;
  navigate(beside ? change : { view: 'notes', ...change }, how);
}

function parseHash(hash: string): Route {
  const parts = new URLSearchParams(hash.slice(1));
  const view = PANELS.find((panel) => panel === parts.get('view')) ?? 'notes';
  const note = parts.get('note');
  if (note === 'new') return { view, note };
  const id = Number(note);
  return { view, note: note !== null && Number.isSafeInteger(id) ? id : null };
}

function formatHash({ view, note }: Route): string {
  const parts = new URLSearchParams();
  if (view !== 'notes') parts.set('view', view);
  if (note !== null) parts.set('note', String(note));
  return `#${parts}`;
}
