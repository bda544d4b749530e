// Introduces a first visitor to the purpose of this page and to where its classes run. It is hidden once a note exists.

import { useEffect } from 'preact/hooks';
import { listState } from '../notes/notes.ts';
import { route } from '../route.ts';

/**
 * The key that records for the next visit whether there are notes, so that the page does not jump until they are
 * listed.
 */
const HAS_NOTES = 'ctx-storage-notes';
const wasEmpty = read() === null;

export function Intro() {
  const state = listState.value;
  const isKnown = state.kind === 'listed' && state.search.trim() === '';
  const isEmpty = isKnown ? state.list.total === 0 : wasEmpty && state.kind === 'loading';
  useEffect(() => {
    if (isKnown) remember(isEmpty);
  }, [isKnown, isEmpty]);
  const { view, note } = route.value;
  if (!isEmpty || view !== 'notes' || note !== null) return null;
  return (
    <section class="intro" aria-label="What this is">
      <h2>Write a Durable Object. Run it in the browser, with no server.</h2>
      <p>
        This page keeps your notes in a real SQLite database on your device. All your tabs share it,
        and it can go back to any moment of the last 30 days. A class written for Cloudflare Workers
        runs here unchanged: <a href="./">change one in the playground</a>.
      </p>
    </section>
  );
}

// If the browser's storage is forbidden, nothing was recorded.
function read(): string | null {
  try {
    return localStorage.getItem(HAS_NOTES);
  } catch {
    return '';
  }
}

function remember(isEmpty: boolean): void {
  try {
    if (isEmpty) localStorage.removeItem(HAS_NOTES);
    else localStorage.setItem(HAS_NOTES, 'yes');
  } catch {}
}
