// Keeps the keyboard focus in the notes: it stays on its element, or moves to the nearest one when that is gone.
//
// This is needed because no element has the focus after a browser has removed, disabled or moved the focused one.

import { signal } from '@preact/signals';

export const SEARCH_ID = 'note-search';

/** Whether the next note that opens takes the focus. */
const isWanted = signal(false);

export function lines(): HTMLButtonElement[] {
  return [...document.querySelectorAll<HTMLButtonElement>('.lines button')];
}

/** Gives the focus to the note of the address, once it is on the screen. */
export function focusOpened(isOpen: boolean): void {
  isWanted.value = true;
  if (isOpen) requestAnimationFrame(noteOpened);
}

/**
 * Is called when a note has appeared. It focuses the note if that is wanted: its title if that is empty, else its text.
 */
export function noteOpened(): void {
  const title = document.getElementById('note-title') as HTMLInputElement | null;
  const target = title?.value === '' ? title : document.getElementById('note-body');
  if (!isWanted.value || target === null) return;
  isWanted.value = false;
  target.focus();
}

/** Starts to keep the focus in the list and the note. */
export function keepFocus(root: HTMLElement): void {
  /** The element that has the focus, if it is one of the list or the note. */
  let kept: HTMLElement | null = null;
  /** The index in the list of the focused line or of the open note. */
  let index = 0;
  root.addEventListener('focusin', ({ target }) => {
    kept = (target as HTMLElement).closest('.note-list, .editor') && (target as HTMLElement);
    const at = lines().findIndex((line) => line === target || line.ariaCurrent === 'true');
    if (at >= 0) index = at;
  });
  // A click elsewhere, or Escape, gives up the focus.
  for (const type of ['pointerdown', 'keydown']) {
    root.addEventListener(
      type,
      (event) => {
        if (type === 'pointerdown' || (event as KeyboardEvent).key === 'Escape') kept = null;
      },
      { capture: true },
    );
  }
  new MutationObserver(() => {
    // The browser takes the focus from a disabled element only later.
    const isLost = document.activeElement === document.body || kept?.matches(':disabled:focus');
    if (kept === null || isLost !== true) return;
    const near = lines()[Math.min(index, lines().length - 1)];
    const inNote = kept.closest('.line') === null ? document.getElementById('note-body') : null;
    const places = [kept, inNote, near, document.getElementById(SEARCH_ID)];
    places.find((place) => place && canTake(place))?.focus();
  }).observe(root, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ['disabled'],
  });
}

function canTake(place: HTMLElement): boolean {
  return place.isConnected && place.checkVisibility() && !place.matches(':disabled');
}
