// Whether a browser's refusal comes from a full disk. Browsers say so in several ways: a quota that is
// exceeded has an error of its own, a disk that is full does not, and a transaction of IndexedDB that finds
// no room is aborted.
//
// Invariant: a refusal for another reason (blocked site data, a private window) never counts as a full
// disk, even when the disk is full as well.

/** Errors that browsers raise for a full disk among other reasons. */
const AMBIGUOUS: ReadonlySet<string> = new Set(['AbortError', 'InvalidStateError', 'UnknownError']);

const WORDS = /disk (?:is )?full|full disk|no space|not enough (?:disk )?space|quota/i;

/** Less than this is not enough to begin anything. */
const ROOM_BYTES = 16_384;

/** Asks how much room is left if the error itself does not tell. Never rejects. */
export async function isFromFullDisk(cause: unknown): Promise<boolean> {
  const { name = '', message = '' } = (cause ?? {}) as { name?: string; message?: string };
  if (name === 'QuotaExceededError') return true;
  if (!AMBIGUOUS.has(name)) return false;
  if (WORDS.test(message)) return true;
  try {
    const { usage = 0, quota = Number.POSITIVE_INFINITY } = await navigator.storage.estimate();
    return quota - usage < ROOM_BYTES;
  } catch {
    return false;
  }
}
