// Decides whether an error of the browser comes from a full disk. Browsers report that in several ways: an exceeded
// quota has an error of its own, a full disk has not, and IndexedDB aborts a transaction for which there is no room.
//
// Invariant: a refusal for another reason (blocked site data, a private window) never counts as a full
// disk, even when the disk is full as well.

/** Errors that browsers raise for a full disk among other reasons. */
const AMBIGUOUS: ReadonlySet<string> = new Set(['AbortError', 'InvalidStateError', 'UnknownError']);

const WORDS = /disk (?:is )?full|full disk|no space|not enough (?:disk )?space|quota/i;

/** If less space than this is free, the disk counts as full. */
const ROOM_BYTES = 16_384;

/**
 * Returns true if the error comes from a full disk. If the error is ambiguous, asks how much room is left. Never
 * rejects.
 */
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
