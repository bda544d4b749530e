// What a first visitor reads: what this page shows, and where to find the source of its class. Hidden
// once there is a note.

import { listState } from '../notes/notes.ts';
import { route } from '../route.ts';

export function Intro() {
  const state = listState.value;
  const isEmpty = state.kind === 'listed' && state.list.total === 0 && state.search.trim() === '';
  const { view, note } = route.value;
  if (!isEmpty || view !== 'notes' || note !== null) return null;
  return (
    <section class="intro" aria-label="What this is">
      <h2>Write a Durable Object. Run it in the browser, with no server.</h2>
      <p>
        This page keeps your notes in a real SQLite database on your device. All your tabs share it,
        and it can go back to any moment of the last 30 days. Under “Objects”, a class written for
        Cloudflare Workers runs here unchanged:{' '}
        <a href="#view=objects">try it and read its source</a>.
      </p>
    </section>
  );
}
