// The work of a simulated object: changes drawn from a seed, made both in the object and in its expected contents.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { Random } from '../simulate/world/random.ts';
import type { RefusingAllocator } from '../worker/refusing-allocator.ts';
import {
  bytesOf,
  type Contents,
  CREATE_ROWS,
  difference,
  LARGE,
  MARK,
  TYPED,
  UPSERT_ROW,
  WORDS_MAX,
} from './contents.ts';
import { SimulationFailure } from './history.ts';
import type { SimulatedObject } from './simulated-object.ts';

const KEYS = 40;
const ROWS = 60;

const UNCONFIRMED = { confirmed: false };

/** Thrown to undo a transaction. */
export class Undo extends Error {}

/** The contents that the next commit should have, while its changes are being made. */
export class Draft {
  keys: Map<string, number>;
  rows: Map<number, number> | null;
  second: Map<number, number> | null;
  alarm: number | null;

  constructor({ keys, rows, second, alarm }: Contents) {
    this.keys = new Map(keys);
    this.rows = rows && new Map(rows);
    this.second = second && new Map(second);
    this.alarm = alarm;
  }

  /** Replaces these contents by those of another draft. */
  replaceBy({ keys, rows, second, alarm }: Draft): void {
    this.keys = keys;
    this.rows = rows;
    this.second = second;
    this.alarm = alarm;
  }
}

export class Workload {
  readonly #random: Random;
  readonly #nowMs: () => number;
  readonly #allocator: RefusingAllocator;

  constructor(random: Random, nowMs: () => number, allocator: RefusingAllocator) {
    this.#random = random;
    this.#nowMs = nowMs;
    this.#allocator = allocator;
  }

  /** Makes changes that lead to a unique state. */
  changes({ storage }: SimulatedObject, draft: Draft, count: number): void {
    for (let i = 0; i < count; i++) this.change(storage, draft);
    this.mark(storage, draft);
  }

  /** Makes changes with `allowUnconfirmed`: no reply waits for them, so their flush may be delayed. */
  unconfirmed({ storage }: SimulatedObject, draft: Draft, count: number): void {
    const entries = Array.from({ length: count }, () => [this.#key(), this.#value()] as const);
    entries.push([MARK, this.#value()]);
    for (const [key, value] of entries) {
      storage.put([[key, bytesOf(value)]], UNCONFIRMED);
      draft.keys.set(key, value);
    }
    const key = this.#key();
    storage.delete([key], UNCONFIRMED);
    draft.keys.delete(key);
  }

  mark(storage: SimulatedObject['storage'], draft: Draft): void {
    this.#put(storage, draft, MARK, this.#value());
  }

  /** Writes `count` keys with large values. */
  large({ storage }: SimulatedObject, draft: Draft, count: number): void {
    for (let i = 0; i < count; i++) {
      const value = LARGE + this.#random.below(LARGE);
      this.#put(storage, draft, `k${this.#random.below(12)}`, value);
    }
    this.mark(storage, draft);
  }

  /** Types a word into a text, or begins one. */
  type({ storage }: SimulatedObject, draft: Draft): void {
    const key = `text${this.#random.below(3)}`;
    const last = draft.keys.get(key) ?? 0;
    const isText = last >= TYPED && (last & WORDS_MAX) < WORDS_MAX && !this.#random.onceIn(40);
    const value = isText ? last + 1 : TYPED + this.#random.below(1 << 20) * (WORDS_MAX + 1);
    this.#put(storage, draft, key, value);
    this.mark(storage, draft);
  }

  /** Writes rows that fill many pages. */
  bulk({ storage }: SimulatedObject, draft: Draft, count: number): void {
    const rows = this.#rows(storage, draft);
    for (let i = 0; i < count; i++) {
      this.#upsert(storage, rows, 100 + this.#random.below(300), 0x2000_0000 + this.#value());
    }
    this.mark(storage, draft);
  }

  /** Removes the rows, the table, or all keys, which frees pages. */
  clear({ storage }: SimulatedObject, draft: Draft): void {
    if (this.#random.onceIn(3) && draft.rows !== null) {
      storage.exec('DROP TABLE t', []);
      draft.rows = null;
    } else if (draft.rows !== null) {
      storage.exec('DELETE FROM t', []);
      draft.rows.clear();
    }
    if (this.#random.onceIn(3)) {
      storage.delete([...draft.keys.keys()]);
      draft.keys.clear();
    }
    this.mark(storage, draft);
  }

  /** Runs a transaction with nested ones; some of them, or all, are undone. */
  async transaction(object: SimulatedObject, draft: Draft, depth = 0): Promise<void> {
    const inner = new Draft(draft);
    const isUndone = this.#random.onceIn(3);
    const counts = [1, 3, 8, 30];
    const change = () => this.changes(object, inner, this.#random.pick(counts));
    try {
      await object.storage.transaction(async (frame) => {
        if (this.#random.onceIn(5)) this.bulk(object, inner, 40);
        else change();
        if (depth < 2 && this.#random.onceIn(3)) await this.transaction(object, inner, depth + 1);
        if (this.#random.onceIn(3)) change();
        if (!isUndone) {
          // The draft is updated inside the transaction, because a commit that a power failure interrupts may still
          // have been made.
          draft.replaceBy(inner);
          return;
        }
        if (this.#random.onceIn(2)) throw new Undo();
        object.storage.rollback(frame);
      });
    } catch (error) {
      if (!(error instanceof Undo)) throw error;
    }
  }

  /**
   * Makes changes while SQLite is refused memory. A failed change must have no effect, and later changes must work as
   * usual.
   */
  async noMemory(object: SimulatedObject, draft: Draft): Promise<void> {
    const random = this.#random;
    const count = random.pick([1, 3, Number.POSITIVE_INFINITY]);
    this.#allocator.refuse(random.below(random.pick([10, 60, 300])), count);
    try {
      const kind = random.below(3);
      if (kind === 0) await this.transaction(object, draft);
      else {
        if (kind === 1) this.#putMany(object.storage, draft, 60);
        this.changes(object, draft, random.pick([1, 4, 20]));
      }
    } catch (error) {
      if (!isStorageError(error) || error.code !== 'SQL_MEMORY') throw error;
      this.#allocator.refuse();
      if (!object.isBroken) this.mark(object.storage, draft); // Mark the rest of the turn.
    } finally {
      this.#allocator.refuse();
    }
    if (object.isBroken) return;
    const wrong = difference(object, draft);
    if (wrong !== null) throw new SimulationFailure(`after a lack of memory, ${wrong}`);
  }

  /** Makes one random change. */
  change(storage: SimulatedObject['storage'], draft: Draft): void {
    const random = this.#random;
    const kind = random.below(20);
    if (kind < 7) this.#put(storage, draft, this.#key(), this.#value());
    else if (kind < 9) {
      const keys = [this.#key(), this.#key()];
      storage.delete(keys);
      for (const key of keys) draft.keys.delete(key);
    } else if (kind < 10) this.#putMany(storage, draft, 12);
    else if (kind < 15) this.upsert(storage, draft);
    else if (kind < 17) this.#deleteRows(storage, draft);
    else if (kind < 18) this.setAlarm(storage, draft);
    else this.#changeInTransaction(storage, draft, kind === 18);
  }

  /** Inserts or updates a row. */
  upsert(storage: SimulatedObject['storage'], draft: Draft): void {
    const rows = this.#rows(storage, draft);
    this.#upsert(storage, rows, this.#random.below(ROWS), this.#value());
  }

  setAlarm(storage: SimulatedObject['storage'], draft: Draft): void {
    const random = this.#random;
    const alarm = random.onceIn(3) ? null : this.#nowMs() + 1e12 + random.below(1e9);
    storage.setAlarm(alarm);
    draft.alarm = alarm;
  }

  /** Makes changes in a synchronous transaction, which may be undone. */
  #changeInTransaction(storage: SimulatedObject['storage'], draft: Draft, isUndone: boolean): void {
    const inner = new Draft(draft);
    try {
      storage.transactionSync(() => {
        for (let i = 0; i < 3; i++) this.change(storage, inner);
        if (isUndone) throw new Undo();
      });
      draft.replaceBy(inner);
    } catch (error) {
      if (!(error instanceof Undo)) throw error;
    }
  }

  #putMany(storage: SimulatedObject['storage'], draft: Draft, count: number): void {
    const entries = Array.from({ length: count }, () => [this.#key(), this.#value()] as const);
    storage.put(entries.map(([key, value]) => [key, bytesOf(value)]));
    for (const [key, value] of entries) draft.keys.set(key, value);
  }

  #put(storage: SimulatedObject['storage'], draft: Draft, key: string, value: number): void {
    storage.put([[key, bytesOf(value)]]);
    draft.keys.set(key, value);
  }

  #rows(storage: SimulatedObject['storage'], draft: Draft): Map<number, number> {
    if (draft.rows === null) {
      storage.transactionSync(() => storage.exec(CREATE_ROWS, []));
      draft.rows = new Map();
    }
    return draft.rows;
  }

  #upsert(
    storage: SimulatedObject['storage'],
    rows: Map<number, number>,
    id: number,
    value: number,
  ): void {
    storage.exec(UPSERT_ROW, [id, value, bytesOf(value)]);
    rows.set(id, value);
  }

  #deleteRows(storage: SimulatedObject['storage'], { rows }: Draft): void {
    if (rows === null) return;
    const first = this.#random.below(ROWS);
    storage.exec('DELETE FROM t WHERE id >= ? AND id < ?', [first, first + 10]);
    for (let id = first; id < first + 10; id++) rows.delete(id);
  }

  #key(): string {
    return `k${this.#random.below(KEYS)}`;
  }

  #value(): number {
    return this.#random.below(0x1000_0000);
  }
}
