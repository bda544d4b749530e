// Recovery: finds the files of an object, the end of its log, and what the main file lacks.
//
// Reads from the last checkpoint on, never the whole history. The log ends where a crash tore or lost
// a record, unless a later record proves that it was once durable: then the log is damaged, and that
// is an error, never a shorter history.

import { storageError } from '../../src/contract/errors.ts';
import type { FileDirectory, SyncFile } from '../file/file.ts';
import { runFlushing } from '../file/flushing.ts';
import {
  type Checkpoint,
  CheckpointFile,
  type PendingRestore,
  pendingRestore,
} from './checkpoint-file.ts';
import type { Checksum } from './checksum.ts';
import { CommitLog } from './commit-log.ts';
import { type CheckpointOptions, CommittedPages } from './committed-pages.ts';
import type { LogEnvironment } from './log-end.ts';
import { MainFile } from './main-file.ts';
import { PageStore } from './page-store.ts';
import { CONTINUES, MARKER, markerBody, parseHeader, RESTORE } from './record.ts';
import { Redo } from './redo.ts';
import type { OpenSegment } from './sealed-segments.ts';
import {
  isEmptied,
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

/** An opened object. Its files stay open until it is closed. */
export interface Recovered {
  readonly main: MainFile;
  readonly log: CommitLog;
  readonly pages: PageStore;
  readonly pendingRestore: PendingRestore | null;
}

/**
 * Opens the files of an object and recovers the state after its last whole commit. A directory
 * without files becomes a new object.
 *
 * @throws CORRUPT if anything that was durable is missing or damaged; STORAGE_LOCKED, IO.
 */
export async function recover(
  directory: FileDirectory,
  environment: LogEnvironment,
  options: RecoveryOptions,
): Promise<Recovered> {
  const files = new OpenFiles(directory);
  try {
    return await recoverWith(files, directory, environment, options);
  } finally {
    files.closeRest();
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
  const { checksum } = checkpoints;
  const { segment: first, position: start } = checkpoints.last;
  // A segment that was never flushed may be missing after a power failure, even if a later one
  // exists. Nothing in it was durable.
  if (isBeginning(start) && !numbers.includes(first)) numbers.unshift(first);
  await files.open(numbers.filter((number) => number >= first).map(segmentName));

  const replay = replayLog(files, numbers, checkpoints);
  const { active, position, redo } = replay;
  redo.verify();
  // The state that is shown from now on must stay: commits that a crash of the program left unflushed,
  // and the end of the log, where commits may have been discarded or torn.
  active.cutBehind(position.offset);
  const flush = active.file.flush();
  const flushesAtOnce = !(flush instanceof Promise);
  await flush;

  const oldest = await removePruned(files, directory, numbers, active.number, first);
  const opened: OpenSegment[] = [];
  for (let number = oldest; number < active.number; number++) {
    const file = files.find(segmentName(number));
    if (file === null) break;
    opened.push({ number, file });
  }
  const spareFile = files.find(segmentName(active.number + 1));
  const log = new CommitLog({
    directory,
    environment,
    checksum,
    segmentBytes: options.segmentBytes,
    active,
    position,
    spare: spareFile === null ? null : { number: active.number + 1, file: spareFile },
    opened,
    oldest,
    firstNeeded: () => checkpoints.firstSegmentNeeded,
  });
  const mainFile = new MainFile(main, checkpoints, flushesAtOnce, () => log.pruneOldest());
  const committed = new CommittedPages(mainFile, checkpoints, log, redo, options);
  const pages = new PageStore(committed, mainFile, log, options.spillBytes);
  // The newest slot was lost. Without a new one, each such crash would make the next opening longer
  // (as it does when the disk is too full for a checkpoint).
  if (active.number !== first) await runFlushing(pages.checkpoint(replay.pendingRestore));
  files.keep([main, files.get(CHECKPOINT_NAME), active.file]);
  files.keep(opened.map(({ file }) => file));
  if (spareFile !== null) files.keep([spareFile]);
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
    throw storageError('CORRUPT', 'open: the checkpoint file has no intact slot.');
  }
  const timeMs = Math.floor(environment.now());
  const first: Checkpoint = {
    pageCount: 0,
    pendingRestore: null,
    segment: 1,
    position: { offset: SEGMENT_HEADER_BYTES, sequence: 0, timeMs, sum: 0 },
  };
  const created = CheckpointFile.create(file, environment.randomUint32(), first);
  // Durable before any segment exists, because a log without a slot counts as damage.
  await created.flush();
  return created;
}

interface Replay {
  readonly active: Segment;
  readonly position: LogPosition;
  readonly redo: Redo;
  readonly pendingRestore: PendingRestore | null;
}

/** Redoes every whole commit after the last checkpoint. */
function replayLog(files: OpenFiles, numbers: number[], checkpoints: CheckpointFile): Replay {
  const { checksum } = checkpoints;
  const { segment: first, position: start, pageCount } = checkpoints.last;
  const progress = { pendingRestore: checkpoints.last.pendingRestore };
  let active = firstSegment(files, first, start, checksum);
  const redo = new Redo(files.get(MAIN_NAME), active.file, pageCount, checksum);
  let position = replaySegment(active, start, redo, progress);
  for (const number of numbers.filter((candidate) => candidate > first)) {
    const next = Segment.read(number, files.get(segmentName(number)), checksum);
    const follows = number === active.number + 1 && next?.base.sum === position.sum;
    if (next === null || !follows) break;
    active = next;
    redo.beginSegment(active.file);
    position = replaySegment(active, next.base, redo, progress);
  }
  refuseDamage(files, numbers, active, position, checkpoints);
  return { active, position, redo, ...progress };
}

/** True for the position where the history of an object begins. */
function isBeginning({ sequence, offset }: LogPosition): boolean {
  return sequence === 0 && offset === SEGMENT_HEADER_BYTES;
}

function firstSegment(
  files: OpenFiles,
  number: number,
  start: LogPosition,
  checksum: Checksum,
): Segment {
  const file = files.find(segmentName(number));
  if (file === null)
    throw storageError('CORRUPT', `open: segment ${number} of the log is missing.`);
  const found = Segment.read(number, file, checksum);
  if (found !== null) {
    if (start.offset > file.sizeBytes()) {
      throw storageError('CORRUPT', `open: segment ${number} of the log was cut short.`);
    }
    return found;
  }
  if (!isBeginning(start) || provesFlushed(file, 0, 0, checksum)) {
    throw storageError('CORRUPT', `open: the header of segment ${number} of the log is damaged.`);
  }
  return Segment.create(number, file, start, checksum);
}

function replaySegment(
  segment: Segment,
  from: LogPosition,
  redo: Redo,
  progress: { pendingRestore: PendingRestore | null },
): LogPosition {
  let position = from;
  let parts: { readonly offset: number; readonly length: number }[] = [];
  for (const found of segment.records(from)) {
    const { record, bytes, offset } = found;
    if ((record.flags & CONTINUES) !== 0) {
      parts.push({ offset, length: record.length });
      continue;
    }
    if ((record.flags & MARKER) !== 0) {
      const { sequence, sum } = markerBody(bytes);
      progress.pendingRestore = pendingRestore(sequence, sum);
    } else {
      for (const part of parts) applyPart(segment, part, redo);
      redo.apply(bytes, record, offset);
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
  redo.apply(bytes, parseHeader(bytes)!, part.offset);
}

/**
 * Throws if anything proves that more of the log was durable: a record after its end, a later segment,
 * which begins only when everything before it is durable, or a checkpoint that began.
 */
function refuseDamage(
  files: OpenFiles,
  numbers: number[],
  active: Segment,
  position: LogPosition,
  checkpoints: CheckpointFile,
): void {
  const { checksum } = checkpoints;
  const behind = numbers.filter((number) => number > active.number);
  const isDamaged =
    checkpoints.provesLonger(active.number, position.offset) ||
    provesFlushed(active.file, position.offset, position.sequence, checksum) ||
    behind.some((number) => {
      const file = files.get(segmentName(number));
      const beginsAt = Segment.read(number, file, checksum)?.base.sequence ?? 0;
      return beginsAt > position.sequence || provesFlushed(file, 0, position.sequence, checksum);
    });
  if (isDamaged) {
    throw storageError(
      'CORRUPT',
      `open: segment ${active.number} of the log is damaged at byte ${position.offset}; later commits were durable.`,
    );
  }
}

/** Returns the number of the oldest segment in the history; removes the files before it. */
async function removePruned(
  files: OpenFiles,
  directory: FileDirectory,
  numbers: number[],
  active: number,
  firstNeeded: number,
): Promise<number> {
  const existing = new Set(numbers);
  let oldest = active;
  while (existing.has(oldest - 1)) oldest--;
  for (; oldest < firstNeeded; oldest++) {
    await files.open([segmentName(oldest)]);
    // An empty one was pruned on a full disk, and the worker ended before it was removed. A damaged
    // one is kept: reading it reports the damage.
    if (!isEmptied(files.get(segmentName(oldest)))) break;
  }
  for (const number of numbers.filter((candidate) => candidate < oldest)) {
    files.close(segmentName(number));
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

/** Files opened during recovery. Those that nobody keeps are closed at its end. */
class OpenFiles {
  readonly #directory: FileDirectory;
  readonly #files = new Map<string, SyncFile>();

  constructor(directory: FileDirectory) {
    this.#directory = directory;
  }

  /** Opens those that are not open yet, in parallel. */
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

  /** Closes a file, so that it can be removed. */
  close(name: string): void {
    this.find(name)?.close();
    this.#files.delete(name);
  }

  /** Hands files over: `closeRest` does not close them. */
  keep(kept: readonly SyncFile[]): void {
    for (const [name, file] of this.#files) if (kept.includes(file)) this.#files.delete(name);
  }

  closeRest(): void {
    for (const file of this.#files.values()) file.close();
  }
}
