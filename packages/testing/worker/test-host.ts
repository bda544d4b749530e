// A host of objects in Node on files in memory, for tests: flushes can be held or made to fail, time stands
// still, and commits and flushes can be counted.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { DurableObjectState as PublicState } from '../../../src/shared/contract/object.ts';
import { idOfStorage, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { FileDirectory, SyncFile } from '../../../worker/engine/file/file.ts';
import { MemoryMedium, type ObjectMedium } from '../../../worker/engine/file/medium.ts';
import { ObjectFiles } from '../../../worker/engine/log/object-files.ts';
import { completeLimits, type Limits } from '../../../worker/engine/sql/query-limits.ts';
import { openLogDatabase } from '../../../worker/engine/storage/databases.ts';
import type { StorageOptions } from '../../../worker/engine/storage/storage-environment.ts';
import { MemoryCatalog, type ObjectCatalog } from '../../../worker/objects/catalog/catalog.ts';
import { type MakeBindings, ObjectHost } from '../../../worker/objects/host/object-host.ts';
import type { HostEnvironment } from '../../../worker/objects/instance/environment.ts';
import { ClassRegistry, type ClassTable } from '../../../worker/objects/instance/object-class.ts';
import { loadSqliteInNode } from './sqlite.ts';

const START_MS = Date.UTC(2030, 0, 1);
const SETTLE_TURNS = 20;

/** Time that stands still until it is moved. */
class Clock {
  nowMs = START_MS;
  /** How far the wall clock was set forward. */
  aheadMs = 0;
  readonly #timers = new Set<{ readonly dueMs: number; readonly task: () => void }>();

  after(delayMs: number, task: () => void): () => void {
    // A task that was due earlier is due now: time never goes back.
    const timer = { dueMs: this.nowMs + Math.max(0, delayMs), task };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** The first timer due by then. */
  next(byMs: number): { readonly dueMs: number; run(): void } | undefined {
    const [first] = [...this.#timers].sort((a, b) => a.dueMs - b.dueMs);
    if (first === undefined || first.dueMs > byMs) return undefined;
    return {
      dueMs: first.dueMs,
      run: () => {
        this.#timers.delete(first);
        first.task();
      },
    };
  }
}

export class TestHost {
  readonly host: ObjectHost;
  readonly #opened: ObjectFiles[];
  readonly #faults: Faults;
  readonly #clock: Clock;
  readonly #className: string | null;

  constructor(
    host: ObjectHost,
    opened: ObjectFiles[],
    faults: Faults,
    clock: Clock,
    className: string | null,
  ) {
    this.host = host;
    this.#className = className;
    this.#opened = opened;
    this.#faults = faults;
    this.#clock = clock;
  }

  /** Delivers an event to the one object of most tests. */
  run<T>(event: (state: PublicState) => T | PromiseLike<T>, name = 'object'): Promise<T> {
    const address = this.address(name);
    return this.host.deliver(address, ({ state }) => event(state as unknown as PublicState));
  }

  /** The address of the object of this name, of a class if one is given. */
  address(name = 'object', className: string | null = this.#className): ObjectAddress {
    const id =
      className === null ? idOfStorage(name) : this.host.classes.get(className).ids.fromName(name);
    return { className, id };
  }

  now(): number {
    return this.#clock.nowMs;
  }

  /** Sets the wall clock forward, or back; what waits for a date keeps the time at which it was to run. */
  setWallClock(byMs: number): void {
    this.#clock.aheadMs += byMs;
  }

  /** Moves the clock, runs due tasks, and lets the objects settle. */
  async advance(durationMs: number): Promise<void> {
    await this.turns(SETTLE_TURNS);
    const endMs = this.#clock.nowMs + durationMs;
    for (let next = this.#clock.next(endMs); next !== undefined; next = this.#clock.next(endMs)) {
      this.#clock.nowMs = next.dueMs;
      next.run();
      await this.turns(SETTLE_TURNS);
    }
    this.#clock.nowMs = endMs;
  }

  /** Sequence of the last commit. */
  committed(): number {
    return this.#opened.at(-1)?.committedSequence ?? 0;
  }

  /** Sequence of the last durable commit. */
  durable(): number {
    return this.#opened.at(-1)?.durableSequence ?? 0;
  }

  /** True while the restore of the object that was opened last is in its log alone. */
  owesRestore(): boolean {
    return this.#opened.at(-1)?.owesRestore ?? false;
  }

  /** From now on, flushes do not end before `releaseFlushes`. */
  holdFlushes(): void {
    this.#faults.hold();
  }

  releaseFlushes(): void {
    this.#faults.release();
  }

  /** Lets the held flushes fail, and holds no more. */
  failHeldFlushes(): void {
    this.#faults.release(storageError('IO', 'flush: failed by the test.'));
  }

  /** How many flushes of files have begun. */
  flushes(): number {
    return this.#faults.flushes;
  }

  failNextFlush(): void {
    this.#faults.failNext = true;
  }

  /** Lets the event loop turn, and lets work on other threads end (ids are digests). */
  async turns(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await crypto.subtle.digest('SHA-256', new Uint8Array());
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  close(): Promise<void> {
    this.releaseFlushes();
    return this.host.close();
  }
}

/** The state that outlives a host: files and catalog. */
export interface World {
  readonly medium: ObjectMedium;
  readonly catalog: ObjectCatalog;
}

/** A host without objects yet; `run` and `address` use the first class, if there are classes. */
export async function createTestHost(
  options: StorageOptions = {},
  classes: ClassTable = {},
  makeBindings?: MakeBindings,
  world: World = { medium: new MemoryMedium(), catalog: new MemoryCatalog() },
  limits: Limits = completeLimits(),
  more: Pick<HostEnvironment, 'isRevoked' | 'makeKept'> = {},
): Promise<TestHost> {
  const sqlite = await loadSqliteInNode();
  const opened: ObjectFiles[] = [];
  const faults = new Faults();
  const clock = new Clock();
  let random = 1;
  const environment: HostEnvironment = {
    now: () => clock.nowMs + clock.aheadMs,
    elapsed: () => clock.nowMs,
    randomUint32: () => (random = (random * 1_664_525 + 1_013_904_223) >>> 0),
    nextTurn: (task) => void setImmediate(task),
    at: (timeMs, task) => clock.after(timeMs - clock.nowMs - clock.aheadMs, task),
    after: (delayMs, task) => clock.after(delayMs, task),
    afterRealTime: (delayMs, task) => clock.after(delayMs, task),
    storageOptions: options,
    limits,
    ...more,
    medium: faults.medium(world.medium),
    catalog: world.catalog,
    openDatabase(files, events, given) {
      if (files instanceof ObjectFiles) opened.push(files);
      return openLogDatabase(sqlite, files, events, { ...(limits ?? completeLimits()), ...given });
    },
  };
  const host = new ObjectHost(environment, new ClassRegistry(classes), makeBindings);
  await host.start();
  return new TestHost(host, opened, faults, clock, Object.keys(classes)[0] ?? null);
}

/** Files whose flush can be held or made to fail. */
class Faults {
  failNext = false;
  flushes = 0;
  #held: { promise: Promise<void>; release: (error?: Error) => void } | undefined;

  hold(): void {
    let release: (error?: Error) => void = () => {};
    const promise = new Promise<void>((resolve, reject) => {
      release = (error) => (error === undefined ? resolve() : reject(error));
    });
    promise.catch(() => {}); // Perhaps no flush has come.
    this.#held ??= { promise, release };
  }

  release(error?: Error): void {
    this.#held?.release(error);
    this.#held = undefined;
  }

  medium(medium: ObjectMedium): ObjectMedium {
    return {
      directory: async (key) => this.#wrap(await medium.directory(key)),
      remove: (key) => medium.remove(key),
      keys: () => medium.keys(),
      sizes: (key) => medium.sizes(key),
    };
  }

  #wrap(directory: FileDirectory): FileDirectory {
    return {
      open: async (name) => this.#file(await directory.open(name)),
      names: () => directory.names(),
      remove: (name) => directory.remove(name),
    };
  }

  #file(file: SyncFile): SyncFile {
    return {
      read: (target, offset) => file.read(target, offset),
      write: (bytes, offset) => file.write(bytes, offset),
      truncate: (sizeBytes) => file.truncate(sizeBytes),
      sizeBytes: () => file.sizeBytes(),
      close: () => file.close(),
      flush: () => {
        this.flushes += 1;
        if (this.failNext) {
          this.failNext = false;
          throw storageError('IO', 'flush: failed by the test.');
        }
        return this.#held?.promise ?? file.flush();
      },
    };
  }
}
