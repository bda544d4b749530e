// Shows the messages of the page: one toast with at most one action, and a line for screen readers.
//
// A toast stays while the pointer is over it or it has the focus, so its button never disappears before a click.

import { signal } from '@preact/signals';

export interface Toast {
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

const TOAST_MS = 10_000;

const toast = signal<Toast | null>(null);
const announcement = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

export function showToast(next: Toast): void {
  toast.value = next;
  startTimer();
}

/** Announces the text to screen readers only. */
export function announce(text: string): void {
  announcement.value = text;
}

export function Messages() {
  const current = toast.value;
  return (
    <>
      <div class="visually-hidden" role="status">
        {announcement}
      </div>
      <div class="toast-region" role="status">
        {current !== null && (
          <div
            class="toast"
            onPointerEnter={stopTimer}
            onPointerLeave={startTimer}
            onFocusIn={stopTimer}
            onFocusOut={startTimer}
          >
            <span>{current.text}</span>
            {current.action !== undefined && (
              <button
                type="button"
                class="toast-action"
                onClick={() => {
                  close();
                  current.action?.run();
                }}
              >
                {current.action.label}
              </button>
            )}
            <button type="button" class="icon" aria-label="Dismiss" onClick={close}>
              ×
            </button>
          </div>
        )}
      </div>
    </>
  );
}

function close(): void {
  stopTimer();
  toast.value = null;
}

function startTimer(): void {
  stopTimer();
  timer = setTimeout(close, TOAST_MS);
}

function stopTimer(): void {
  clearTimeout(timer);
}
