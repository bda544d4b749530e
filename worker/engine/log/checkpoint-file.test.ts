// The checkpoint file on its own: which slot counts, the proofs in slots of checkpoints that began, and
// the table of checksums. Offsets are those of docs/commit-log-format.md.

import { beforeEach, expect, test } from 'vitest';
import { readSlot } from '../../../packages/testing/worker/format-reader.ts';
import { runFlushing, type SyncFile } from '../file/file.ts';

import { MemoryDirectory } from '../file/memory-file.ts';
import { type Checkpoint, CheckpointFile } from './checkpoint-file.ts';
import { Checksum, wordsOf } from './checksum.ts';

const SALT = 0xdecade;
const SLOT_BYTES = 88;

let file: SyncFile;
beforeEach(async () => {
  file = await new MemoryDirectory().open('checkpoint');
});

/** A checkpoint; all its numbers differ. */
function checkpoint(segment: number, offset = 4096 + 8 * segment): Checkpoint {
  return {
    pageCount: 10 + segment,
    pendingRestore: null,
    segment,
    position: { offset, sequence: 100 + segment, timeMs: 1000 + segment, sum: 2 ** 40 + segment },
  };
}

/** A file in which the checkpoints were made, one after the other. */
function made(...checkpoints: readonly Checkpoint[]): CheckpointFile {
  const [first, ...others] = checkpoints;
  const created = CheckpointFile.create(file, SALT, first!);
  for (const each of others) {
    runFlushing(created.begin(each));
    created.writeSlot(each);
  }
  return created;
}

function bytes(): Uint8Array {
  const all = new Uint8Array(file.sizeBytes());
  file.read(all, 0);
  return all;
}

/** Changes one byte. */
function damage(offset: number): void {
  const byte = bytes().subarray(offset, offset + 1);
  byte[0]! ^= 0x24;
  file.write(byte, offset);
}

test('[LOG17] a slot has the fields of the document', () => {
  const last = { ...checkpoint(3), pendingRestore: { sequence: 77, sum: 2 ** 50 + 1 } };
  made(checkpoint(1), checkpoint(2), last);
  expect(readSlot(bytes())).toMatchObject({
    salt: SALT,
    pageCount: 13,
    restoreTarget: 77,
    restoreSum: 2 ** 50 + 1,
    segment: 3,
    offset: last.position.offset,
    sequence: 103,
    timeMs: 1003,
    recordSum: 2 ** 40 + 3,
  });
  expect(CheckpointFile.read(file)!.last).toEqual(last);
  expect(CheckpointFile.read(file)!.checksum).toMatchObject({ salt: SALT });
});

test('[LOG7] of two intact slots the newer one counts; if any byte of it is damaged, the other one', () => {
  for (const count of [2, 3]) {
    made(...[1, 2, 3].slice(0, count).map((segment) => checkpoint(segment)));
    const slots = bytes();
    // Written alternately; the first slot of an object is its second place.
    const newest = count % 2 === 0 ? 0 : 512;
    expect(CheckpointFile.read(file)!.last).toEqual(checkpoint(count));
    for (let at = 0; at < SLOT_BYTES; at++) {
      damage(newest + at);
      expect(CheckpointFile.read(file)!.last).toEqual(checkpoint(count - 1));
      file.write(slots, 0);
    }
    damage(512 - newest + 20);
    expect(CheckpointFile.read(file)!.last).toEqual(checkpoint(count));
    damage(newest + 20);
    expect(CheckpointFile.read(file)).toBeNull();
  }
});

test('[LOG7] a slot that the end of the file cuts off does not count', () => {
  CheckpointFile.create(file, SALT, checkpoint(1)).writeSlot(checkpoint(2));
  file.truncate(512 + SLOT_BYTES);
  damage(0);
  expect(CheckpointFile.read(file)!.last).toEqual(checkpoint(1));
  file.truncate(512 + SLOT_BYTES - 1);
  expect(CheckpointFile.read(file)).toBeNull();
  file.truncate(0);
  expect(CheckpointFile.read(file)).toBeNull();
});

/** Gives a slot the checksum of its bytes, as if it had been written like this. */
function seal(slot: Uint8Array): void {
  const sum = new Checksum(0x434c4350).ofRecord(wordsOf(slot), 2, SLOT_BYTES / 4);
  new DataView(slot.buffer, slot.byteOffset).setFloat64(0, sum, true);
}

test.each([0, 512])('[LOG21] a slot at byte %i alone names its version', (at) => {
  made(checkpoint(1), checkpoint(2));
  const slot = bytes().subarray(0, SLOT_BYTES);
  slot[12] = 9;
  seal(slot);
  file.truncate(0);
  file.write(slot, at);
  expect(() => CheckpointFile.read(file)).toThrow(
    expect.objectContaining({
      code: 'FORMAT_TOO_NEW',
      message: expect.stringMatching(/version 9;.* reads version 4/),
    }),
  );
});

test('[LOG35] records may hold differences once no slot of version 3 is left', () => {
  const slots = made(checkpoint(1), checkpoint(2)) && bytes();
  for (const at of [0, 512]) {
    const slot = slots.slice(at, at + SLOT_BYTES);
    slot[12] = 3;
    seal(slot);
    file.write(slot, at);
  }
  const read = CheckpointFile.read(file)!;
  expect(read.last).toEqual(checkpoint(2));
  const may = [read.mayHoldDeltas];
  for (const number of [3, 4]) {
    read.writeSlot(checkpoint(number));
    may.push(read.mayHoldDeltas, CheckpointFile.read(file)!.mayHoldDeltas);
  }
  expect(may).toEqual([false, false, false, true, true]);
  expect(bytes()[12]).toBe(4);
  expect(bytes()[512 + 12]).toBe(4);
});

test('[LOG17] bytes without the magic number are not a slot, and their version says nothing', () => {
  made(checkpoint(1));
  const slot = bytes().subarray(512, 512 + SLOT_BYTES);
  slot[8]! ^= 1;
  seal(slot);
  file.write(slot, 512);
  expect(CheckpointFile.read(file)).toBeNull();
  slot[12] = 9;
  file.write(slot, 512);
  expect(CheckpointFile.read(file)).toBeNull();
});

test('[LOG14] the segments of both slots are needed, in an open file and after opening', () => {
  const created = made(checkpoint(3), checkpoint(5));
  expect(created.firstSegmentNeeded).toBe(3);
  expect(CheckpointFile.read(file)!.firstSegmentNeeded).toBe(3);
  created.writeSlot(checkpoint(6));
  expect(created.firstSegmentNeeded).toBe(5);
  expect(CheckpointFile.read(file)!.firstSegmentNeeded).toBe(5);
  damage(0); // the slot of segment 5
  const alone = CheckpointFile.read(file)!;
  expect(alone.firstSegmentNeeded).toBe(6);
  alone.writeSlot(checkpoint(7));
  expect([alone.firstSegmentNeeded, CheckpointFile.read(file)!.firstSegmentNeeded]).toEqual([6, 6]);
});

test('[LOG7] a checkpoint that began proves the log up to its position, and nothing behind it', () => {
  // It did not end: the two slots still have the checkpoint before it.
  runFlushing(made(checkpoint(1)).begin(checkpoint(4, 9000)));
  expect(CheckpointFile.read(file)!.last).toEqual(checkpoint(1));
  expect(CheckpointFile.read(file)!.provesLonger(4, 8999)).toBe(true);
  expect(CheckpointFile.read(file)!.provesLonger(4, 9000)).toBe(false);
  expect(CheckpointFile.read(file)!.provesLonger(3, 99_999)).toBe(true);
  expect(CheckpointFile.read(file)!.provesLonger(5, 4096)).toBe(false);
});

test('[LOG7] the last two checkpoints that began are kept, each in its place, across openings', () => {
  let open = made(checkpoint(1));
  const places = () => [1024, 1536].map((at) => bytes().subarray(at, at + 512));
  for (let segment = 2; segment < 8; segment++) {
    runFlushing(open.begin(checkpoint(segment)));
    if (segment % 3 === 0) open = CheckpointFile.read(file)!;
    const found = places()
      .filter((place) => place.some((byte) => byte !== 0))
      .map((place) => readSlot(place).segment!);
    expect(found.sort()).toEqual(segment === 2 ? [2] : [segment - 1, segment]);
  }
});

test('[LOG7] a checkpoint whose begin was not flushed takes its place again, not that of the only proof', () => {
  const failing = { isOn: false };
  const flush = () => {
    if (failing.isOn) throw new Error('the disk failed');
  };
  const open = CheckpointFile.create(
    new Proxy(file, {
      get: (_, name) => (name === 'flush' ? flush : file[name as 'write'].bind(file)),
    }),
    SALT,
    checkpoint(1),
  );
  runFlushing(open.begin(checkpoint(2)));
  failing.isOn = true;
  for (const segment of [3, 4])
    expect(() => runFlushing(open.begin(checkpoint(segment)))).toThrow();
  const kept = [1024, 1536].map((at) => readSlot(bytes().subarray(at, at + 512)).segment);
  expect(kept.sort()).toEqual([2, 4]);
});

test('[LOG7] a new object has no proof of an earlier one in the same file', () => {
  made(checkpoint(1), checkpoint(4, 9000));
  for (const at of [0, 512]) damage(at);
  expect(CheckpointFile.read(file)).toBeNull();
  CheckpointFile.create(file, SALT + 1, checkpoint(1));
  expect(CheckpointFile.read(file)!.provesLonger(1, 4096)).toBe(false);
});

test('[LOG17] the table has a checksum for each page at its place, and is read back', () => {
  const pages = [0, 1, 1023, 1024, 2047, 5000];
  const created = made(checkpoint(1));
  for (const page of pages) created.setPageSum(page, 0xabcd_0000 + page);
  created.writeSums();
  const view = new DataView(bytes().buffer);
  for (const page of pages) {
    expect(view.getUint32(4096 + 4 * page, true)).toBe(0xabcd_0000 + page);
    expect(CheckpointFile.read(file)!.pageSum(page)).toBe(0xabcd_0000 + page);
    expect(created.pageSum(page)).toBe(0xabcd_0000 + page);
  }
  expect(CheckpointFile.read(file)!.pageSum(2)).toBe(0);
});

test('[LOG7] a checkpoint that begins stores the checksums that were set before', () => {
  const created = made(checkpoint(1));
  created.setPageSum(7, 1234);
  runFlushing(created.begin(checkpoint(2)));
  created.setPageSum(7, 5678);
  expect(CheckpointFile.read(file)!.pageSum(7)).toBe(1234);
  runFlushing(created.begin(checkpoint(3)));
  expect(CheckpointFile.read(file)!.pageSum(7)).toBe(5678);
});
