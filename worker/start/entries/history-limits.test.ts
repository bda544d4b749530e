// Tests the bounds of the history that an app sets for a host or a class, also beside branches.

import { expect, test } from 'vitest';
import type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { createObjects, DurableObject, type NodeOptions } from './node-objects.ts';
import { serve } from './objects.ts';

class Notes extends DurableObject {}
class Drafts extends DurableObject {}

const VALUE_BYTES = 100_000;
const SMALL: HistoryLimits = { bytes: 0 };

async function withObjects(
  { drafts, ...options }: NodeOptions & { readonly drafts?: HistoryLimits },
  use: (notes: StorageHandle, drafts: StorageHandle) => Promise<void>,
): Promise<void> {
  const classes = { Notes, Drafts: { class: Drafts, ...(drafts && { history: drafts }) } };
  const objects = await createObjects(classes, options);
  try {
    const [one, other] = [objects.env.Notes.getByName('a'), objects.env.Drafts.getByName('a')];
    await use(await objects.storage(one), await objects.storage(other));
  } finally {
    await objects.close();
  }
}

/** Saves a text again and again; each save is 100 kB of log at first, then 200. */
async function save(storage: StorageHandle, count: number): Promise<string[]> {
  const bookmarks: string[] = [];
  for (let i = 0; i < count; i++) {
    await storage.put('text', String.fromCharCode(97 + (i % 26)).repeat(VALUE_BYTES));
    bookmarks.push(await storage.getCurrentBookmark());
  }
  return bookmarks;
}

/** Returns whether the state of a bookmark can be opened. */
async function isKept(storage: StorageHandle, bookmark: string): Promise<boolean> {
  try {
    await (await storage.at(bookmark)).close();
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'BOOKMARK_UNAVAILABLE' });
    return false;
  }
}

test('[HIST8] the bounds of a host are those of its objects; a class may have its own', async () => {
  await withObjects({ history: SMALL, drafts: { bytes: 50e6 } }, async (notes, drafts) => {
    const [inNotes, inDrafts] = [await save(notes, 40), await save(drafts, 40)];
    expect(await isKept(notes, inNotes[0]!)).toBe(false);
    expect(await isKept(notes, inNotes.at(-8)!)).toBe(true);
    expect(await isKept(drafts, inDrafts[0]!)).toBe(true);
  });
});

test('[HIST8] a class that sets one bound keeps the other of the host', async () => {
  await withObjects({ history: { ...SMALL, days: 7 }, drafts: { days: 1 } }, async (_, drafts) => {
    const bookmarks = await save(drafts, 40);
    expect(await isKept(drafts, bookmarks[0]!)).toBe(false);
    const twoDaysAgo = new Date(Date.now() - 2 * 86_400_000);
    await expect(drafts.at(twoDaysAgo)).rejects.toThrow('not within the last day');
  });
});

test('[HIST9] with no history at all, the last commit can be undone, and nothing else is promised', async () => {
  await withObjects({ history: { days: 0, bytes: 0 } }, async (notes) => {
    const bookmarks = await save(notes, 40);
    const undo = await notes.restore(bookmarks.at(-2)!);
    expect(await notes.get('text')).toMatch(/^m+$/);
    await notes.restore(undo);
    expect(await notes.get('text')).toMatch(/^n+$/);
    await expect(notes.restore(bookmarks[0]!)).rejects.toMatchObject({
      code: 'BOOKMARK_UNAVAILABLE',
    });
  });
});

test('[HIST9] the history that a branch needs is kept beyond the bounds until it is deleted', async () => {
  await withObjects({ history: SMALL }, async (notes) => {
    const [first] = await save(notes, 1);
    const branch = await notes.fork({ name: 'draft', keep: true });
    const [second] = await save(notes, 20);
    expect(await branch.get('text')).toMatch(/^a+$/);
    expect(await isKept(notes, first!)).toBe(true);
    expect(await isKept(notes, second!)).toBe(true);
    await branch.close();
    await save(notes, 20);
    expect(await isKept(notes, first!)).toBe(true);
    expect(await notes.deleteBranch('draft')).toBe(true);
    await save(notes, 20);
    expect(await isKept(notes, second!)).toBe(false);
  });
});

test('[BRANCH6] the history that an open branch needs is kept beyond the bounds, also while the object restarts, until the branch is closed', {
  tags: 'long',
}, async () => {
  await withObjects({ history: SMALL }, async (notes) => {
    const [first] = await save(notes, 1);
    const branch = await notes.fork();
    await branch.put('own', 1);
    const [second] = await save(notes, 40);
    expect(await isKept(notes, first!)).toBe(true);
    await notes.abort();
    // The branch is closed and none of its moments is in memory while these writes push its history out.
    await save(notes, 40);
    expect(await isKept(notes, first!)).toBe(true);
    expect(await branch.get('text')).toMatch(/^a+$/);
    expect(await branch.get('own')).toBe(1);
    await branch.close();
    await save(notes, 20);
    expect(await isKept(notes, second!)).toBe(false);
  });
});

test('[HIST13] a host thins the history of its objects, and a class that says so does not', {
  tags: 'long',
}, async () => {
  const refused = async (storage: StorageHandle, bookmark: string) => {
    const error: unknown = await storage.at(bookmark).catch((reason: unknown) => reason);
    return error instanceof Error ? error.message : 'it is kept';
  };
  const history = { bytes: 8e6, thin: true };
  await withObjects({ history, drafts: { thin: false } }, async (notes, drafts) => {
    const [inNotes, inDrafts] = [await save(notes, 60), await save(drafts, 60)];
    const isThinned = async (storage: StorageHandle, bookmarks: readonly string[]) => {
      const reasons = await Promise.all(bookmarks.map((bookmark) => refused(storage, bookmark)));
      return reasons.some((reason) => reason.includes('when the history was thinned'));
    };
    expect(await isThinned(notes, inNotes)).toBe(true);
    expect(await isThinned(drafts, inDrafts)).toBe(false);
  });
});

test('[HIST10] a wrong bound is an error before anything is started', async () => {
  const history = { days: 31 };
  const wrong = { name: 'TypeError', code: 'INVALID_ARGUMENT' };
  await expect(createObjects({ Notes }, { history })).rejects.toMatchObject(wrong);
  expect(() => serve({}, { history })).toThrow(expect.objectContaining(wrong));
  const classes = { Notes: { class: Notes, history: { bytes: -1 } } };
  await expect(createObjects(classes)).rejects.toMatchObject({
    code: 'CLASS_INVALID',
    message: expect.stringMatching(/^serve: Notes: history\.bytes is a number of bytes/),
  });
});
