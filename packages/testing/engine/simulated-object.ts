// Simulates one object: its files on a simulated disk and its storage, without a runtime. The simulation decides when
// the event loop turns.

import {
  isStorageError,
  type StorageError,
  storageError,
} from '../../../src/shared/contract/errors.ts';
import type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
import { isDefect } from '../../../src/shared/contract/invariant.ts';
import { openForeign } from '../../../worker/engine/import/foreign-database.ts';
import { Folding } from '../../../worker/engine/log/folding.ts';
import { ObjectFiles } from '../../../worker/engine/log/object-files.ts';
import { completeLimits } from '../../../worker/engine/sql/query-limits.ts';
import { UNRESTRICTED } from '../../../worker/engine/storage/access-policy.ts';
import { type LogDatabase, openLogDatabase } from '../../../worker/engine/storage/databases.ts';
import { ObjectStorage } from '../../../worker/engine/storage/object-storage.ts';
import type { CommitScope } from '../../../worker/engine/storage/storage-environment.ts';
import type { SimulatedDisk } from '../simulate/world/crash-disk.ts';
import type { Random } from '../simulate/world/random.ts';
import { settled } from '../simulate/world/settle.ts';
import type { WatchedSqlite } from './watched-sqlite.ts';

/** The sizes with which the object is opened; undefined means the default. */
export interface Sizes {
  readonly segmentBytes?: number;
  readonly spillBytes?: number;
  readonly undoBytes?: number;
  readonly checkpointOverlayBytes?: number;
  readonly checkpointLogBytes?: number;
  /** The number of pages that SQLite keeps in memory. If it is small, transactions write pages before they end. */
  readonly cachePages?: number;
  readonly history?: HistoryLimits;
}

/** The parts that all openings of an object share. */
export interface World {
  readonly sqlite: WatchedSqlite;
  readonly random: Random;
  readonly clock: { readonly nowMs: number };
  readonly sizes: Sizes;
  /** The author of the code that runs. @default no author */
  running?: CommitScope;
}

/** Delayed tasks run once in this many turns. */
const TURNS_PER_DELAY = 5;

export class SimulatedObject {
  readonly files: ObjectFiles;
  readonly storage: ObjectStorage;
  readonly #world: World;
  #database!: LogDatabase;
  #tasks: (() => void)[] = [];
  #later: (() => void)[] = [];
  #turnCount = 0;
  /** The error that has made the object unusable. */
  #broken: unknown;
  #ended: Promise<void> | undefined;

  /** Opens the object. @throws the errors of its files and its storage */
  static async open(disk: SimulatedDisk, world: World): Promise<SimulatedObject> {
    const { clock, random, sizes } = world;
    const { cachePages: _, history = {}, ...given } = sizes;
    const environment = {
      now: () => clock.nowMs,
      randomUint32: () => random.uint32(),
      hasFailed: disk.failedCalls > 0,
      history,
      loadFolding: async () => ({ Folding }),
    };
    const options = { ...given, isChecked: true };
    const files = await settled('open', ObjectFiles.open(disk, environment, options));
    try {
      return new SimulatedObject(files, world);
    } catch (error) {
      await settled('close', files.close());
      throw error;
    }
  }

  private constructor(files: ObjectFiles, world: World) {
    this.files = files;
    this.#world = world;
    const { sqlite } = world.sqlite;
    this.storage = new ObjectStorage(
      files,
      (store, events) => {
        const opened = openLogDatabase(sqlite, store, events);
        if (store === files) this.#database = opened;
        return opened;
      },
      {
        scope: () => world.running ?? NOBODY,
        now: () => world.clock.nowMs,
        nextTurn: (task) => void this.#tasks.push(task),
        afterRealTime: (_, task) => void this.#later.push(task),
        section: async (closure) => closure(),
        continuation: () => (task) => task(),
        onBroken: (error) => this.#break(error),
        onAlarm: () => {},
        checkAlarm: () => {},
        live: () => () => () => {},
      },
    );
    const { cachePages } = world.sizes;
    if (cachePages !== undefined) this.#database.database.run(`PRAGMA cache_size=${cachePages}`);
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  /** Whether every state so far is durable, as a commit. */
  get isDurable(): boolean {
    return this.storage.durability() === undefined && !this.files.showsRestore;
  }

  /** Returns the damage that SQLite finds in the pages; undefined if there is none. */
  damage(): string | undefined {
    return this.#database.database.damage();
  }

  /** Runs one turn of the event loop. */
  turn(): void {
    this.#turnCount += 1;
    const tasks = this.#tasks;
    this.#tasks = [];
    if (this.#turnCount % TURNS_PER_DELAY === 0) tasks.push(...this.#later.splice(0));
    for (const task of tasks) task();
  }

  /** Returns the outcome of a call of the storage. @throws NeverSettled */
  outcome<T>(label: string, promise: Promise<T>, turnsMax?: number): Promise<T> {
    return settled(label, promise, () => this.turn(), turnsMax);
  }

  /** Ends the turn, and waits until everything written is durable. */
  async acknowledge(): Promise<void> {
    this.turn();
    const durable = this.storage.durability();
    if (durable !== undefined) await this.outcome('durability', durable);
  }

  /** Replaces the database by an exported one. Afterwards only `durability` and `reset` work. */
  async replace(image: Uint8Array): Promise<void> {
    const { sqlite } = this.#world.sqlite;
    const host = { limits: completeLimits(), nextTurn: queueMicrotask };
    const foreign = await openForeign(image, null, host, (file) =>
      openLogDatabase(sqlite, { file }, NO_EVENTS),
    );
    try {
      const reason = storageError('OBJECT_RESET', 'The simulation imports a database.');
      this.storage.replaceDatabase(foreign, reason);
    } finally {
      foreign.close();
    }
  }

  /** Closes the object as an eviction does, once the last write is durable. */
  async close(): Promise<void> {
    this.turn();
    await this.outcome('close', this.storage.close());
  }

  /** Closes the object as a reset does. If it is already unusable, this only waits for its end. */
  async reset(): Promise<void> {
    this.#break(storageError('OBJECT_RESET', 'The simulation resets the object.'));
    await this.outcome('reset', this.#ended ?? Promise.resolve());
  }

  #break(error: unknown): void {
    if (this.#broken !== undefined) return;
    this.#broken = error;
    const reason: StorageError = isStorageError(error)
      ? error
      : storageError('INTERNAL', String(error), { cause: error });
    const ended = this.storage.break(reason);
    // A violated assertion fails the simulation, even if the object recovers from it.
    this.#ended = isDefect(error) ? ended.then(() => Promise.reject(reason)) : ended;
    this.#ended.catch(() => {}); // the reset that follows reports the error
  }
}

const NOBODY: CommitScope = { author: undefined, policy: UNRESTRICTED, hasWritten: false };

const NO_EVENTS = { beforeWrite() {}, onCritical() {} };
