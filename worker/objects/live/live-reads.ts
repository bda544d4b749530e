// The live reads of one instance: which of them are due after a flush, and their new results.
//
// If a flushed commit concerns a read, the read runs again: all reads of the storage together, as one event of the
// object, then each method as a critical section, so that everything read during the section was read by that method. A
// result is sent only if it differs from the last one, and when everything it shows is durable.
//
// Invariant: a change that is durable is either in the last result, or the read is due. A read that failed is due after
// every commit, because the keys and tables that it reads are not known. No assertion keeps this: it would have to run
// every read again, as a test does after each commit (live-joins.test.ts).
//
// Does not know who listens: pages, or the object's own code.

import { compareBytes } from '../../../src/shared/contract/key-order.ts';
import type { StorageRead } from '../../../src/shared/contract/live.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { type AccessPolicy, liveReadPolicy } from '../../engine/storage/access-policy.ts';
import { type Accesses, ReadSet, type WriteSet } from '../../engine/storage/accesses.ts';
import type { ObjectStorage } from '../../engine/storage/object-storage.ts';
import { perform } from '../../engine/storage/perform.ts';

/** A read that can run again. Its result is serialized. */
export type LiveRead =
  | { readonly kind: 'storage'; run(): Uint8Array }
  | { readonly kind: 'method'; run(): Promise<Uint8Array> };

export type LiveResult = { readonly ok: Uint8Array } | { readonly error: unknown };

export interface LiveEnvironment {
  readonly accesses: Accesses;
  /** Runs the task in a later turn. */
  readonly nextTurn: (task: () => void) => void;
  /** Delivers an event; rejects when the instance ends. */
  deliver<T>(event: () => T | PromiseLike<T>): Promise<T>;
  /** Runs the closure as a critical section of the running event, all of whose code has this policy. */
  section<T>(closure: () => Promise<T>, policy: AccessPolicy): Promise<T>;
  /** Runs a synchronous read of the storage with this policy. */
  reading<T>(policy: AccessPolicy, read: () => T): T;
  /** Settles when every write so far is durable; undefined if they all are. */
  durability(): Promise<void> | undefined;
}

interface Entry {
  readonly read: LiveRead;
  readonly receive: (result: LiveResult) => void;
  /** The keys, ranges and tables that the last run has read. */
  reads: ReadSet;
  last: LiveResult | undefined;
  isDue: boolean;
}

export class LiveReads {
  readonly #environment: LiveEnvironment;
  readonly #entries = new Set<Entry>();
  /** True while due reads run, or will run in the next turn. */
  #isRunning = false;

  constructor(environment: LiveEnvironment) {
    this.#environment = environment;
  }

  /** Number of live reads. */
  get size(): number {
    return this.#entries.size;
  }

  /** Runs the read, now and whenever a commit concerns it, until the result is called. */
  add(read: LiveRead, receive: (result: LiveResult) => void): () => void {
    const { accesses } = this.#environment;
    if (this.#entries.size === 0) accesses.watch((writes) => this.#markDueReads(writes));
    const entry = { read, receive, reads: new ReadSet(), last: undefined, isDue: true };
    this.#entries.add(entry);
    void this.#run();
    return () => {
      if (this.#entries.delete(entry) && this.#entries.size === 0) accesses.unwatch();
    };
  }

  #markDueReads(writes: WriteSet): void {
    let isAnyDue = false;
    for (const entry of this.#entries) {
      if (entry.isDue || !writes.meets(entry.reads)) continue;
      entry.isDue = true;
      isAnyDue = true;
    }
    if (isAnyDue) this.#runLater();
  }

  // Runs due reads in a later turn. The commit is answered in its own turn; the reads run after that, once for all
  // commits until then.
  #runLater(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#environment.nextTurn(() => {
      this.#isRunning = false;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      for (let due = this.#due(); due.length > 0; due = this.#due()) {
        // Methods may take long, and none of them must wait for the result of another.
        const methods = due.filter(({ read }) => read.kind === 'method');
        const others = due.filter(({ read }) => read.kind === 'storage');
        if (others.length > 0) await this.#round(others);
        for (const method of methods) await this.#round([method]);
      }
    } catch {
      // The instance has ended, and listeners are informed of the end.
    } finally {
      this.#isRunning = false;
    }
  }

  #due(): readonly Entry[] {
    return [...this.#entries].filter(({ isDue }) => isDue);
  }

  /** Runs the reads as one event, and publishes changed results. */
  async #round(due: readonly Entry[]): Promise<void> {
    const results = await this.#environment.deliver(() => this.#readAll(due));
    await this.#environment.durability();
    for (const [entry, result] of results) this.#publish(entry, result);
  }

  async #readAll(due: readonly Entry[]): Promise<(readonly [Entry, LiveResult])[]> {
    const results: (readonly [Entry, LiveResult])[] = [];
    for (const entry of due) {
      if (!this.#entries.has(entry)) continue;
      const { read } = entry;
      const reads = new ReadSet();
      const policy = liveReadPolicy(reads);
      const result =
        read.kind === 'storage'
          ? this.#readStorage(entry, reads, () =>
              this.#environment.reading(policy, () => read.run()),
            )
          : await this.#environment.section(() => this.#call(entry, reads, read), policy);
      results.push([entry, result]);
    }
    return results;
  }

  #readStorage(entry: Entry, reads: ReadSet, read: () => Uint8Array): LiveResult {
    begin(entry, reads);
    try {
      return { ok: read() };
    } catch (error) {
      return failedResult(entry, error);
    }
  }

  async #call(
    entry: Entry,
    reads: ReadSet,
    read: LiveRead & { readonly kind: 'method' },
  ): Promise<LiveResult> {
    begin(entry, reads);
    try {
      return { ok: await read.run() };
    } catch (error) {
      return failedResult(entry, error);
    }
  }

  #publish(entry: Entry, result: LiveResult): void {
    if (!this.#entries.has(entry)) return;
    if (entry.last !== undefined && areSame(entry.last, result)) return;
    entry.last = result;
    entry.receive(result);
  }
}

/** Marks the read as not due, until a commit changes something that it reads from now on. */
function begin(entry: Entry, reads: ReadSet): void {
  entry.isDue = false;
  entry.reads = reads;
}

function failedResult(entry: Entry, error: unknown): LiveResult {
  entry.reads.addEverything();
  return { error };
}

function areSame(one: LiveResult, other: LiveResult): boolean {
  if ('ok' in one) return 'ok' in other && compareBytes(one.ok, other.ok) === 0;
  return 'error' in other && String(one.error) === String(other.error);
}

/** Makes a live read of the storage, which repeats an operation and returns the result as bytes. */
export function storageRead(storage: ObjectStorage, read: StorageRead): LiveRead {
  return { kind: 'storage', run: () => serialize(resultOf(storage, read)) };
}

function resultOf(storage: ObjectStorage, read: StorageRead): unknown {
  if (read.op !== 'query') return perform(storage, read.op, read as never);
  const cursor = storage.exec(read.query, read.bindings);
  const rows = cursor.raw().toArray();
  return { columnNames: [...cursor.columnNames], rows };
}
