// When stored data may have changed: `revision` counts up, and whatever shows data reads it again.
//
// Sources are this tab's own writes, writes of other tabs of the demo (told by a BroadcastChannel
// of the demo's own), and the return of the tab to the foreground, when a message may have been
// missed. A hidden tab does not read; it catches up when it is shown.

import { signal } from '@preact/signals';

export const revision = signal(0);

const channel = new BroadcastChannel('ctx-storage-demo');
let missed = false;

/** To be called after every confirmed write. */
export function dataChanged(): void {
  revision.value += 1;
  channel.postMessage('changed');
}

/** Reads everything again in this tab alone. */
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
