// Which files opening holds, and which of them are closed again.

import { beforeEach, expect, test } from 'vitest';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { FileDirectory } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { Checksum } from './checksum.ts';
import { OpeningFiles } from './opening-files.ts';
import { foldedName, type Span } from './sealed-segments.ts';
import { Segment, segmentName } from './segment.ts';

let inner: MemoryDirectory;
/** Names of the files that are open now, and of all that were opened. */
let held: Set<string>;
let opened: string[];
let failing: string | undefined;
let files: OpeningFiles;

// A directory may list its files in any order.
const ORDER = [7, 3, 16, 5, 4, 6, 8];

beforeEach(async () => {
  inner = new MemoryDirectory();
  held = new Set();
  opened = [];
  failing = undefined;
  for (const name of ['main', 'other', ...ORDER.map(segmentName), 'checkpoint']) {
    (await inner.open(name)).close();
  }
  const directory: FileDirectory = {
    async open(name) {
      if (name === failing) throw storageError('IO', 'failed by the test');
      opened.push(name);
      const file = await inner.open(name);
      held.add(name);
      const close = file.close.bind(file);
      file.close = () => {
        held.delete(name);
        close();
      };
      return file;
    },
    names: () => inner.names(),
    remove: (name) => inner.remove(name),
  };
  files = new OpeningFiles(directory);
});

const names = (...numbers: number[]) => numbers.map(segmentName);
const heldNames = () => [...held].sort();

test('[LOG14] of any number of segments the first and the last two are opened, each once', async () => {
  expect(files.numbers).toEqual([]);
  await files.openFirst();
  expect(files.numbers).toEqual([3, 4, 5, 6, 7, 8, 16]);
  expect(heldNames()).toEqual(['checkpoint', ...names(3, 8, 16), 'main']);
  await files.openFrom(7);
  expect(heldNames()).toEqual(['checkpoint', ...names(3, 7, 8, 16), 'main']);
  await files.openSegments([3, 4]);
  expect(new Set(opened).size).toBe(opened.length);
  expect([files.find(4) !== null, files.find(5)]).toEqual([true, null]);
  expect(() => files.segment(5)).toThrow(
    expect.objectContaining({ code: 'INTERNAL', message: '"log-00000005" is not open.' }),
  );
  files.closeRest();
  expect(heldNames()).toEqual([]);
});

test('[LOG14] segments before the oldest are closed and removed', async () => {
  await files.openFirst();
  await files.removeBefore(5);
  expect(files.numbers).toEqual([5, 6, 7, 8, 16]);
  expect((await inner.names()).sort()).toEqual(
    ['checkpoint', ...names(5, 6, 7, 8, 16), 'main', 'other'].sort(),
  );
  expect(held.has(segmentName(3))).toBe(false);
  await files.removeBefore(5);
  expect(files.numbers).toEqual([5, 6, 7, 8, 16]);
  files.closeRest();
});

/** A folded segment whose header is intact. */
async function fold(span: Span, checksum: Checksum): Promise<void> {
  const [first, file] = [await inner.open('first'), await inner.open(foldedName(span))];
  const base = { sequence: 0, timeMs: 0, sum: 0 };
  const folded = { spacingMs: span.minutes * 60_000, savedBytes: 0 };
  Segment.create(span.first, first, base, checksum)
    .beginFolded(span.last, file)
    .writeFolded(folded);
  for (const each of [first, file]) each.close();
}

test.each([
  ['the wider one', { first: 3, last: 5, minutes: 1 }, { first: 3, last: 4, minutes: 60 }],
  ['that with more minutes', { first: 3, last: 4, minutes: 60 }, { first: 3, last: 4, minutes: 1 }],
])(
  '[HIST16] of two folded segments of the same commits, %s stands, and the rest is removed',
  async (_, stays, goes) => {
    const checksum = new Checksum(5);
    for (const span of [stays, goes]) await fold(span, checksum);
    await files.openFirst();
    await files.settleFolded(checksum);
    expect(files.numbers).toEqual([3, 4, 5, 6, 7, 8, 16].filter((n) => n >= stays.last));
    const left = (await inner.names()).filter((name) => /^(log|fold)-/.test(name));
    const segments = [5, 6, 7, 8, 16].filter((n) => n > stays.last);
    expect(left.sort()).toEqual([foldedName(stays), ...names(...segments)]);
    files.closeRest();
  },
);

test('[LOG20] files that were handed over stay open, the others are closed', async () => {
  await files.openFirst();
  files.keep([files.main, files.segment(16)]);
  files.closeRest();
  expect(heldNames()).toEqual([...names(16), 'main']);
});

test('[LOG1] a segment that was lost is created when it is opened', async () => {
  await files.openFirst();
  files.addFirst(2);
  expect(files.numbers[0]).toBe(2);
  await files.openFrom(2);
  expect((await inner.names()).includes(segmentName(2))).toBe(true);
  files.closeRest();
});

test('[LOG20] if one file cannot be opened, opening fails, and the others are closed', async () => {
  failing = segmentName(8);
  await expect(files.openFirst()).rejects.toMatchObject({ code: 'IO' });
  expect(held.size).toBeGreaterThan(0);
  files.closeRest();
  expect(heldNames()).toEqual([]);
});
