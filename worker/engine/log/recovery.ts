// Recovery: finds the end of an object's log, redoes the records that the main file lacks, and opens
// the object.
//
// Reads from the last checkpoint on, never the whole history. The log ends where a crash tore or lost
// a record, unless a later record proves that it was once durable: then the log is damaged, and that
// is an error, never a shorter history.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { type FileDirectory, isDiskFull, runFlushing } from '../file/file.ts';

import { type BranchBase, BranchMain } from './branch-main.ts';
import { type Checkpoint, CheckpointFile, type PendingRestore } from './checkpoint-file.ts';
import { CommitLog, type LogEnvironment } from './commit-log.ts';

import { type CheckpointOptions, CommittedPages } from './committed-pages.ts';
import { KeptBranches } from './kept-branches.ts';
import type { LogPosition } from './log-position.ts';
import { MainFile } from './main-file.ts';
import { OpeningFiles } from './opening-files.ts';
import { PageStore, type PagesOwner } from './page-store.ts';
import { Replay } from './replay.ts';
import type { OpenSegment } from './sealed-segments.ts';
import { isEmptied, provesFlushed, SEGMENT_HEADER_BYTES, Segment } from './segment.ts';

export interface RecoveryOptions extends CheckpointOptions {
  readonly spillBytes: number;
  /** Maximum bytes of pages that open past states keep in memory. */
  readonly pastBytes: number;
  /** Maximum bytes of earlier pages that a restore, or the opening of a past state, collects before it applies them. */
  readonly undoBytes: number;
  readonly segmentBytes: number;
  /** The state that a branch begins with, if the object is one; closing its files releases the state. */
  readonly base?: BranchBase;
}

/** The parts of an opened object. Its files stay open until it is closed. */
export interface Recovered {
  readonly main: MainFile;
  readonly log: CommitLog;
  readonly pages: PageStore;
  readonly branches: KeptBranches;
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
  owner?: PagesOwner,
): Promise<Recovered> {
  const files = new OpeningFiles(directory);
  try {
    await files.openFirst();
    const branches = await KeptBranches.open(directory, files.names);
    const checkpoints = await openCheckpoints(files, environment, options.base);
    await files.settleFolded(checkpoints.checksum);
    const branch = options.base ? new BranchMain(files.main, options.base, checkpoints) : null;
    await openNeeded(files, checkpoints.last);
    const replay = replayLog(files, checkpoints, branch);
    refuseDamage(files, replay, checkpoints);
    replay.redo.verify();
    const { isExact = false } = directory;
    if (environment.hasFailed && !isExact) {
      replay.active.rewrite(replay.position.offset);
      checkpoints.rewriteSlots();
      await branches.rewrite();
    }
    const flushesAtOnce = await makeEndDurable(replay, isExact);
    const oldest = await removePruned(files, replay.active.number, checkpoints.last.segment);

    const { active, position, pendingRestore } = replay;
    const opened = openOldestSegments(files, oldest, active.number);
    const spare = openSegment(files, active.number + 1);
    const log = new CommitLog({
      directory,
      environment,
      checksum: checkpoints.checksum,
      segmentBytes: options.segmentBytes,
      active,
      position,
      spare,
      opened,
      oldest,
      spans: files.spans,
      firstNeeded: () => checkpoints.firstSegmentNeeded,
      pinnedSequence: () =>
        Math.min(...branches.needed, environment.pinnedSequence?.() ?? Number.POSITIVE_INFINITY),
    });
    const main = new MainFile(
      files.main,
      checkpoints,
      flushesAtOnce,
      () => log.pruneOldest(),
      branch,
    );
    const committed = new CommittedPages(main, checkpoints, log, replay.redo, options);
    const pages = new PageStore(committed, main, log, options, owner);
    // The newest slot was lost, so the checkpoint lies in an older segment. Make a new one, otherwise openings would
    // become longer with every such crash. On a full disk, no checkpoint is made: an opening does not delete history.
    const isBehind = active.number !== checkpoints.last.segment;
    if (isBehind) {
      log.keepFrom(0);
      await runFlushing(pages.checkpoint(pendingRestore));
      log.keepFrom(null);
    }
    files.keep([files.main, files.checkpoint]);
    for (const segment of [active, spare, ...opened])
      if (segment !== null) files.keep([segment.file]);
    return { main, log, pages, branches, pendingRestore };
  } finally {
    files.closeRest();
  }
}

async function openCheckpoints(
  files: OpeningFiles,
  environment: LogEnvironment,
  base?: BranchBase,
): Promise<CheckpointFile> {
  const found = CheckpointFile.read(files.checkpoint);
  if (found !== null) return found;
  if (files.numbers.length > 0 || files.main.sizeBytes() > 0) {
    throw storageError('CORRUPT', 'open: the checkpoint file has no intact slot.');
  }
  const timeMs = Math.floor(environment.now());
  const first: Checkpoint = {
    pageCount: base?.pageCount ?? 0,
    pendingRestore: null,
    segment: 1,
    position: { offset: SEGMENT_HEADER_BYTES, sequence: 0, timeMs, sum: 0 },
  };
  const created = CheckpointFile.create(files.checkpoint, environment.randomUint32(), first);
  // Flush the slot before any segment exists, because a log without a slot counts as damage.
  await created.flush();
  return created;
}

/** Opens the segments from the checkpoint on. */
async function openNeeded(files: OpeningFiles, { segment, position }: Checkpoint): Promise<void> {
  // A segment that was never flushed may be missing after a power failure, even if a later one
  // exists. Nothing in it was durable.
  if (isBeginning(position) && !files.numbers.includes(segment)) files.addFirst(segment);
  await files.openFrom(segment);
}

/** True if the history of an object begins at this position. */
function isBeginning({ sequence, offset }: LogPosition): boolean {
  return sequence === 0 && offset === SEGMENT_HEADER_BYTES;
}

/** Redoes every whole commit after the last checkpoint. */
function replayLog(
  files: OpeningFiles,
  { last, checksum }: CheckpointFile,
  branch: BranchMain | null,
): Replay {
  const first = readFirst(files, last, checksum);
  const replay = new Replay(branch ?? files.main, first, last, checksum);
  for (const number of files.numbers.filter((candidate) => candidate > first.number)) {
    const next = Segment.read(number, files.segment(number), checksum);
    if (next === null || !replay.follow(next)) break;
  }
  return replay;
}

/** Reads the segment with the checkpoint's position. @throws CORRUPT */
function readFirst(
  files: OpeningFiles,
  { segment: number, position }: Checkpoint,
  checksum: CheckpointFile['checksum'],
): Segment {
  const file = files.find(number);
  if (file === null) {
    throw storageError('CORRUPT', `open: segment ${number} of the log is missing.`);
  }
  const found = Segment.read(number, file, checksum);
  if (found === null) {
    if (!isBeginning(position) || provesFlushed(file, 0, 0, checksum)) {
      throw storageError('CORRUPT', `open: the header of segment ${number} of the log is damaged.`);
    }
    return Segment.create(number, file, position, checksum);
  }
  if (position.offset > file.sizeBytes()) {
    throw storageError('CORRUPT', `open: segment ${number} of the log was cut short.`);
  }
  return found;
}

/**
 * Throws if anything proves that more of the log was durable: a record after its end, a later segment,
 * which begins only when everything before it is durable, or a checkpoint that began.
 */
function refuseDamage(files: OpeningFiles, replay: Replay, checkpoints: CheckpointFile): void {
  const { active, position } = replay;
  const { checksum } = checkpoints;
  const behind = files.numbers.filter((number) => number > active.number);
  const isDamaged =
    checkpoints.provesLonger(active.number, position.offset) ||
    provesFlushed(active.file, position.offset, position.sequence, checksum) ||
    behind.some((number) => {
      const file = files.segment(number);
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

/**
 * Makes the recovered state durable: commits that a crash of the program left unflushed, and the end of the log, where
 * commits may have been discarded or torn. If the files are exact, all commits are durable already; then a full disk is
 * ignored, because the next commit stores the end of the log. Returns true if flushes end inside the call.
 */
async function makeEndDurable({ active, position }: Replay, isExact: boolean): Promise<boolean> {
  active.cutBehind(position.offset);
  const changes = active.beforeFlush(position.offset);
  const flush = active.file.flush();
  try {
    await flush;
    active.flushed(changes);
  } catch (error) {
    if (!isExact || !isDiskFull(error)) throw error;
  }
  return !(flush instanceof Promise);
}

/** Returns the number of the oldest segment in the history; removes the files before it. */
async function removePruned(
  files: OpeningFiles,
  active: number,
  firstNeeded: number,
): Promise<number> {
  const existing = new Set(files.numbers);
  let oldest = active;
  const { spans } = files;
  while (existing.has(oldest - 1)) oldest = spans.of(oldest - 1).first;
  for (; oldest < firstNeeded; oldest = spans.of(oldest).last + 1) {
    await files.openSegments([oldest]);
    // An empty segment was pruned on a full disk before the worker ended. A folded one without a header was being made
    // from segments that were pruned meanwhile. A damaged segment is kept, so that reading it reports the damage.
    if (!isEmptied(files.segment(oldest), spans.of(oldest).minutes)) break;
  }
  await files.removeBefore(oldest);
  return oldest;
}

/** Returns the oldest segments whose files are open, up to the first one that is not. */
function openOldestSegments(files: OpeningFiles, oldest: number, active: number): OpenSegment[] {
  const opened: OpenSegment[] = [];
  for (
    let number = files.spans.keyOf(oldest);
    number < active;
    number = files.spans.after(number)
  ) {
    const segment = openSegment(files, number);
    if (segment === null) break;
    opened.push(segment);
  }
  return opened;
}

function openSegment(files: OpeningFiles, number: number): OpenSegment | null {
  const file = files.find(number);
  return file === null ? null : { number, file };
}
