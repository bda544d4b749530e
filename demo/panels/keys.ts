// The keys on screen: a prefix, a list page of entries, and the open entry.

import { effect, signal } from '@preact/signals';
import { dataChanged, revision } from '../changes.ts';
import { problemOfCall, storage } from '../storage.ts';
import { showToast } from '../ui/messages.tsx';
import type { Problem } from '../ui/problem.ts';

const PAGE_SIZE = 50;

export interface Entry {
  readonly key: string;
  readonly value: unknown;
}

export type KeysState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'listed'; readonly entries: readonly Entry[]; readonly more: boolean }
  | { readonly kind: 'failed'; readonly problem: Problem };

export const prefix = signal('');
/** The key that each list page so far starts after; the last one is on screen. Empty: the first. */
export const pageStarts = signal<readonly string[]>([]);
export const keysState = signal<KeysState>({ kind: 'loading' });

let question = 0;

/** Lists again whenever the data, the prefix or the list page changes. */
export function startKeys(): void {
  effect(() => {
    void revision.value;
    void load(prefix.value, pageStarts.value.at(-1));
  });
}

export function setPrefix(text: string): void {
  pageStarts.value = [];
  prefix.value = text;
}

export function nextPage(): void {
  const state = keysState.value;
  const last = state.kind === 'listed' ? state.entries.at(-1) : undefined;
  if (last !== undefined) pageStarts.value = [...pageStarts.value, last.key];
}

export function previousPage(): void {
  pageStarts.value = pageStarts.value.slice(0, -1);
}

/** Stores a value. Returns the problem, or null if it was stored. */
export async function putEntry(key: string, value: unknown): Promise<Problem | null> {
  try {
    await storage().put(key, value);
    dataChanged();
    return null;
  } catch (error) {
    return problemOfCall(error);
  }
}

/** Stores values of types that JSON lacks. */
export async function putSamples(): Promise<Problem | null> {
  try {
    await storage().put<unknown>({
      'sample/map': new Map<string, unknown>([
        ['when', new Date()],
        ['tags', new Set(['offline', 'first'])],
      ]),
      'sample/bigint': 2n ** 64n,
      'sample/bytes': crypto.getRandomValues(new Uint8Array(24)),
      'sample/object': { name: 'Ada', born: new Date(Date.UTC(1815, 11, 10)), pattern: /^a+/i },
    });
    dataChanged();
    return null;
  } catch (error) {
    return problemOfCall(error);
  }
}

/** Deletes an entry, and offers to undo it. */
export async function removeEntry({ key, value }: Entry): Promise<Problem | null> {
  try {
    await storage().delete(key);
    dataChanged();
    const undo = async () => {
      const problem = await putEntry(key, value);
      if (problem !== null)
        showToast({ text: `Not restored. ${problem.code}: ${problem.message}` });
    };
    showToast({ text: `Deleted key “${key}”.`, action: { label: 'Undo', run: () => void undo() } });
    return null;
  } catch (error) {
    return problemOfCall(error);
  }
}

async function load(startsWith: string, startAfter: string | undefined): Promise<void> {
  question += 1;
  const asked = question;
  try {
    // One more entry than fits shows whether there is a next list page.
    const found = await storage().list({
      limit: PAGE_SIZE + 1,
      ...(startsWith === '' ? {} : { prefix: startsWith }),
      ...(startAfter === undefined ? {} : { startAfter }),
    });
    if (asked !== question) return;
    const entries = Array.from(found, ([key, value]) => ({ key, value }));
    keysState.value = {
      kind: 'listed',
      entries: entries.slice(0, PAGE_SIZE),
      more: entries.length > PAGE_SIZE,
    };
  } catch (error) {
    const problem = problemOfCall(error);
    if (asked === question) keysState.value = { kind: 'failed', problem };
  }
}
