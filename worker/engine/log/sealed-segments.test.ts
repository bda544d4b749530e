// The history of an object on its own: the open segments, the pruned ones, and the reads.

import { beforeEach, expect, test } from 'vitest';
import { noise, overwrite } from '../../../packages/testing/worker/test-log.ts';
import type { FileDirectory } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { Checksum } from './checksum.ts';
import { type KeptHistory, type OpenSegment, SealedSegments, Spans } from './sealed-segments.ts';
import { Segment, segmentName } from './segment.ts';

const CHECKSUM = new Checksum(5);
const HOUR_MS = 3_600_000;

let inner: MemoryDirectory;
/** Names of the files that are open. */
let held: Set<string>;
/** Called before a file is opened. */
let beforeOpen: (name: string) => void;
/** Files that cannot be removed. */
let stuck: Set<string>;

const directory: FileDirectory = {
  open: async (name) => {
    const file = await inner.open(name);
    held.add(name);
    beforeOpen(name);
    return {
      read: (target, offset) => file.read(target, offset),
      write: (bytes, offset) => file.write(bytes, offset),
      truncate: (sizeBytes) => file.truncate(sizeBytes),
      sizeBytes: () => file.sizeBytes(),
      flush: () => file.flush(),
      close: () => {
        held.delete(name);
        file.close();
      },
    };
  },
  names: () => inner.names(),
  remove: async (name) => {
    if (stuck.has(name)) throw new Error(`"${name}" cannot be removed`);
    await inner.remove(name);
  },
};

beforeEach(() => {
  inner = new MemoryDirectory();
  held = new Set();
  beforeOpen = () => {};
  stuck = new Set();
});

/** Segment `number` begins at this hour, with the commit of this sequence. Bytes are counted from one of them on. */
async function begin(number: number, countedFrom = 1): Promise<Segment> {
  const file = await directory.open(segmentName(number));
  const last = { sequence: 10 * number, timeMs: number * HOUR_MS, sum: number };
  return Segment.create(number, file, last, CHECKSUM, 4096 * Math.max(0, number - countedFrom));
}

interface HistoryOptions {
  readonly oldest?: number;
  /** How many of the oldest segments are open. */
  readonly openCount?: number;
  readonly firstNeeded?: () => number;
  readonly pinnedSequence?: () => number;
  readonly countedFrom?: number;
}

/** A history of sealed segments, `oldest` to `active - 1`. Opening needs only the active one. */
async function history(active: number, options: HistoryOptions = {}) {
  const { oldest = 1, openCount = 0, firstNeeded = () => current.number } = options;
  const { pinnedSequence = () => Number.POSITIVE_INFINITY } = options;
  const opened: OpenSegment[] = [];
  for (let number = oldest; number < active; number++) {
    const { file } = await begin(number, options.countedFrom);
    if (number < oldest + openCount) opened.push({ number, file });
    else file.close();
  }
  let current = await begin(active, options.countedFrom);
  const sealed = new SealedSegments(
    {
      directory,
      checksum: CHECKSUM,
      opened,
      oldest,
      firstNeeded,
      pinnedSequence,
      spans: new Spans(),
    },
    () => current,
    () => Number.POSITIVE_INFINITY,
  );
  return {
    sealed,
    async rotate() {
      const last = current;
      current = await begin(last.number + 1);
      sealed.add(last);
    },
    /** Numbers of the sealed segments that are open. */
    open: () =>
      [...held]
        .map((name) => Number(name.slice(4)))
        .filter((number) => number < current.number)
        .sort(),
    stored: async () => (await inner.names()).map((name) => Number(name.slice(4))).sort(),
  };
}

const keptFrom = (sequence: number, bytes = Number.POSITIVE_INFINITY): KeptHistory => ({
  from: async () => sequence,
  bytes,
});
const KEEP_ALL = keptFrom(0);

test('[LOG14] the four oldest segments are kept open, and no other', async () => {
  const { sealed, open } = await history(7);
  expect(sealed.needsMaintenance).toBe(true);
  await sealed.maintain(KEEP_ALL);
  expect(open()).toEqual([1, 2, 3, 4]);
  expect(sealed.needsMaintenance).toBe(false);
});

test('[LOG14] a history of fewer segments needs no more of them open', async () => {
  const { sealed, open } = await history(3, { openCount: 1 });
  expect(sealed.needsMaintenance).toBe(true);
  await sealed.maintain(KEEP_ALL);
  expect(open()).toEqual([1, 2]);
  expect(sealed.needsMaintenance).toBe(false);
});

test('[LOG14] a segment that ends stays open only if it is one of the four oldest', async () => {
  const { open, rotate } = await history(1);
  for (let i = 0; i < 4; i++) await rotate();
  expect(open()).toEqual([1, 2, 3, 4]);
  await rotate();
  await rotate();
  expect(open()).toEqual([1, 2, 3, 4]);
});

test('[LOG32] the end of a segment is work for the upkeep, once, if there is another that may go', async () => {
  const { sealed, rotate } = await history(1);
  await rotate();
  expect(sealed.needsMaintenance).toBe(false);
  await rotate();
  expect(sealed.needsMaintenance).toBe(true);
  await sealed.maintain(KEEP_ALL);
  expect(sealed.needsMaintenance).toBe(false);
});

test('[LOG14] a segment that ends is closed while an older one is not open yet', async () => {
  const { open, rotate } = await history(3, { openCount: 1 });
  await rotate();
  expect(open()).toEqual([1]);
});

test('[LOG14] the oldest state is where the oldest segment begins', async () => {
  const { sealed, rotate } = await history(1);
  expect([sealed.oldest, sealed.oldestBase]).toMatchObject([1, { sequence: 10 }]);
  await rotate();
  expect([sealed.oldest, sealed.oldestBase]).toMatchObject([1, { sequence: 10 }]);
  expect(sealed.pruneOldest()).toBe(true);
  expect([sealed.oldest, sealed.oldestBase]).toMatchObject([2, { sequence: 20 }]);
});

test('[LOG14] the oldest state of a closed history is known once it was opened', async () => {
  const { sealed } = await history(3);
  expect(sealed.oldestBase).toBeNull();
  await sealed.maintain(KEEP_ALL);
  expect(sealed.oldestBase).toMatchObject({ sequence: 10 });
  const open = await history(13, { oldest: 11, openCount: 2 });
  expect(open.sealed.oldestBase).toMatchObject({ sequence: 110 });
});

test('[LOG14] a segment is removed when the next one begins before the window', async () => {
  const { sealed, stored, open } = await history(6);
  await sealed.maintain(keptFrom(29));
  expect(await stored()).toEqual([2, 3, 4, 5, 6]);
  await sealed.maintain(keptFrom(30));
  expect(await stored()).toEqual([3, 4, 5, 6]);
  expect(open()).toEqual([3, 4, 5]);
  expect([sealed.oldest, sealed.oldestBase]).toMatchObject([3, { sequence: 30 }]);
});

test('[LOG14] however old, the last segment before the active one stays', async () => {
  const { sealed, stored } = await history(9);
  await sealed.maintain(keptFrom(Number.POSITIVE_INFINITY));
  expect(await stored()).toEqual([8, 9]);
});

test('[LOG14] however old, a segment that opening may read stays', async () => {
  const { sealed, stored } = await history(6, { firstNeeded: () => 3 });
  await sealed.maintain(keptFrom(Number.POSITIVE_INFINITY));
  expect(await stored()).toEqual([3, 4, 5, 6]);
  expect(sealed.pruneOldest()).toBe(false);
});

// Each segment has 4,096 bytes.
test.each([
  [20_480, [1, 2, 3, 4, 5, 6]],
  [20_479, [2, 3, 4, 5, 6]],
  [8192, [4, 5, 6]],
  [4095, [5, 6]],
  [0, [5, 6]],
])(
  '[LOG32] of five segments that have ended, as many are kept as %i bytes hold, and the last',
  async (bytes, kept) => {
    const { sealed, stored } = await history(6);
    await sealed.maintain(keptFrom(0, bytes));
    expect(await stored()).toEqual(kept);
    expect(sealed.oldest).toBe(kept[0]);
  },
);

test.each([
  ['opening may read', { firstNeeded: () => 3 }],
  ['a branch needs, which began in it', { pinnedSequence: () => 35 }],
  ['a branch needs, which began with its first state', { pinnedSequence: () => 30 }],
])('[LOG32] however few bytes are kept, a segment that %s stays', async (_, options) => {
  const { sealed, stored } = await history(6, options);
  await sealed.maintain(keptFrom(0, 0));
  expect(await stored()).toEqual([3, 4, 5, 6]);
});

test('[LOG32] segments of a version that counted no bytes go once too many are counted', async () => {
  const { sealed, stored } = await history(6, { countedFrom: 4 });
  await sealed.maintain(keptFrom(0, 8192));
  expect(await stored()).toEqual([1, 2, 3, 4, 5, 6]);
  await sealed.maintain(keptFrom(0, 8191));
  expect(await stored()).toEqual([5, 6]);
});

test('[LOG14] damage in old history ends its removal, not the object', async () => {
  const { sealed, stored } = await history(6);
  await overwrite(inner, segmentName(3), noise(1, 5000));
  await sealed.maintain(keptFrom(Number.POSITIVE_INFINITY));
  expect(await stored()).toEqual([2, 3, 4, 5, 6]);
});

test('[LOG13] pruning empties the oldest segments that are open, one by one, at once', async () => {
  const { sealed, stored } = await history(7);
  expect(sealed.pruneOldest()).toBe(false);
  await sealed.maintain(KEEP_ALL);
  const before = inner.usedBytes();
  for (let count = 1; count <= 4; count++) {
    expect(sealed.pruneOldest()).toBe(true);
    expect(inner.usedBytes()).toBe(before - count * 4096);
    expect(sealed.oldest).toBe(1 + count);
  }
  expect(sealed.pruneOldest()).toBe(false);
  expect(sealed.oldestBase).toBeNull();
  expect(sealed.needsMaintenance).toBe(true);
  // Emptied files go, and the next oldest are opened.
  await sealed.maintain(KEEP_ALL);
  expect(await stored()).toEqual([5, 6, 7]);
  expect(sealed.pruneOldest()).toBe(true);
});

test('[LOG13] an emptied segment is work for the upkeep even if enough others are open', async () => {
  const { sealed, stored, open } = await history(3, { openCount: 2 });
  expect(sealed.needsMaintenance).toBe(false);
  sealed.pruneOldest();
  expect(sealed.needsMaintenance).toBe(true);
  await sealed.maintain(KEEP_ALL);
  expect([await stored(), open()]).toEqual([[2, 3], [2]]);
  expect(sealed.needsMaintenance).toBe(false);
});

test('[LOG13] an emptied segment that cannot be removed is removed by a later upkeep', async () => {
  const { sealed, stored } = await history(3, { openCount: 2 });
  sealed.pruneOldest();
  stuck.add(segmentName(1));
  await expect(sealed.maintain(KEEP_ALL)).rejects.toThrow('cannot be removed');
  expect(sealed.needsMaintenance).toBe(true);
  stuck.clear();
  await sealed.maintain(KEEP_ALL);
  expect(await stored()).toEqual([2, 3]);
});

test('[LOG14] a segment is passed on whether it is open or not, and is open no longer than that', async () => {
  const { sealed, open } = await history(7);
  await sealed.maintain(KEEP_ALL);
  for (const number of [1, 4, 5, 6]) {
    const read = await sealed.withSegment(number, (segment) => {
      expect(held).toContain(segmentName(number));
      return segment?.base.sequence;
    });
    expect(read).toBe(10 * number);
    expect(open()).toEqual([1, 2, 3, 4]);
  }
  const fails = sealed.withSegment(6, () => {
    throw new Error('mine');
  });
  await expect(fails).rejects.toThrow('mine');
  expect(open()).toEqual([1, 2, 3, 4]);
});

test('[LOG14] a pruned segment is passed on as null, and its file does not come back', async () => {
  const { sealed, stored } = await history(4, { openCount: 3 });
  sealed.pruneOldest();
  await sealed.maintain(KEEP_ALL);
  expect(await sealed.withSegment(1, (segment) => segment)).toBeNull();
  expect(await stored()).toEqual([2, 3, 4]);
});

test('[LOG14] a segment that is empty, or was filled with zeros ahead, counts as pruned', async () => {
  const { sealed } = await history(6);
  await overwrite(inner, segmentName(1), new Uint8Array());
  await overwrite(inner, segmentName(2), new Uint8Array(9000));
  for (const isOpen of [false, true]) {
    if (isOpen) await sealed.maintain(KEEP_ALL);
    for (const number of [1, 2]) {
      expect(await sealed.withSegment(number, (segment) => segment)).toBeNull();
    }
  }
});

test('[LOG7] a segment with a damaged header is CORRUPT, and the message names it', async () => {
  const { sealed, open } = await history(6);
  await overwrite(inner, segmentName(5), noise(1, 5000));
  await expect(sealed.withSegment(5, () => {})).rejects.toMatchObject({
    code: 'CORRUPT',
    message: expect.stringContaining('segment 5'),
  });
  expect(open()).toEqual([]);
});

test('[LOG14] a segment that ends while others are being opened is opened once', async () => {
  const { sealed, open, rotate } = await history(3);
  let rotated: Promise<void> | undefined;
  beforeOpen = (name) => {
    if (name === segmentName(2)) rotated ??= rotate();
  };
  await sealed.maintain(KEEP_ALL);
  await rotated;
  await sealed.maintain(KEEP_ALL);
  expect(open()).toEqual([1, 2, 3]);
});

test('[LOG13] an emptied segment is closed at once, which gives its space back; closing closes the others', async () => {
  const { sealed, open } = await history(7);
  await sealed.maintain(KEEP_ALL);
  sealed.pruneOldest();
  expect(open()).toEqual([2, 3, 4]);
  sealed.close();
  expect(open()).toEqual([]);
});
