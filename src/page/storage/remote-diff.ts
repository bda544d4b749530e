// Implements `diff` on a page: iterates over the changes between two states of an object or of its branches.
//
// The worker compares the states and returns the changes in batches. If the worker is lost, or has closed the comparison to
// save memory, the states are compared again by their bookmarks. The iteration continues after the changes already given,
// because the order is always the same.

import type {
  ChangeCounts,
  StorageChange,
  StorageDiff,
  WireChange,
} from '../../shared/contract/changes.ts';
import { isStorageError } from '../../shared/contract/errors.ts';
import type { StateName } from '../../shared/contract/state-name.ts';
import { decodeValue } from '../../shared/values/value.ts';
import type { Call, Results } from '../../shared/wire/operations.ts';
import { Repeats } from './repeats.ts';
import type { SessionCalls } from './session.ts';

export interface DiffedStates {
  /** The first state; null for the beginning of the branch. */
  readonly from: StateName;
  /** The second state; null for now. */
  readonly to: StateName;
}

export class RemoteDiff implements StorageDiff {
  readonly #calls: SessionCalls;
  readonly #states: DiffedStates;

  constructor(calls: SessionCalls, states: DiffedStates) {
    this.#calls = calls;
    this.#states = states;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StorageChange> {
    const walk = new Walk(this.#calls, this.#states);
    try {
      for (;;) {
        const { changes, isLast } = await walk.call((diff) => ({ op: 'nextChanges', diff }));
        for (const change of changes) {
          walk.given++;
          yield decodedChange(change);
        }
        if (isLast) return;
      }
    } finally {
      await walk.close();
    }
  }

  async count(): Promise<ChangeCounts> {
    const walk = new Walk(this.#calls, this.#states);
    try {
      return await walk.call((diff) => ({ op: 'countChanges', diff }));
    } finally {
      await walk.close();
    }
  }
}

class Walk {
  /** The number of changes that were returned so far. */
  given = 0;
  readonly #calls: SessionCalls;
  #states: DiffedStates;
  #open: { readonly diff: number; readonly generation: number } | null = null;

  constructor(calls: SessionCalls, states: DiffedStates) {
    this.#calls = calls;
    this.#states = states;
  }

  async call<C extends Call>(callOf: (diff: number) => C): Promise<Results[C['op']]> {
    for (const repeats = new Repeats(this.#calls.session.now); ; ) {
      try {
        return await this.#calls.call(callOf(await this.#openedNumber()), null);
      } catch (error) {
        if (!isLost(error, this.#calls) || repeats.areOver(error)) throw error;
        this.#open = null;
      }
    }
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    if (open === null || open.generation !== this.#calls.session.generation) return;
    // This fails only if the handle or its worker has ended, which has closed the comparison.
    await this.#calls.call({ op: 'closeDiff', diff: open.diff }, null, null).catch(() => {});
  }

  async #openedNumber(): Promise<number> {
    const { generation } = this.#calls.session;
    if (this.#open?.generation === generation) return this.#open.diff;
    // This call is not cancelled, because the number of the opened comparison would be lost.
    const call = { op: 'openDiff', ...this.#states, skip: this.given } as const;
    const { diff, from, to } = await this.#calls.call(call, null, null);
    this.#states = { from, to };
    this.#open = { diff, generation };
    return diff;
  }
}

export function decodedChange(change: WireChange): StorageChange {
  if (change.kind !== 'key') return change;
  const value = (bytes: Uint8Array | null) => (bytes === null ? undefined : decodeValue(bytes));
  return { ...change, before: value(change.before), after: value(change.after) };
}

/** Returns true if the worker has lost the comparison, but the session still exists. */
function isLost(error: unknown, calls: SessionCalls): boolean {
  if (calls.end !== undefined || !isStorageError(error)) return false;
  return ['MOMENT_CLOSED', 'OBJECT_RESET', 'CONNECTION_CLOSED'].includes(error.code);
}
