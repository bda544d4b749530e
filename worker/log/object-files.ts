// One object's storage on its directory: the database file SQLite sees, and its history.
//
// Committing is synchronous and is not durable; `flush` makes every commit so far durable and is the
// only thing an output gate has to wait for. Upkeep that cannot happen inside a commit is `maintain`.
//
// Knows nothing of SQL, gates or classes; time and randomness come from its environment.

import { isStorageError, type StorageError, storageError } from '../../src/contract/errors.ts';
import { RECOVERY_WINDOW_DAYS } from '../../src/contract/limits.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import type { FileDirectory } from '../file/file.ts';
import { type Flushing, runFlushing } from '../file/flushing.ts';
import { formatBookmark, parseBookmark, timelineEnd } from './bookmark.ts';
import { NO_RESTORE, type PendingRestore } from './checkpoint-file.ts';
import { SEGMENT_BYTES } from './commit-log.ts';
import { CHECKPOINT_LOG_BYTES, CHECKPOINT_OVERLAY_BYTES } from './committed-pages.ts';
import type { LogEnvironment } from './log-end.ts';
import { PAGE_BYTES } from './pages.ts';
import { MARKER, RecordWriter } from './record.ts';
import { type Recovered, type RecoveryOptions, recover } from './recovery.ts';
import { restore } from './restore.ts';
import { findTime } from './time-search.ts';
import { SPILL_BYTES } from './transaction-pages.ts';

export type { LogEnvironment } from './log-end.ts';

const WINDOW_MS = RECOVERY_WINDOW_DAYS * 86_400_000;

const DEFAULTS: RecoveryOptions = {
  segmentBytes: SEGMENT_BYTES,
  spillBytes: SPILL_BYTES,
  checkpointOverlayBytes: CHECKPOINT_OVERLAY_BYTES,
  checkpointLogBytes: CHECKPOINT_LOG_BYTES,
};

const writer = new RecordWriter();

export class ObjectFiles {
  readonly #environment: LogEnvironment;
  readonly #main: Recovered['main'];
  readonly #log: Recovered['log'];
  readonly #pages: Recovered['pages'];
  /** What the log says about a pending restore. */
  #pendingRestore: PendingRestore | null;
  /** What it is to say from the next flush on. */
  #requestedRestore: PendingRestore | null = null;
  /** Runs what opens files one after another: a file has one holder. */
  #opening: Promise<unknown> = Promise.resolve();
  /** Flushes and checkpoints that end in a later turn. Files close only when there are none left. */
  readonly #underWay = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  private constructor(environment: LogEnvironment, recovered: Recovered) {
    this.#environment = environment;
    this.#main = recovered.main;
    this.#log = recovered.log;
    this.#pages = recovered.pages;
    this.#pendingRestore = recovered.pendingRestore;
  }

  /**
   * Opens an object, or makes a new one in an empty directory: recovers what was committed and
   * applies a pending restore, durably.
   *
   * @throws CORRUPT, IO, DISK_FULL, STORAGE_LOCKED; BOOKMARK_INVALID or BOOKMARK_UNAVAILABLE when
   *   the pending restore cannot be made: it is dropped, and the next opening succeeds without it,
   *   unless the disk failed meanwhile; then that one may say so again.
   */
  static async open(
    directory: FileDirectory,
    environment: LogEnvironment,
    options: Partial<RecoveryOptions> = {},
  ): Promise<ObjectFiles> {
    const recovered = await recover(directory, environment, { ...DEFAULTS, ...options });
    const files = new ObjectFiles(environment, recovered);
    try {
      await files.#applyPendingRestore();
    } catch (error) {
      await files.close();
      throw error;
    }
    return files;
  }

  /** The database as SQLite reads and writes it. */
  get file(): DatabaseFile {
    return this.#pages;
  }

  /** Sequence of the last commit. */
  get committedSequence(): number {
    return this.#log.position.sequence;
  }

  /** Sequence of the last commit known to be on disk. */
  get durableSequence(): number {
    return this.#log.durable.sequence;
  }

  /** True when `flush` has something to do: commits, or a restore that was asked for. */
  get needsFlush(): boolean {
    return !this.#log.isDurable || this.#requestedRestore !== null;
  }

  /**
   * Makes all commits so far durable. One flush of one file, except when a checkpoint is due; none
   * when all is durable already.
   *
   * @throws DISK_FULL, IO: it is then unknown which commits above `durableSequence` are on disk.
   */
  flush(): void | Promise<void> {
    if (!this.needsFlush) return;
    if (this.#closed !== undefined) throw closed('flush');
    this.#appendRequestedRestore();
    return this.#track(runFlushing(this.#flushAndTidy()));
  }

  /**
   * Makes one commit of everything SQLite commits in the action.
   *
   * @throws DISK_FULL, IO, and what the action throws: SQLite and the log then disagree, and the
   *   files must be closed.
   */
  atomically(action: () => void): void {
    this.#pages.isHeld = true;
    action();
    this.#pages.isHeld = false;
  }

  /**
   * Writes another database over this one, inside `atomically`. SQLite is not told: the connection
   * must be closed before it reads again.
   *
   * @throws DISK_FULL, IO
   */
  overwrite(source: DatabaseFile): void {
    const page = new Uint8Array(PAGE_BYTES);
    const sizeBytes = source.sizeBytes();
    for (let offset = 0; offset < sizeBytes; offset += PAGE_BYTES) {
      source.read(page, offset);
      this.#pages.write(page, offset);
    }
    this.#pages.truncate(sizeBytes);
  }

  /**
   * Takes back every commit that is not durable, as far as the medium lets it. The files must then
   * be closed: SQLite's cache still holds them. Nothing when it is closed already.
   */
  discardUnflushed(): void {
    if (this.#closed !== undefined) return;
    this.#requestedRestore = null;
    this.#pages.end();
    // A disk that fails here, perhaps again, has its say at the next opening.
    try {
      this.#track(this.#log.cutToDurable());
    } catch (error) {
      if (!isStorageError(error)) throw error;
    }
  }

  /**
   * Brings the main file up to the last commit: it then is a plain SQLite image. False when there
   * are commits that are not durable, or the disk is too full.
   */
  checkpoint(): boolean | Promise<boolean> {
    if (this.#closed !== undefined) throw closed('checkpoint');
    if (this.needsFlush || this.#pages.committed.isCheckpointing) return false;
    if (this.#pages.committed.isCheckpointed) return true;
    return this.#track(runFlushing(this.#pages.checkpoint(this.#pendingRestore)));
  }

  /** True when `maintain` has something to do; it may wait for a quiet moment. */
  get needsMaintenance(): boolean {
    return this.#closed === undefined && this.#log.needsMaintenance;
  }

  /**
   * Opens files ahead of their use and removes history beyond the window. Without it the object
   * works, but its log grows in one file.
   */
  maintain(): Promise<void> {
    return this.#exclusively(async () => {
      if (this.#closed !== undefined) return;
      await this.#log.maintain(this.#environment.now() - WINDOW_MS);
    });
  }

  /** The bookmark of this moment: of the last commit, flushed or not. */
  currentBookmark(): string {
    return formatBookmark(this.#log.position, this.#log.checksum);
  }

  /**
   * The bookmark of the last commit at or before a time. A promise when an older segment has to be
   * opened for it.
   *
   * @throws BOOKMARK_UNAVAILABLE in the future, outside the window, or when it was pruned.
   */
  bookmarkForTime(timeMs: number): string | Promise<string> {
    const now = this.#environment.now();
    if (!(timeMs <= now && timeMs >= now - WINDOW_MS)) {
      throw storageError(
        'BOOKMARK_UNAVAILABLE',
        `bookmark for ${timeMs}: not within the last ${RECOVERY_WINDOW_DAYS} days (now is ${now}).`,
      );
    }
    if (timeMs >= this.#log.position.timeMs) return this.currentBookmark();
    return this.#exclusively(async () => {
      if (this.#closed !== undefined) throw closed('bookmark');
      const found = await findTime(timeMs, this.#log);
      return formatBookmark(found, this.#log.checksum);
    });
  }

  /**
   * Asks for a restore at the next opening; asking again replaces it. Durable with the next `flush`.
   * Returns the bookmark that undoes it: the end of this session.
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE
   */
  scheduleRestore(bookmark: string): string {
    const { checksum, position, oldestBase } = this.#log;
    const target = parseBookmark(bookmark, checksum);
    const end = timelineEnd(position.sequence);
    if (target.sequence > (target.sum === 0 ? end : position.sequence)) {
      throw storageError('BOOKMARK_INVALID', `"${bookmark}" names a commit that does not exist.`);
    }
    if (oldestBase !== null && target.sequence < oldestBase.sequence) {
      throw storageError(
        'BOOKMARK_UNAVAILABLE',
        `"${bookmark}": the history of that moment was pruned.`,
      );
    }
    this.#requestedRestore = { sequence: target.sequence, sum: target.sum };
    return formatBookmark({ sequence: end, timeMs: this.#log.timeMs(), sum: 0 }, checksum);
  }

  /** A plain SQLite image of the committed state. Only between transactions. */
  databaseBytes(): Uint8Array<ArrayBuffer> {
    const { pageCount } = this.#pages.committed;
    const image = new Uint8Array(pageCount * PAGE_BYTES);
    for (let i = 0; i < pageCount; i++) {
      this.#pages.committed.read(i, image.subarray(i * PAGE_BYTES, (i + 1) * PAGE_BYTES));
    }
    return image;
  }

  /**
   * Lets go of all files; idempotent. What is not flushed may be lost. SQLite may go on calling: it
   * reaches no file. Settles when nothing here will touch a file again.
   */
  close(): Promise<void> {
    this.#closed ??= this.#exclusively(async () => {
      await Promise.allSettled(this.#underWay);
      await this.#pages.committed.settled();
      this.#log.close();
      this.#main.close();
    });
    this.#pages.end();
    return this.#closed;
  }

  /** Keeps the files open until the work has ended, well or not. */
  #track<T>(work: T | Promise<T>): T | Promise<T> {
    if (!(work instanceof Promise)) return work;
    this.#underWay.add(work);
    const done = () => void this.#underWay.delete(work);
    work.then(done, done);
    return work;
  }

  #exclusively<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#opening.then(action);
    this.#opening = result.catch(() => {});
    return result;
  }

  #appendRequestedRestore(): void {
    // A marker cannot stand between the parts of a transaction; then the next flush takes it.
    if (this.#requestedRestore === null || this.#log.hasOpenParts) return;
    this.#appendMarker(this.#requestedRestore);
    this.#requestedRestore = null;
  }

  #appendMarker(pending: PendingRestore | null): void {
    const { pageCount } = this.#pages.committed;
    writer.begin();
    writer.addMarker(pending?.sequence ?? NO_RESTORE, pending?.sum ?? 0);
    this.#log.append(writer, {
      flags: MARKER,
      sequence: this.#log.position.sequence,
      pageCountBefore: pageCount,
      pageCount,
    });
    this.#pendingRestore = pending;
  }

  async #applyPendingRestore(): Promise<void> {
    if (this.#pendingRestore === null) return;
    try {
      await restore(this.#pendingRestore, this.#log, this.#pages);
    } catch (error) {
      if (!isStorageError(error) || !/^(BOOKMARK_|CORRUPT)/.test(error.code)) throw error;
      throw await this.#cancelRestore(error);
    }
    this.#pendingRestore = null;
    await this.flush();
    await this.checkpoint();
  }

  /** Cancels a restore that cannot be made. Returns the reason, which is told whatever the disk does. */
  async #cancelRestore(reason: StorageError): Promise<StorageError> {
    try {
      this.#appendMarker(null);
      await runFlushing(this.#log.flush());
      return reason;
    } catch (failure) {
      if (!isStorageError(failure)) throw failure;
      const again = `Cancelling the restore failed, so the next opening may refuse it again: ${failure.message}`;
      return storageError(reason.code, `${reason.message} ${again}`, { cause: failure });
    }
  }

  *#flushAndTidy(): Flushing<void> {
    yield* this.#log.flush();
    if (this.#closed !== undefined) return;
    if (this.needsFlush || this.#pages.committed.isCheckpointing) return;
    if (this.#pages.committed.isCheckpointDue || this.#log.canRotate) {
      yield* this.#pages.checkpoint(this.#pendingRestore);
      if (this.#closed !== undefined || this.needsFlush) return;
      this.#pages.rotateLog();
    }
    this.#log.growAhead();
  }
}

function closed(operation: string) {
  return storageError('IO', `${operation}: the storage of the object is closed.`);
}
