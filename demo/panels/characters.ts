// Keeps the state of the data set on screen: whether it is stored, the running import, and the search in it.

import { effect, signal } from '@preact/signals';
import { revision } from '../changes.ts';
import {
  CHARACTER_COUNT,
  type CharacterList,
  countCharacters,
  type ImportProgress,
  importCharacters,
  removeCharacters,
  searchCharacters,
} from '../dataset.ts';
import { bulkStorage, problemOfCall, storage } from '../storage.ts';
import { formatCount } from '../ui/format.ts';
import { announce } from '../ui/messages.tsx';
import type { Problem } from '../ui/problem.ts';

export type ImportState =
  | { readonly kind: 'none' }
  | { readonly kind: 'running'; readonly progress: ImportProgress }
  | { readonly kind: 'cancelled'; readonly progress: ImportProgress }
  | { readonly kind: 'done'; readonly progress: ImportProgress }
  | { readonly kind: 'failed'; readonly problem: Problem };

const LIST_LENGTH_MAX = 100;
const NOTHING_YET: ImportProgress = { rows: 0, batches: 0, durationMs: 0 };

/** The number of rows that are stored now; null until it is known. */
export const storedCount = signal<number | null>(null);
export const importState = signal<ImportState>({ kind: 'none' });
export const characterSearch = signal('');
export const found = signal<CharacterList>({ characters: [], total: 0 });
export const readProblem = signal<Problem | null>(null);

let cancellation: AbortController | null = null;
let question = 0;

/** Counts and searches again whenever the data or the search changes. */
export function startCharacters(): void {
  effect(() => {
    void revision.value;
    void read(characterSearch.value);
  });
}

export async function startImport(): Promise<void> {
  if (importState.value.kind === 'running') return;
  cancellation = new AbortController();
  const { signal: cancelled } = cancellation;
  let progress = NOTHING_YET;
  importState.value = { kind: 'running', progress };
  try {
    await importCharacters(
      bulkStorage(),
      (now) => {
        progress = now;
        importState.value = { kind: 'running', progress };
      },
      cancelled,
    );
    importState.value = { kind: 'done', progress };
    announce(`${formatCount(progress.rows)} rows are stored`);
  } catch (error) {
    importState.value = cancelled.aborted
      ? { kind: 'cancelled', progress }
      : { kind: 'failed', problem: problemOfCall(error) };
  }
}

export function cancelImport(): void {
  cancellation?.abort();
}

export async function removeDataset(): Promise<void> {
  try {
    await removeCharacters(bulkStorage());
    importState.value = { kind: 'none' };
    characterSearch.value = '';
  } catch (error) {
    importState.value = { kind: 'failed', problem: problemOfCall(error) };
  }
}

/** Returns how many rows an import has stored per second. */
export function rowsPerSecond({ rows, durationMs }: ImportProgress): number {
  return durationMs === 0 ? 0 : Math.round(rows / (durationMs / 1000));
}

export function isComplete(count: number | null): boolean {
  return count !== null && count >= CHARACTER_COUNT;
}

async function read(text: string): Promise<void> {
  question += 1;
  const asked = question;
  try {
    const count = await countCharacters(storage());
    const list =
      count === 0
        ? { characters: [], total: 0 }
        : await searchCharacters(storage(), text, LIST_LENGTH_MAX);
    if (asked !== question) return;
    storedCount.value = count;
    found.value = list;
    readProblem.value = null;
  } catch (error) {
    const problem = problemOfCall(error);
    if (asked === question) readProblem.value = problem;
  }
}
