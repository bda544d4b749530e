// Differences of pages are exact both ways, for any pages; bytes that no writer wrote are CORRUPT.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Checksum, wordsOf } from './checksum.ts';
import { EarlierPages } from './earlier-pages.ts';
import { type DeltaChange, DeltaEntry, encodeDelta, encodeEarlier } from './page-delta.ts';
import { PAGE_BYTES } from './pages.ts';

const CHECKSUM = new Checksum(7);

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** Redoes the entry from the old pages; a page that is not exact must not be asked for. */
function redone(entry: DeltaEntry, changes: readonly DeltaChange[]): Map<number, string> {
  const pages = new Map<number, string>();
  const readOld = (wanted: number) => {
    const change = changes.find(({ pageIndex }) => pageIndex === wanted)!;
    expect(change.isExact).toBe(true);
    return change.before!;
  };
  entry.redo(readOld, (pageIndex, page, newSum) => {
    expect(newSum).toBe(CHECKSUM.ofPage(wordsOf(page), pageIndex));
    pages.set(pageIndex, hex(page));
  });
  return pages;
}

/** Undoes the entry from the new pages. */
function undone(entry: DeltaEntry, next: ReadonlyMap<number, Uint8Array>): Map<number, string> {
  const pages = new Map<number, Uint8Array>();
  const pageOf = (pageIndex: number) => {
    const page = pages.get(pageIndex) ?? new Uint8Array(PAGE_BYTES).fill(0xee);
    pages.set(pageIndex, page);
    return page;
  };
  const seen = new Map<number, Uint8Array>();
  const mark = (pageIndex: number, at: number, length: number) => {
    const marks = seen.get(pageIndex) ?? new Uint8Array(PAGE_BYTES);
    seen.set(pageIndex, marks.fill(1, at, at + length));
  };
  entry.undo({
    copy(pageIndex, at, from, fromAt, length) {
      pageOf(pageIndex).set(next.get(from)!.subarray(fromAt, fromAt + length), at);
      mark(pageIndex, at, length);
    },
    literal(pageIndex, at, bytes, from, length) {
      pageOf(pageIndex).set(bytes.subarray(from, from + length), at);
      mark(pageIndex, at, length);
    },
  });
  for (const marks of seen.values()) expect(marks.every((bit) => bit === 1)).toBe(true);
  return new Map([...pages].map(([pageIndex, page]) => [pageIndex, hex(page)]));
}

/** A source of bytes with structure: runs that move, repeat, and change. */
function pagesFrom(seed: number, count: number, shift: number): Uint8Array {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
  const bytes = new Uint8Array(count * PAGE_BYTES + 64);
  for (let i = 0; i < bytes.length; i++) bytes[i] = i % 7 === 0 ? next(256) : (i * 31) >>> 6;
  return bytes.subarray(shift, shift + count * PAGE_BYTES);
}

const arbitraryChanges = fc
  .record({
    seed: fc.nat(1000),
    shift: fc.nat(63),
    edits: fc.array(fc.tuple(fc.nat(8 * PAGE_BYTES), fc.nat(300)), { maxLength: 6 }),
    kinds: fc.array(fc.constantFrom('exact', 'known', 'fresh', 'gone', 'noise'), {
      minLength: 1,
      maxLength: 8,
    }),
  })
  .map(({ seed, shift, edits, kinds }) => {
    const old = pagesFrom(seed, kinds.length, 0);
    const next = pagesFrom(seed, kinds.length, shift).slice();
    for (const [at, length] of edits) next.fill(length, at, at + length);
    return kinds.map((kind, i): DeltaChange => {
      const part = (bytes: Uint8Array) => bytes.slice(i * PAGE_BYTES, (i + 1) * PAGE_BYTES);
      const after = kind === 'noise' ? pagesFrom(seed + i + 1, 1, 3).slice() : part(next);
      return {
        pageIndex: 100 - i * 3,
        before: kind === 'fresh' ? null : part(old),
        after: kind === 'gone' ? null : after,
        isExact: kind === 'exact' || kind === 'gone' || kind === 'noise',
      };
    });
  });

const pagesOf = (changes: readonly DeltaChange[], side: 'before' | 'after') =>
  new Map(
    changes.flatMap((change) => {
      const page = change[side];
      return page === null ? [] : [[change.pageIndex, page] as const];
    }),
  );

const asHex = (pages: ReadonlyMap<number, Uint8Array>) =>
  new Map([...pages].map(([pageIndex, page]) => [pageIndex, hex(page)]));

test('[LOG34] any old and new pages come back from their differences, both ways', () => {
  fc.assert(
    fc.property(arbitraryChanges, (changes) => {
      const encoded = encodeDelta(changes, CHECKSUM);
      fc.pre(encoded !== null);
      const entry = new DeltaEntry(encoded.slice(), 0);
      expect(redone(entry, changes)).toEqual(asHex(pagesOf(changes, 'after')));
      expect(undone(entry, pagesOf(changes, 'after'))).toEqual(asHex(pagesOf(changes, 'before')));
    }),
    { numRuns: 300 },
  );
});

test('[LOG34] bytes that lie in a page that stays are copied from it', () => {
  const [stays, before, after] = [
    pagesFrom(1, 1, 0),
    pagesFrom(2, 1, 0),
    pagesFrom(1, 1, 0).slice(),
  ];
  after.set(pagesFrom(3, 1, 0).subarray(0, 2000));
  const change = { pageIndex: 5, before, after, isExact: true };
  const others = () => [
    { pageIndex: 8, bytes: pagesFrom(4, 1, 0) },
    { pageIndex: 9, bytes: stays },
  ];
  const alone = encodeDelta([change], CHECKSUM)?.length ?? 2 * PAGE_BYTES;
  const encoded = encodeDelta([change], CHECKSUM, others)!.slice();
  expect(alone - encoded.length).toBeGreaterThan(1500);
  const entry = new DeltaEntry(encoded, 0);
  expect(entry.pages.map(({ pageIndex }) => pageIndex)).toEqual([5, 9]);
  const unchanged = { pageIndex: 9, before: stays, after: stays, isExact: true };
  expect(redone(entry, [change, unchanged]).get(5)).toBe(hex(after));
  const next = new Map([
    [5, after],
    [9, stays],
  ]);
  expect(undone(entry, next)).toEqual(asHex(pagesOf([change, unchanged], 'before')));
});

test('[LOG34] bytes that nobody wrote are CORRUPT, or differences of at most as many pages', () => {
  const changes = [0, 1, 2].map((i) => ({
    pageIndex: i,
    before: pagesFrom(9, 3, 0).slice(i * PAGE_BYTES, (i + 1) * PAGE_BYTES),
    after: pagesFrom(9, 3, 20).slice(i * PAGE_BYTES, (i + 1) * PAGE_BYTES),
    isExact: true,
  }));
  const sound = encodeDelta(changes, CHECKSUM)!.slice();
  const page = new Uint8Array(PAGE_BYTES);
  let [corrupt, read] = [0, 0];
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(sound.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }),
      fc.option(fc.nat(sound.length / 4), { freq: 4 }),
      (edits, cut) => {
        const bytes = sound.slice(0, cut === null ? sound.length : cut * 4);
        for (const [at, byte] of edits) if (at < bytes.length) bytes[at] = byte;
        try {
          const entry = new DeltaEntry(bytes, 0);
          expect(entry.pages.length).toBeLessThanOrEqual(1024);
          let runs = 0;
          entry.redo(
            () => page,
            () => runs++,
          );
          entry.undo({
            copy: (_, at, __, fromAt, length) => {
              expect(Math.max(at, fromAt) + length).toBeLessThanOrEqual(PAGE_BYTES);
            },
            literal: (_, at, from, fromAt, length) => {
              expect(at + length).toBeLessThanOrEqual(PAGE_BYTES);
              expect(fromAt + length).toBeLessThanOrEqual(from.length);
            },
          });
          read++;
        } catch (error) {
          if ((error as { code?: string }).code !== 'CORRUPT') throw error;
          corrupt++;
        }
      },
    ),
    { numRuns: 3000 },
  );
  expect(corrupt).toBeGreaterThan(100);
  expect(read).toBeGreaterThan(100);
});

/** A record of one entry, as `EarlierPages` reads it. */
const recordOf = (entry: Uint8Array, pageCount: number) => {
  const bytes = new Uint8Array(64 + entry.length);
  bytes.set(entry, 64);
  return { bytes, record: { flags: 0, length: bytes.length, pageCountBefore: pageCount } as never };
};

test('[LOG34] [HIST16] records that are folded in two steps take pages back as one after the other does', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(1000), fc.nat(63), fc.nat(5)), { minLength: 2, maxLength: 6 }),
      fc.nat(5),
      (steps, middle) => {
        const count = 6;
        const states = steps.map(([seed, shift]) => pagesFrom(seed % 3, count, shift));
        const pageOf = (state: number, page: number) =>
          states[state]!.slice(page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
        const records = states.slice(1).flatMap((_, i) => {
          const first = steps[i]![2] % 3;
          const changes = [first, first + 1, first + 2].map((page) => ({
            pageIndex: page,
            before: pageOf(i, page),
            after: pageOf(i + 1, page),
            isExact: true,
          }));
          // The pages that are not part of the record stay as they are.
          for (let page = 0; page < count; page++) {
            if (page < first || page > first + 2)
              states[i + 1]!.set(pageOf(i, page), page * PAGE_BYTES);
          }
          const entry = encodeDelta(changes, CHECKSUM);
          return entry === null ? [] : [recordOf(entry, count)];
        });
        fc.pre(records.length === states.length - 1);
        const last = states.at(-1)!;
        const back = (earlier: EarlierPages) => {
          earlier.resolve((page, target) =>
            target.set(last.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES)),
          );
          const image = last.slice();
          for (const page of earlier.pageIndexes()) {
            earlier.apply(image.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES), page);
          }
          return hex(image);
        };
        const all = new EarlierPages(count);
        for (const { bytes, record } of [...records].reverse()) all.addOlder(bytes, record);
        const at = Math.min(middle, records.length);
        const [older, newer, folded] = [0, 1, 2].map(() => new EarlierPages(count)) as [
          EarlierPages,
          EarlierPages,
          EarlierPages,
        ];
        for (const { bytes, record } of records.slice(0, at).reverse())
          older.addOlder(bytes, record);
        for (const { bytes, record } of records.slice(at).reverse()) newer.addOlder(bytes, record);
        newer.addOlderPages(older);
        newer.eachMoved(({ pages, sourcePages }) => {
          const { bytes, record } = recordOf(encodeEarlier(pages, sourcePages).slice(), count);
          folded.addOlder(bytes, record);
        });
        expect(back(all)).toBe(hex(states[0]!));
        expect(back(folded)).toBe(hex(states[0]!));
        expect(back(newer)).toBe(hex(states[0]!));
      },
    ),
    { numRuns: 100 },
  );
});
