// Announces that stored data may have changed: `revision` counts up, and everything that shows data
// reads it again.
//
// The sources are this tab's own writes, writes of other tabs (announced on a BroadcastChannel of the
// demo), and the return of the tab to the foreground, because it may have missed a message. A hidden
// tab does not read; it catches up when it is shown.

import { signal } from '@preact/signals';

export const revision = signal(0);

const channel = new BroadcastChannel('ctx-storage-demo');
let missed = false;

/** Call this after every confirmed write. */
export function dataChanged(): void {
  revision.value += 1;
  channel.postMessage('changed');
}

/** Reads everything again, in this tab only. */
export function refresh(): void {
  missed = false;
  revision.value += 1;
}

channel.onmessage = () => {
  if (document.hidden) missed = true;
  else refresh();
};
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && missed) refresh();
});
window.addEventListener('focus', refresh);
