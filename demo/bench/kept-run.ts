// The result of the last whole run, kept in this browser for the next visit.

import type { PeerRow } from './peer-row.ts';

/** Facts about the browser that a run has found; the date is that of its start. */
export interface Circumstances {
  readonly date: string;
  readonly browser: string;
  readonly cores: number;
  readonly rounds: number;
  /** The storage below this package. */
  readonly medium: string | null;
  /** The browser slows down tabs that nobody sees. */
  readonly wasHidden: boolean;
}

export interface KeptRun {
  readonly circumstances: Circumstances;
  readonly absent: Readonly<Record<string, string>>;
  readonly rows: readonly PeerRow[];
}

const KEY = 'ctx-storage-bench';
/** Counts up when the form of a kept run changes. */
const FORM = 1;

export function keepRun(run: KeptRun): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ form: FORM, ...run }));
  } catch {
    // Full, or forbidden: the result is on the page until it is closed.
  }
}

/** The kept run; null if there is none of this form. */
export function readRun(): KeptRun | null {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? 'null') as { form?: number } | null;
    return found?.form === FORM ? (found as unknown as KeptRun) : null;
  } catch {
    // Forbidden, or not JSON: another page of this origin wrote it.
    return null;
  }
}
