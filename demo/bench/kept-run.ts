// Keeps the result of the last complete run in this browser for the next visit.

import type { PeerRow } from './peer-row.ts';

/** Facts about the browser during a run; `date` is that of the run's start. */
export interface Circumstances {
  readonly date: string;
  readonly browser: string;
  readonly cores: number;
  readonly rounds: number;
  /** The medium that this package stored on, such as OPFS. */
  readonly medium: string | null;
  /** Whether the tab was hidden during the run, when browsers slow it down. */
  readonly wasHidden: boolean;
}

export interface KeptRun {
  readonly circumstances: Circumstances;
  readonly absent: Readonly<Record<string, string>>;
  readonly rows: readonly PeerRow[];
}

const KEY = 'ctx-storage-bench';
/** The version of the stored format; it counts up when the format changes. */
const FORM = 1;

export function keepRun(run: KeptRun): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ form: FORM, ...run }));
  } catch {
    // The browser's storage is full or forbidden; the result stays on the page until that is closed.
  }
}

/** Reads the stored run; null if there is none in this format. */
export function readRun(): KeptRun | null {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? 'null') as { form?: number } | null;
    return found?.form === FORM ? (found as unknown as KeptRun) : null;
  } catch {
    // The storage is forbidden, or the text is not JSON because another page of this origin wrote it.
    return null;
  }
}
