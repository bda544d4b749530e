// Reports on the files of an object: every record of every segment, the damage, and the result of the next opening.
//
// Invariant: the files are not touched. The report works on copies in memory; to find the result of the next opening,
// it opens such a copy.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type {
  LogReport,
  ReportedOpening,
  ReportedRecord,
  ReportedSegment,
} from '../../../src/shared/contract/log-report.ts';
import type { SyncFile } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { authorIn } from './annotation.ts';
import { formatBookmark } from './bookmark.ts';
import { CheckpointFile } from './checkpoint-file.ts';
import type { Checksum } from './checksum.ts';
import { DEFAULT_SIZES, ObjectFiles } from './object-files.ts';
import { annotationIn, CONTINUES, entriesOf, MARKER, RESTORE, type Record } from './record.ts';
import { recover } from './recovery.ts';
import { foldedSpan, type Span } from './sealed-segments.ts';
import { isEmptied, Segment, segmentName, segmentNumber } from './segment.ts';

/** The files of one object, by their names: `main`, `checkpoint` and the segments. */
export type FileBytes = ReadonlyMap<string, Uint8Array>;

interface ReadSegment {
  readonly reported: ReportedSegment;
  readonly number: number;
  readonly segment: Segment | null;
  /** Checksum of the last intact record, or of the state before the first one. */
  readonly sum: number;
}

/** Makes the report; `nowMs` is the time of the wall clock for the opening. */
export async function reportLog(bytes: FileBytes, nowMs: number): Promise<LogReport> {
  const damage: string[] = [];
  const directory = await copyOf(bytes);
  const slot = readSlot(await directory.open('checkpoint'), damage);
  const segments = slot === null ? [] : await readSegments(directory, bytes, slot.checksum, damage);
  const opening = slot === null ? null : await tryOpening(bytes, nowMs, segments, slot, damage);
  return {
    checkpoint: slot && {
      segment: segmentName(slot.last.segment),
      offset: slot.last.position.offset,
      sequence: slot.last.position.sequence,
      pageCount: slot.last.pageCount,
    },
    segments: segments.map(({ reported }) => reported),
    oldestMs: segments.find(({ segment }) => segment !== null)?.segment?.base.timeMs ?? null,
    opening,
    damage,
  };
}

async function copyOf(bytes: FileBytes): Promise<MemoryDirectory> {
  const directory = new MemoryDirectory();
  for (const [name, content] of bytes) {
    const file = await directory.open(name);
    file.write(content, 0);
    file.close();
  }
  return directory;
}

function readSlot(file: SyncFile, damage: string[]): CheckpointFile | null {
  try {
    const found = CheckpointFile.read(file);
    if (found === null)
      damage.push('checkpoint: no slot is intact, so no checksum can be verified');
    return found;
  } catch (error) {
    damage.push(`checkpoint: ${formatError(error)}`);
    return null;
  }
}

async function readSegments(
  directory: MemoryDirectory,
  bytes: FileBytes,
  checksum: Checksum,
  damage: string[],
): Promise<ReadSegment[]> {
  const spans = [...bytes.keys()].map(spanIn).filter((span) => span !== null);
  const found = spans.sort((one, other) => one.span.first - other.span.first);
  const read: ReadSegment[] = [];
  for (const { name, span } of found) {
    read.push(readSegment(name, span, await directory.open(name), checksum));
  }
  read.forEach(({ number, segment, sum, reported }, at) => {
    const { name, isEmpty, end } = reported;
    const next = read[at + 1];
    if (next !== undefined && found[at + 1]!.span.first > number + 1) {
      damage.push(`${segmentName(number + 1)}: is missing`);
    }
    // An empty file is not damage: it is the next segment, opened ahead, or power failed before a byte arrived.
    if (isEmpty) return;
    if (segment === null) damage.push(`${name}: the header is damaged`);
    else if (next?.segment && next.segment.base.sum !== sum) {
      damage.push(`${name}: damaged at byte ${end}; the next segment begins with a later commit`);
    }
  });
  return read;
}

/** Returns the segments that a file contains; null if it is not a segment's file. */
function spanIn(name: string): { readonly name: string; readonly span: Span } | null {
  const number = segmentNumber(name);
  const span = number === null ? foldedSpan(name) : { first: number, last: number, minutes: 0 };
  return span && { name, span };
}

function readSegment(
  name: string,
  { last: number, minutes }: Span,
  file: SyncFile,
  checksum: Checksum,
): ReadSegment {
  const segment = Segment.read(number, file, checksum);
  const records: ReportedRecord[] = [];
  let end = segment?.base.offset ?? 0;
  let sum = segment?.base.sum ?? 0;
  for (const { record, bytes, offset } of segment?.records(segment.base) ?? []) {
    records.push(describe(record, bytes, offset));
    end = offset + record.length;
    // Parts of a transaction that was dropped may follow the last commit.
    if ((record.flags & CONTINUES) === 0) sum = record.sum;
  }
  const isEmpty = segment === null && isEmptied(file, minutes);
  const reported = { name, sizeBytes: file.sizeBytes(), isEmpty, records, end };
  return { reported, number, segment, sum };
}

function describe(record: Record, bytes: Uint8Array, offset: number): ReportedRecord {
  const { flags, sequence, timeMs, length } = record;
  const entries = entriesOf(bytes, record);
  const pages = entries.reduce((sum, entry) => sum + pagesOf(entry), 0);
  const annotation = annotationIn(bytes, record);
  const by = annotation && authorIn(annotation);
  const facts = { offset, kind: kindOf(flags), sequence, timeMs, sizeBytes: length, pages };
  return { ...facts, ...(by && { by }) };
}

/** Number of pages that an entry changes. */
function pagesOf(entry: ReturnType<typeof entriesOf>[number]): number {
  if (entry.kind === 'page') return 1;
  return entry.isOnlyOld
    ? entry.pages.filter(({ oldAt }) => oldAt >= 0).length
    : entry.pages.length;
}

function kindOf(flags: number): ReportedRecord['kind'] {
  if ((flags & MARKER) !== 0) return 'marker';
  if ((flags & CONTINUES) !== 0) return 'part';
  return (flags & RESTORE) !== 0 ? 'restore' : 'commit';
}

async function tryOpening(
  bytes: FileBytes,
  nowMs: number,
  segments: readonly ReadSegment[],
  slot: CheckpointFile,
  damage: string[],
): Promise<ReportedOpening | null> {
  const environment = { now: () => nowMs, randomUint32: () => 0 };
  try {
    const { log, pages, pendingRestore } = await recover(
      await copyOf(bytes),
      environment,
      DEFAULT_SIZES,
    );
    const { position } = log;
    const isRedone = ({ kind, sequence }: ReportedRecord) =>
      (kind === 'commit' || kind === 'restore') &&
      sequence > slot.last.position.sequence &&
      sequence <= position.sequence;
    const redone = segments.flatMap(({ reported }) => reported.records.filter(isRedone)).length;
    pages.image(); // verifies the checksum of each page
    let refused: string | null = null;
    if (pendingRestore !== null) {
      await ObjectFiles.open(await copyOf(bytes), environment).catch((error: unknown) => {
        refused = formatError(error);
      });
    }
    return {
      redone,
      sequence: position.sequence,
      timeMs: position.timeMs,
      bookmark: formatBookmark(position, log.checksum),
      pageCount: pages.pageCount,
      restore: pendingRestore && { sequence: pendingRestore.sequence, refused },
    };
  } catch (error) {
    damage.push(formatError(error));
    return null;
  }
}

/** Formats an error of this package. @throws any other error, which is a defect */
function formatError(error: unknown): string {
  if (!isStorageError(error)) throw error;
  return `${error.code}: ${error.message}`;
}
