// Opening: which files an object has, where its log ends, and what the main file lacks.
//
// Reads from the last checkpoint on and never the whole history. Records that a crash tore or lost
// are the end of the log, unless a later record proves that they were once flushed: then the log is
// damaged, which is an error and never a shorter history.

import { storageError } from '../../src/contract/errors.ts';
import type { FileDirectory, SyncFile } from '../file/file.ts';
import {
  type Checkpoint,
  CheckpointFile,
  type PendingRestore,
  pendingRestore,
} from './checkpoint-file.ts';
import { CommitLog, type LogEnvironment, type OpenSegment } from './commit-log.ts';
import { type CheckpointOptions, CommittedPages } from './committed-pages.ts';
import { MainFile } from './main-file.ts';
import { PageStore } from './page-store.ts';
import { CONTINUES, MARKER, markerBody, parseHeader, RESTORE } from './record.ts';
import { Redo } from './redo.ts';
import {
  type LogPosition,
  positionAfter,
  provesFlushed,
  SEGMENT_HEADER_BYTES,
  Segment,
  segmentName,
  segmentNumber,
} from './segment.ts';

const MAIN_NAME = 'main';
const CHECKPOINT_NAME = 'checkpoint';

export interface RecoveryOptions extends CheckpointOptions {
  readonly spillBytes: number;
  readonly segmentBytes: number;
}

/** An opened object; its files are held until it is closed. */
export interface Recovered {
  readonly main: MainFile;
  readonly log: CommitLog;
  readonly pages: PageStore;
  readonly pendingRestore: PendingRestore | null;
}

/**
 * Opens the files of an object and brings it to the state after its last whole commit. A directory
 * without files becomes a new object.
 *
 * @throws CORRUPT when something that was once durable is missing or damaged; STORAGE_LOCKED, IO.
 */
export async function recover(
  directory: FileDirectory,
  environment: LogEnvironment,
  options: RecoveryOptions,
): Promise<Recovered> {
  const files = new OpenFiles(directory);
  try {
    return await recoverWith(files, directory, environment, options);
  } catch (error) {
    files.closeAll();
    throw error;
  }
}

async function recoverWith(
  files: OpenFiles,
  directory: FileDirectory,
  environment: LogEnvironment,
  options: RecoveryOptions,
): Promise<Recovered> {
  const numbers = segmentNumbers(await directory.names());
  const likely = new Set([...numbers.slice(0, 1), ...numbers.slice(-2)]);
  await files.open([MAIN_NAME, CHECKPOINT_NAME, ...[...likely].map(segmentName)]);
  const main = files.get(MAIN_NAME);
  const checkpoints = await openCheckpoints(files, numbers, environment);
  const { salt } = checkpoints;
  const first = checkpoints.last.segment;
  if (numbers.length === 0) numbers.push(first);
  await files.open(numbers.filter((number) => number >= first).map(segmentName));

  const redo = new Redo(main, checkpoints.last.pageCount, salt);
  const replay = replayLog(files, numbers, checkpoints, redo);
  redo.verify();
  const { active, position } = replay;
  // A crash of the program may have left commits that the disk does not hold yet: what is shown
  // from now on must stay.
  if (replay.recordCount > 0) await active.file.flush();

  const oldest = await dropGivenUp(files, directory, numbers, active.number, salt, first);
  const opened: OpenSegment[] = [];
  for (let number = oldest; number < active.number; number++) {
    const file = files.take(segmentName(number));
    if (file === null) break;
    opened.push({ number, file });
  }
  const spareFile = files.take(segmentName(active.number + 1));
  const log = new CommitLog({
    directory,
    environment,
    salt,
    segmentBytes: options.segmentBytes,
    active,
    position,
    spare: spareFile === null ? null : { number: active.number + 1, file: spareFile },
    opened,
    oldest,
    firstNeeded: () => checkpoints.firstSegmentNeeded,
  });
  const mainFile = new MainFile(main, checkpoints, () => log.giveUpOldest());
  const committed = new CommittedPages(mainFile, checkpoints, log, redo, options);
  const pages = new PageStore(committed, mainFile, log, options.spillBytes);
  if (replay.segmentCount > 1) {
    // Page images may lie in segments that are not kept open.
    await pages.checkpoint(replay.pendingRestore);
  }
  files.take(MAIN_NAME);
  files.take(CHECKPOINT_NAME);
  files.take(segmentName(active.number));
  files.closeAll();
  return { main: mainFile, log, pages, pendingRestore: replay.pendingRestore };
}

async function openCheckpoints(
  files: OpenFiles,
  numbers: number[],
  environment: LogEnvironment,
): Promise<CheckpointFile> {
  const file = files.get(CHECKPOINT_NAME);
  const found = CheckpointFile.read(file);
  if (found !== null) return found;
  if (numbers.length > 0 || files.get(MAIN_NAME).sizeBytes() > 0) {
    throw storageError('CORRUPT', 'open: the checkpoint file holds no intact slot.');
  }
  const timeMs = Math.floor(environment.now());
  const first: Checkpoint = {
    pageCount: 0,
    pendingRestore: null,
    segment: 1,
    position: { offset: SEGMENT_HEADER_BYTES, sequence: 0, timeMs, sum: 0 },
  };
  const created = CheckpointFile.create(file, environment.randomUint32(), first);
  // Before any segment: a log without a slot is damage.
  await created.flush();
  return created;
}

interface Replay {
  readonly active: Segment;
  readonly position: LogPosition;
  readonly pendingRestore: PendingRestore | null;
  readonly recordCount: number;
  /** Segments that had records to replay. */
  readonly segmentCount: number;
}

/** Redoes every whole commit behind the last checkpoint. */
function replayLog(
  files: OpenFiles,
  numbers: number[],
  checkpoints: CheckpointFile,
  redo: Redo,
): Replay {
  const { salt } = checkpoints;
  const { segment: first, position: start } = checkpoints.last;
  const progress = { pendingRestore: checkpoints.last.pendingRestore, recordCount: 0 };
  let active = firstSegment(files, first, start, salt);
  let position = replaySegment(active, start, redo, progress);
  let segmentCount = progress.recordCount > 0 ? 1 : 0;
  for (const number of numbers.filter((candidate) => candidate > first)) {
    const next = Segment.read(number, files.get(segmentName(number)), salt);
    const follows = number === active.number + 1 && next?.base.sum === position.sum;
    if (next === null || !follows) break;
    const before = progress.recordCount;
    active = next;
    position = replaySegment(active, next.base, redo, progress);
    if (progress.recordCount > before) segmentCount++;
  }
  refuseDamage(files, numbers, active, position, salt);
  return { active, position, segmentCount, ...progress };
}

function firstSegment(files: OpenFiles, number: number, start: LogPosition, salt: number): Segment {
  const file = files.find(segmentName(number));
  if (file === null)
    throw storageError('CORRUPT', `open: segment ${number} of the log is missing.`);
  const isNew = start.sequence === 0 && start.offset === SEGMENT_HEADER_BYTES;
  const found = Segment.read(number, file, salt);
  if (found !== null) {
    if (start.offset > file.sizeBytes()) {
      throw storageError('CORRUPT', `open: segment ${number} of the log was cut short.`);
    }
    return found;
  }
  if (!isNew || provesFlushed(file, 0, 0, salt)) {
    throw storageError('CORRUPT', `open: the header of segment ${number} of the log is damaged.`);
  }
  return Segment.create(number, file, start, salt);
}

function replaySegment(
  segment: Segment,
  from: LogPosition,
  redo: Redo,
  progress: { pendingRestore: PendingRestore | null; recordCount: number },
): LogPosition {
  let position = from;
  let parts: { readonly offset: number; readonly length: number }[] = [];
  for (const found of segment.records(from)) {
    const { record, bytes, offset } = found;
    progress.recordCount++;
    if ((record.flags & CONTINUES) !== 0) {
      parts.push({ offset, length: record.length });
      continue;
    }
    if ((record.flags & MARKER) !== 0) {
      const { sequence, sum } = markerBody(bytes);
      progress.pendingRestore = pendingRestore(sequence, sum);
    } else {
      for (const part of parts) applyPart(segment, part, redo);
      redo.apply(bytes, record, segment.file, offset);
      redo.settle(record.pageCount);
      if ((record.flags & RESTORE) !== 0) progress.pendingRestore = null;
    }
    parts = [];
    position = positionAfter(found)!;
    segment.note(position);
  }
  segment.cutIndex(position.offset);
  return position;
}

function applyPart(
  segment: Segment,
  part: { readonly offset: number; readonly length: number },
  redo: Redo,
): void {
  const bytes = segment.read(part.offset, part.length);
  redo.apply(bytes, parseHeader(bytes)!, segment.file, part.offset);
}

/** Throws when a record behind the end of the log says that more was once durable. */
function refuseDamage(
  files: OpenFiles,
  numbers: number[],
  active: Segment,
  position: LogPosition,
  salt: number,
): void {
  const behind = numbers.filter((number) => number > active.number);
  const isDamaged =
    provesFlushed(active.file, position.offset, position.sequence, salt) ||
    behind.some((number) =>
      provesFlushed(files.get(segmentName(number)), 0, position.sequence, salt),
    );
  if (isDamaged) {
    throw storageError(
      'CORRUPT',
      `open: segment ${active.number} of the log is damaged at byte ${position.offset}; later commits were durable.`,
    );
  }
}

/** Number of the oldest segment history still has; removes what lies before it. */
async function dropGivenUp(
  files: OpenFiles,
  directory: FileDirectory,
  numbers: number[],
  active: number,
  salt: number,
  firstNeeded: number,
): Promise<number> {
  const existing = new Set(numbers);
  let oldest = active;
  while (existing.has(oldest - 1)) oldest--;
  for (; oldest < firstNeeded; oldest++) {
    await files.open([segmentName(oldest)]);
    // Emptied when the disk was full, and not removed before the worker ended.
    if (Segment.read(oldest, files.get(segmentName(oldest)), salt) !== null) break;
  }
  for (const number of numbers.filter((candidate) => candidate < oldest)) {
    files.take(segmentName(number))?.close();
    await directory.remove(segmentName(number));
  }
  return oldest;
}

function segmentNumbers(names: string[]): number[] {
  return names
    .map(segmentNumber)
    .filter((number) => number !== null)
    .sort((a, b) => a - b);
}

/** Files on their way from the directory to whoever keeps them; the rest are closed. */
class OpenFiles {
  readonly #directory: FileDirectory;
  readonly #files = new Map<string, SyncFile>();

  constructor(directory: FileDirectory) {
    this.#directory = directory;
  }

  /** Opens those that are not open yet, side by side. */
  async open(names: string[]): Promise<void> {
    const results = await Promise.allSettled(
      names
        .filter((name) => !this.#files.has(name))
        .map(async (name) => {
          this.#files.set(name, await this.#directory.open(name));
        }),
    );
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  find(name: string): SyncFile | null {
    return this.#files.get(name) ?? null;
  }

  get(name: string): SyncFile {
    const file = this.#files.get(name);
    if (file === undefined) throw storageError('INTERNAL', `"${name}" is not open.`);
    return file;
  }

  /** Hands a file over: it is no longer closed here. */
  take(name: string): SyncFile | null {
    const file = this.find(name);
    this.#files.delete(name);
    return file;
  }

  closeAll(): void {
    for (const file of this.#files.values()) file.close();
  }
}
