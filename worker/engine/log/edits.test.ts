// Pages that are edited in place, in any order with SQLite's own writes: the transaction, its record, and its
// undoing.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  copyOf,
  imageOf,
  noise,
  TestEnvironment,
} from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';
import type { PageStore } from './page-store.ts';
import { PAGE_BYTES } from './pages.ts';
import { type RecoveryOptions, recover } from './recovery.ts';

const OPTIONS = {
  isChecked: true,
  segmentBytes: 1 << 16,
  pastBytes: 1 << 20,
  undoBytes: 1 << 20,
  checkpointOverlayBytes: 1 << 20,
  checkpointLogBytes: 1 << 14,
};

const PAGES = 12;
const pageIndex = fc.nat(PAGES - 1);

const operation = fc.oneof(
  fc.record({
    kind: fc.constant('edit' as const),
    pages: fc.uniqueArray(pageIndex, { maxLength: 8 }),
    isLast: fc.boolean(),
    /** A part of a page, or all of it. */
    wordCount: fc.constantFrom(1, 40, PAGE_BYTES / 4),
  }),
  fc.record({ kind: fc.constant('write' as const), page: pageIndex }),
  fc.record({ kind: fc.constant('truncate' as const), pageCount: fc.nat(PAGES) }),
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** Five pages, committed. */
async function five(options: RecoveryOptions) {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const files = await ObjectFiles.open(directory, environment, options);
  const pages = [0, 1, 2, 3, 4].map((index) => Buffer.from(noise(index, PAGE_BYTES)));
  for (const [index, page] of pages.entries()) files.file.write(page, index * PAGE_BYTES);
  files.file.commit();
  await files.flush();
  const bookmark = files.currentBookmark();
  await files.close();
  return { directory, environment, bookmark, pages };
}

/** The pages after an operation. */
function changed(pages: readonly Buffer[], one: Operation, seed: number): Buffer[] {
  const result: Buffer[] = pages.slice();
  const grow = (index: number) => {
    while (result.length <= index) result.push(Buffer.alloc(PAGE_BYTES));
  };
  if (one.kind === 'write') {
    grow(one.page);
    result[one.page] = Buffer.from(noise(seed, PAGE_BYTES));
  } else if (one.kind === 'truncate') {
    result.length = Math.min(result.length, one.pageCount);
  } else if (one.kind === 'edit') {
    for (const index of one.pages) {
      grow(index);
      const page = Buffer.from(result[index]!);
      noise(seed + index, one.wordCount * 4).forEach((byte, at) => {
        page[at] = byte;
      });
      result[index] = page;
    }
  }
  return result;
}

/** Applies the operations to the running transaction, which is compared after each. */
function apply(operations: readonly Operation[], store: PageStore, first: readonly Buffer[]) {
  let pages = first;
  for (const [step, one] of operations.entries()) {
    const seed = 100 * (step + 1);
    if (one.kind === 'edit') {
      const inOrder = one.pages.toSorted((a, b) => a - b);
      const edit = (page: Uint8Array, index: number) =>
        page.set(noise(seed + index, one.wordCount * 4));
      const pageCount = Math.max(pages.length, ...inOrder.map((index) => index + 1));
      store.undo({ pageIndexes: () => inOrder, apply: edit, pageCount }, one.isLast);
    } else if (one.kind === 'write') {
      store.write(noise(seed, PAGE_BYTES), one.page * PAGE_BYTES);
    } else {
      // SQLite never makes a file longer by its size alone.
      store.truncate(Math.min(one.pageCount, pages.length) * PAGE_BYTES);
    }
    pages = changed(pages, one, seed);
    expect(imageOf(store).equals(Buffer.concat(pages))).toBe(true);
  }
  return Buffer.concat(pages);
}

test('[LOG11] pages edited in place, for the last time or not, are those of the commit, and can be undone', {
  tags: 'long',
}, async () => {
  const operations = fc.array(operation, { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(
      operations,
      operations,
      fc.constantFrom(2, 5, 1000),
      async (rolledBack, committed, spillPages) => {
        const options = { ...OPTIONS, spillBytes: spillPages * PAGE_BYTES };
        const { directory, environment, bookmark, pages } = await five(options);
        const { log, pages: store, main } = await recover(directory, environment, options);
        apply(rolledBack, store, pages);
        store.rollback();
        // A file that only became shorter is recorded by the next commit; this writes as well.
        const image = apply([...committed, { kind: 'write', page: 0 }], store, pages);
        store.commit();
        log.close();
        main.close();

        const files = await ObjectFiles.open(await copyOf(directory), environment, options);
        expect(Buffer.from(files.databaseBytes()).equals(image)).toBe(true);
        const past = await files.openPast(bookmark);
        expect(imageOf(past).equals(Buffer.concat(pages))).toBe(true);
        await files.close();
      },
    ),
    { numRuns: 300 },
  );
});
