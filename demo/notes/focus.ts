// Where the keyboard is in the notes: the focus stays on its element, or goes to the nearest one when that is gone.
//
// A browser gives the focus to nobody when its element is removed, disabled, or moved in the list.

import { signal } from '@preact/signals';

export const SEARCH_ID = 'note-search';

/** The next note that opens takes the focus. */
const isWanted = signal(false);

export function lines(): HTMLButtonElement[] {
  return [...document.querySelectorAll<HTMLButtonElement>('.lines button')];
}

/** Gives the focus to the note of the address, once it is on the screen. */
export function focusOpened(isOpen: boolean): void {
  isWanted.value = true;
  if (isOpen) requestAnimationFrame(noteOpened);
}

/** A note is on the screen: it takes the focus if it is wanted, with its title if that is empty. */
export function noteOpened(): void {
  const title = document.getElementById('note-title') as HTMLInputElement | null;
  const target = title?.value === '' ? title : document.getElementById('note-body');
  if (!isWanted.value || target === null) return;
  isWanted.value = false;
  target.focus();
}

/** Keeps the focus in the list and the note, from now on. */
export function keepFocus(root: HTMLElement): void {
  /** The element that has the focus, if it is one of the list or the note. */
  let kept: HTMLElement | null = null;
  /** The place in the list of the focused line, or of the open note. */
  let index = 0;
  root.addEventListener('focusin', ({ target }) => {
    kept = (target as HTMLElement).closest('.note-list, .editor') && (target as HTMLElement);
    const at = lines().findIndex((line) => line === target || line.ariaCurrent === 'true');
    if (at >= 0) index = at;
  });
  // Whoever clicks elsewhere, or presses Escape, gives it up.
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
    // Of a disabled element the browser takes the focus later.
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
