// The bytes of a folded segment, read as the document says, against the records of the segments that it stands for.

import { beforeAll, expect, test } from 'vitest';
import { bytesOf, copyOf, noise, START_MS } from '../../../packages/testing/worker/test-log.ts';
import {
  DAY_MS,
  MINUTE_MS,
  ThinnedObject,
} from '../../../packages/testing/worker/thinned-object.ts';
import type { FileDirectory } from '../file/file.ts';
import type { MemoryDirectory } from '../file/memory-file.ts';
import { annotationOf } from './annotation.ts';
import { sequenceIn } from './bookmark.ts';
import { foldedSpan } from './sealed-segments.ts';
import { segmentName } from './segment.ts';

/** Flags of records, in the document. */
const CONTINUES = 1;
const RESTORE = 2;
const MARKER = 4;
const PROMOTE = 8;
const ANNOTATED = 16;
const FOLDED = 32;

/** The header of a segment. */
interface Header {
  readonly number: number;
  readonly base: readonly number[];
  readonly precedingBytes: number;
  readonly spacingSeconds: number;
  readonly savedKilobytes: number;
}

interface Stored {
  readonly flags: number;
  readonly sequence: number;
  readonly timeMs: number;
  readonly sum: number;
  readonly durableSequence: number;
  readonly previousSum: number;
  readonly epoch: number;
  readonly pageCountBefore: number;
  readonly pageCount: number;
  readonly annotation: string;
  /** The body of a marker. */
  readonly body: string;
  /** The offset at which the next record begins. */
  readonly end: number;
}

function headerOf(bytes: Uint8Array): Header {
  const view = new DataView(bytes.buffer);
  return {
    number: view.getUint32(16, true),
    base: [24, 32, 40].map((at) => view.getFloat64(at, true)),
    precedingBytes: view.getFloat64(48, true),
    spacingSeconds: view.getUint32(56, true),
    savedKilobytes: view.getUint32(60, true),
  };
}

function recordsOf(bytes: Uint8Array): Stored[] {
  const view = new DataView(bytes.buffer);
  const hex = (from: number, length: number) =>
    Buffer.from(bytes.subarray(from, from + length)).toString('hex');
  const found: Stored[] = [];
  for (let at = 4096; at + 64 <= bytes.length; at = found.at(-1)!.end) {
    if (view.getUint32(at + 8, true) !== 0x434c4f47) break;
    const flags = view.getUint32(at + 48, true);
    const annotationBytes = (flags & ANNOTATED) === 0 ? 0 : view.getUint16(at + 64 + 4, true);
    found.push({
      flags,
      sequence: view.getFloat64(at + 16, true),
      timeMs: view.getFloat64(at + 24, true),
      sum: view.getFloat64(at, true),
      durableSequence: view.getFloat64(at + 32, true),
      previousSum: view.getFloat64(at + 40, true),
      epoch: view.getUint32(at + 52, true),
      pageCountBefore: view.getUint32(at + 56, true),
      pageCount: view.getUint32(at + 60, true),
      annotation: hex(at + 64, annotationBytes),
      body: (flags & MARKER) === 0 ? '' : hex(at + 64 + annotationBytes, 16),
      end: at + view.getUint32(at + 12, true),
    });
  }
  return found;
}

/** The records of a folded segment, but for their own checksums and places, as they follow from those it stands for. */
function foldedFrom(records: readonly Stored[], baseSum: number, named: readonly number[]) {
  const commits: { last: Stored; hasParts: boolean; pageCountBefore: number }[] = [];
  let first: Stored | null = null;
  for (const record of records) {
    first ??= record;
    if ((record.flags & CONTINUES) !== 0) continue;
    const { pageCountBefore } = first;
    commits.push({ last: record, hasParts: first !== record, pageCountBefore });
    first = null;
  }
  const isSpecial = ({ flags }: Stored) => (flags & (RESTORE | MARKER | PROMOTE)) !== 0;
  const timeline = ({ sequence }: Stored) => Math.floor(sequence / 2 ** 32);
  const minute = ({ timeMs }: Stored) => Math.floor(timeMs / MINUTE_MS);
  const isKept = ({ last }: (typeof commits)[number], i: number) => {
    const next = commits[i + 1];
    return (
      next === undefined ||
      isSpecial(last) ||
      isSpecial(next.last) ||
      next.hasParts ||
      named.includes(last.sequence) ||
      timeline(last) !== timeline(next.last) ||
      minute(last) !== minute(next.last)
    );
  };
  const expected: Omit<Stored, 'sum' | 'end'>[] = [];
  let pageCountBefore: number | null = null;
  for (const [i, commit] of commits.entries()) {
    pageCountBefore ??= commit.pageCountBefore;
    if (!isKept(commit, i)) continue;
    const { sum, end, ...last } = commit.last;
    expected.push({
      ...last,
      flags: last.flags | FOLDED,
      durableSequence: sum,
      previousSum: expected.at(-1)?.durableSequence ?? baseSum,
      pageCountBefore,
    });
    pageCountBefore = null;
  }
  return expected;
}

const ALL_PAGES = Array.from({ length: 10 }, (_, i) => i);
/** More than are kept in memory: a transaction in parts. */
const MANY_PAGES = Array.from({ length: 16 }, (_, i) => i);

/** Everything that a log contains, before it is thinned. */
async function history() {
  const object = new ThinnedObject();
  const { environment } = object;
  object.sizes = { segmentBytes: 1 << 19, checkpointLogBytes: 1, spillBytes: 12 * 4096 };
  environment.history.thin = false;
  await object.open();
  let minute = 0;
  const at = (seconds: number) => {
    environment.nowMs = START_MS + minute * MINUTE_MS + seconds * 1000;
  };
  const commit = (pages = ALL_PAGES, pageCount = 0) => {
    const method = `commit ${object.states.length}`;
    object.files.annotate(annotationOf({ kind: 'call', method }));
    return object.commit(pages, pageCount);
  };
  /** Two commits, something, and two more, within a minute. */
  const around = async (middle: () => unknown) => {
    for (const second of [0, 10]) {
      at(second);
      await commit();
    }
    at(20);
    await middle();
    for (const second of [50, 58]) {
      at(second);
      await commit();
    }
    minute++;
  };
  await around(() => commit(MANY_PAGES)); // the database grows
  const early = object.states[1]!.bookmark;
  await around(() => commit(MANY_PAGES)); // in parts
  await around(() => commit(ALL_PAGES, 8));
  await around(() => commit([12, 13]));
  await around(async () => {
    object.files.scheduleRestore(early, annotationOf({ kind: 'restore', method: 'asked' }));
    await object.files.flush();
    object.files.cancelRestore();
    await object.files.flush();
  });
  await around(async () => {
    object.files.scheduleRestore(early, annotationOf({ kind: 'restore', method: 'made' }));
    await object.reopen();
    object.note();
  });
  await around(async () => {
    const past = await object.files.openPast(early);
    object.files.annotate(annotationOf({ kind: 'promote' }));
    object.files.become(past);
    await object.files.flush();
    object.note();
  });
  await around(() => {
    environment.nowMs -= 15_000; // the clock is set back
    return commit();
  });
  let kept = '';
  await around(async () => {
    kept = await commit();
  });
  for (let i = 0; i < 12; i++) await around(() => {});
  environment.nowMs += 2 * DAY_MS;
  for (let i = 0; i < 40; i++) await commit();
  const branch = { id: 'b', name: 'b', bookmark: kept, createdMs: 1, sends: false };
  await object.files.branches.add({ ...branch, isLeaving: false, isStored: false });
  await object.files.close();
  return { object, kept: [sequenceIn(kept)] };
}

async function bytesIn(directory: FileDirectory): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  for (const name of await directory.names()) found.set(name, await bytesOf(directory, name));
  return found;
}

let made: Awaited<ReturnType<typeof history>>;
beforeAll(async () => {
  made = await history();
});

/** Thins a copy of it; the bytes of the one folded segment, and of the segments that it stands for. */
async function folded() {
  const object = new ThinnedObject(await copyOf(made.object.directory));
  const before = await bytesIn(object.directory);
  object.environment.nowMs = made.object.environment.nowMs;
  object.sizes = made.object.sizes;
  object.states.push(...made.object.states);
  await object.open();
  await object.thin();
  await object.compare();
  await object.files.close();
  const after = await bytesIn(object.directory);
  const names = [...after.keys()].filter((name) => foldedSpan(name) !== null);
  expect(names).toHaveLength(1);
  const { first, last } = foldedSpan(names[0]!)!;
  expect(first).toBe(1);
  expect(last).toBeLessThanOrEqual(8); // they are folded at once
  const segments = Array.from({ length: last }, (_, i) => before.get(segmentName(i + 1))!);
  const next = headerOf(after.get(segmentName(last + 1))!);
  return { bytes: after.get(names[0]!)!, segments, last, next };
}

test('[LOG17] [HIST13] [HIST16] a folded segment has the records that the document keeps, each with its name, place in the chain and author', async () => {
  const { bytes, segments, next } = await folded();
  const records = segments.flatMap(recordsOf);
  for (const flag of [CONTINUES, RESTORE, MARKER, PROMOTE, ANNOTATED])
    expect(records.filter(({ flags }) => (flags & flag) !== 0).length, `flag ${flag}`).not.toBe(0);
  const { base } = headerOf(segments[0]!);
  const expected = foldedFrom(records, base[2]!, made.kept);
  expect(expected.length).toBeLessThan(records.length / 2);
  expect(recordsOf(bytes).map(({ sum, end, ...record }) => record)).toEqual(expected);
  expect(next.base[2]).toBe(expected.at(-1)!.durableSequence);
});

test('[LOG17] the header of a folded segment has the number of the last, the base of the first, and how much smaller it is; its index has positions between its commits', async () => {
  const { bytes, segments, last } = await folded();
  const size = segments.reduce((sum, { length }) => sum + length, 0);
  expect(headerOf(bytes)).toEqual({
    ...headerOf(segments[0]!),
    number: last,
    spacingSeconds: 60,
    savedKilobytes: Math.floor((size - bytes.length) / 1024),
  });
  const view = new DataView(bytes.buffer);
  const count = view.getUint32(72, true);
  expect(count).toBeGreaterThan(0);
  const positions = recordsOf(bytes).map((record) =>
    [record.end, record.sequence, record.timeMs, record.durableSequence].join(),
  );
  for (let i = 0; i < count; i++) {
    const entry = [0, 8, 16, 24].map((at) => view.getFloat64(80 + i * 32 + at, true));
    expect(positions).toContain(entry.join());
  }
});

test('[HIST16] segments are read half a megabyte at a time, and more old words than a megabyte are written in parts', async () => {
  const object = new ThinnedObject();
  object.sizes = { segmentBytes: 1 << 21, checkpointLogBytes: 1 };
  object.environment.history.thin = false;
  await object.open();
  const commit = async (first: number) => {
    object.environment.nowMs += MINUTE_MS / 10;
    for (let page = first; page < first + 40; page++)
      object.files.file.write(noise(object.states.length * 1000 + page, 4096), page * 4096);
    object.files.annotate(annotationOf({ kind: 'call', method: `commit ${object.states.length}` }));
    object.files.file.commit();
    await object.files.flush();
    await object.upkeep();
    object.note();
  };
  // In each minute, 40 pages ten times: 320 of them are other pages.
  for (let i = 0; i < 40; i++) await commit(40 * (i % 8));
  object.environment.nowMs += 2 * DAY_MS;
  for (let i = 0; i < 16; i++) await commit(0);
  await object.files.close();
  const before = await bytesIn(object.directory);
  object.environment.history.thin = true;
  await object.open();
  const names = () => object.directory.names();
  let steps = 0;
  while (object.files.needsMaintenance) {
    const isMade = (await object.folded()).length > 0 && !(await names()).includes(segmentName(1));
    if (!isMade) steps++;
    await object.files.maintain();
  }
  const { last } = foldedSpan((await object.folded())[0]!)!;
  const records = Array.from({ length: last }, (_, i) =>
    recordsOf(before.get(segmentName(i + 1))!),
  ).flat();
  // Two records of 320 KB in a step; the first ones, whose pages have no old bytes, are smaller.
  expect(steps).toBeGreaterThan(records.length / 2 - 6);
  expect(steps).toBeLessThan(records.length / 2 + last + 3);
  const kept = await object.compare();
  const listed = await object.files.listCommits({
    ...{ fromMs: 0, toMs: Number.POSITIVE_INFINITY, before: null, limit: 1000 },
  });
  expect(listed.map(({ bookmark }) => bookmark).toSorted()).toEqual([...kept].toSorted());
  for (const { bookmark, by } of listed) {
    const index = object.states.findIndex((state) => state.bookmark === bookmark);
    expect(by?.method).toBe(`commit ${index}`);
  }
  const [name] = await object.folded();
  await object.files.close();
  const parts = recordsOf(await bytesOf(object.directory, name!)).filter(
    ({ flags }) => (flags & CONTINUES) !== 0,
  );
  expect(parts.length).toBeGreaterThan(2);
  const sequences = new Set(records.map(({ sequence }) => sequence));
  for (const { flags, sequence, end: _, pageCount, pageCountBefore } of parts) {
    expect(flags).toBe(CONTINUES | FOLDED);
    expect(sequences).toContain(sequence);
    expect([pageCount, pageCountBefore].every((count) => count <= 320)).toBe(true);
  }
});

test('[HIST8] [LOG17] a folded segment that stands for folded ones says how much smaller it is than all of the first ones', async () => {
  const object = new ThinnedObject();
  const directory = object.directory as MemoryDirectory;
  await object.open();
  const sizes = () => new Map([...directory.sizes()].filter(([name]) => /^(log|fold)-/.test(name)));
  /** Kilobytes that a folded segment saves, by the name of its file. */
  const savedKilobytes = new Map<string, number>();
  let again = 0;
  // A commit an hour: segments are folded one after the other, and small folded ones become a part of the next.
  for (let i = 0; i < 60; i++) {
    object.environment.nowMs += 60 * MINUTE_MS;
    for (const page of [0, 1 + (i % 5)])
      object.files.file.write(noise(10 * i + page, 4096), page * 4096);
    object.files.file.commit();
    await object.files.flush();
    while (object.files.needsMaintenance) {
      const before = sizes();
      await object.files.maintain();
      const after = sizes();
      const gone = [...before].filter(([name]) => !after.has(name));
      const made = [...after].find(([name]) => foldedSpan(name) && !savedKilobytes.has(name));
      if (gone.length === 0 || made === undefined) continue;
      const saved = gone.map(([name]) => savedKilobytes.get(name) ?? 0);
      const all = gone.reduce((bytes, [, size]) => bytes + size, -made[1]);
      savedKilobytes.set(made[0], Math.floor(all / 1024) + saved.reduce((a, b) => a + b));
      if (saved.some((kilobytes) => kilobytes > 0)) again++;
    }
  }
  await object.files.close();
  expect(again).toBeGreaterThan(1);
  for (const name of await object.folded()) {
    const header = headerOf(await bytesOf(directory, name));
    expect([name, header.savedKilobytes]).toEqual([name, savedKilobytes.get(name)]);
  }
});
