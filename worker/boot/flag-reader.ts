// Looks whether the flag of a call is still there, from a thread that is busy: a blob URL can be loaded
// synchronously, until the page that made it revokes it or is gone.
//
// Invariant: a flag counts as revoked only if the worker could have loaded it. A policy (connect-src) without
// `blob:` refuses every blob URL, so the worker tries one of its own before it believes that a flag is gone.

/** Loads the address now, blocking the thread. True if it exists. */
export type Load = (url: string) => boolean;

/** The result tells whether the flag was revoked. */
export function flagReader(load: Load, makeFlag: () => string): (url: string) => boolean {
  let own: string | undefined;
  let canLook = true;
  return (url) => {
    if (!canLook || load(url)) return false;
    own ??= makeFlag();
    canLook = load(own);
    return canLook && !load(url); // once more: a request may have failed by chance
  };
}

/** In a worker; pages may not block. */
export function workerFlagReader(): (url: string) => boolean {
  if (typeof XMLHttpRequest !== 'function') return () => false;
  return flagReader(loadNow, () => URL.createObjectURL(new Blob([])));
}

function loadNow(url: string): boolean {
  try {
    const request = new XMLHttpRequest();
    request.open('GET', url, false);
    request.send();
    return request.status === 200;
  } catch {
    return false;
  }
}
