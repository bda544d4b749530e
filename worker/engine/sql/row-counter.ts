// Computes rowsRead and rowsWritten of one execution of a query, by workerd's rule.
//
// workerd counts inside SQLite, instruction by instruction. Here the instrumented module counts how
// often each instruction of the statement was dispatched, SQLite itself counts the advances, and this
// file sums the counters that the plan of the statement (count-plan) names.
//
// Invariant: counters of the table that belong to no existing program are zero. So the counts of a program that SQLite
// recompiles in the middle of a step start at zero, too.

import { COUNT_SLOTS } from '../vfs/count-table.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { INSTRUCTION, VDBE } from '../vfs/vdbe-layout.ts';
import { type CountPlan, countPlan, SLOT_MASK } from './count-plan.ts';
import { type Program, programsOf } from './program.ts';

const SLOTS_PER_INSTRUCTION = INSTRUCTION.sizeBytes / 4;

// The status counters that Next, Prev and SorterNext increment when they arrive at a row: plain ones,
// counters of a full scan, counters of an automatic index.
const ADVANCE_COUNTERS = [0, 1, 3];

// A SeekEnd moves, and is counted as Last is, only while its cursor has no position: for the first
// two entries of an index being built.
const SEEK_END_COUNT_MAX = 2;

/** SQLite's total of changes on the connection, before and after the statement. */
interface Changes {
  readonly before: number;
  readonly after: number;
}

const NO_CHANGES: Changes = { before: 0, after: 0 };

export class RowCounter {
  readonly #sqlite: Sqlite;
  readonly #db: Pointer;
  readonly #statement: Pointer;
  readonly #writes: boolean;
  #programs: readonly Program[] = [];
  /** The plan of the statement's programs; undefined until counts are first read. */
  #plan: CountPlan | undefined;
  #advancesBefore = 0;
  #changes = NO_CHANGES;

  constructor(sqlite: Sqlite, db: Pointer, statement: Pointer, writes: boolean) {
    this.#sqlite = sqlite;
    this.#db = db;
    this.#statement = statement;
    this.#writes = writes;
  }

  /** Resets the counts before the statement's first step. */
  begin(): void {
    if (this.#address() !== this.#programs[0]?.address) this.#locate();
    this.#clearSlots();
    this.#advancesBefore = this.#advances();
    if (this.#writes) this.#changes = { before: this.#totalChanges(), after: 0 };
  }

  /** Returns true if SQLite recompiled the statement during its first step. */
  recompiled(): boolean {
    if (this.#address() === this.#programs[0]?.address) return false;
    this.#clearSlots();
    this.#locate();
    return true;
  }

  /** Called when the statement has ended, before other statements change SQLite's total. */
  ended(): void {
    if (this.#writes) this.#changes = { before: this.#changes.before, after: this.#totalChanges() };
  }

  /** Returns the number of rows read since `begin`. */
  read(): number {
    const { i32 } = this.#sqlite.memory;
    const plan = this.#currentPlan();
    let rows = this.#advances() - this.#advancesBefore + sum(i32, plan.read);
    for (const [first, second] of plan.seekEnds) {
      rows += Math.min(SEEK_END_COUNT_MAX, i32[first]! + i32[second]!);
    }
    return rows;
  }

  /** Returns the number of rows and index entries written since `begin`. */
  written(): number {
    if (!this.#writes) return 0;
    const { i32 } = this.#sqlite.memory;
    const plan = this.#currentPlan();
    let rows = sum(i32, plan.written);
    if (sum(i32, plan.clears) > 0) {
      // Only SQLite's total contains the number of rows that a Clear removed.
      const { before, after } = this.#changes;
      rows += after - before - sum(i32, plan.changes);
    }
    return rows;
  }

  /** Clears the counters before the statement is finalized. */
  release(): void {
    this.#sqlite.counted.forget(this.#statement);
    this.#clearSlots();
    this.#programs = [];
  }

  #currentPlan(): CountPlan {
    return (this.#plan ??= countPlan(this.#sqlite, this.#programs));
  }

  #address(): Pointer {
    return this.#sqlite.memory.i32[(this.#statement + VDBE.program) >> 2]!;
  }

  #advances(): number {
    const { i32 } = this.#sqlite.memory;
    const counters = (this.#statement + VDBE.statusCounters) >> 2;
    let advances = 0;
    for (const counter of ADVANCE_COUNTERS) advances += i32[counters + counter]!;
    return advances;
  }

  #totalChanges(): number {
    return this.#sqlite.exports.sqlite3_total_changes(this.#db);
  }

  #locate(): void {
    this.#plan = undefined;
    this.#programs = programsOf(this.#sqlite, this.#statement);
  }

  #clearSlots(): void {
    const { i32 } = this.#sqlite.memory;
    const table = this.#sqlite.countTable >> 2;
    for (const { address, instructionCount } of this.#programs) {
      const first = (address >> 2) & SLOT_MASK;
      const end = first + instructionCount * SLOTS_PER_INSTRUCTION;
      i32.fill(0, table + first, table + Math.min(end, COUNT_SLOTS + SLOTS_PER_INSTRUCTION - 1));
      if (end > COUNT_SLOTS) i32.fill(0, table, table + end - COUNT_SLOTS);
    }
  }
}

function sum(words: Int32Array, indexes: readonly number[]): number {
  let total = 0;
  for (let i = 0; i < indexes.length; i++) total += words[indexes[i]!]!;
  return total;
}
