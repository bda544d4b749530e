// rowsRead and rowsWritten of one execution of a query, by workerd's rule.
//
// workerd counts inside SQLite, instruction by instruction: a row read for every seek, rewind and
// advance to a row, a row written for every row and index entry put into a table that is not
// temporary. Here the instrumented module counts how often each instruction of the statement was
// dispatched (vfs/build/instrument-wasm), SQLite itself counts the advances, and this file sums the
// instructions that matter.
//
// Keeps true: slots of the count table that no living program of a query occupies are zero. So the
// counts of a program that SQLite compiled anew in the middle of a step are right too.

import { COUNT_SLOTS, SLOT } from '../vfs/count-table.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { INSTRUCTION, OPCODE, SUB_PROGRAM, VDBE } from '../vfs/vdbe-layout.ts';

const SLOTS_PER_INSTRUCTION = INSTRUCTION.sizeBytes / 4;
const SLOT_MASK = COUNT_SLOTS - 1;

// The status counters that Next, Prev and SorterNext increment when they arrive at a row: plain
// ones, those of a full scan, those that build an automatic index.
const ADVANCE_COUNTERS = [0, 1, 3];

// Bits of P5 and P2: https://sqlite.org/src/file/src/vdbe.h and sqliteInt.h of this version.
const OPEN_SEEK_EQUAL = 0x02;
const DELETE_COUNTS_CHANGE = 0x01;
const WRITE_IS_NOOP = 0x40;

// A SeekEnd moves, and is counted as Last is, only while its cursor has no position: for the first
// two entries of an index being built.
const SEEK_END_COUNT_MAX = 2;

/** The instructions of one program, in SQLite's memory. */
interface Program {
  readonly address: Pointer;
  readonly instructionCount: number;
}

/** How a cursor was opened, and by which instruction. */
interface Opened {
  readonly at: Pointer;
  readonly temporary: boolean;
  /** Its seeks are for equality: they say at once when there is no such entry. */
  readonly seeksEqual: boolean;
}

const NEVER_OPENED: Opened = { at: 0, temporary: false, seeksEqual: false };

const OPENS_TEMPORARY: ReadonlySet<number> = new Set([
  OPCODE.OpenEphemeral,
  OPCODE.OpenAutoindex,
  OPCODE.OpenDup,
  OPCODE.SorterOpen,
]);

const OPENS_STORED: ReadonlySet<number> = new Set([
  OPCODE.OpenRead,
  OPCODE.OpenWrite,
  OPCODE.ReopenIdx,
]);

/** Which slots of the count table are summed; the indexes are those of 32-bit words of memory. */
interface Plan {
  readonly read: readonly number[];
  readonly written: readonly number[];
  /** Both slots of each SeekEnd. */
  readonly seekEnds: readonly (readonly [number, number])[];
  /** Both slots of each Clear that counts its rows. */
  readonly clears: readonly number[];
  /** What has already been counted one by one, of the changes that SQLite counts in total. */
  readonly changes: readonly number[];
}

export class RowCounter {
  readonly #sqlite: Sqlite;
  readonly #db: Pointer;
  readonly #statement: Pointer;
  readonly #writes: boolean;
  #programs: readonly Program[] = [];
  #plan: Plan | undefined;
  #advancesBefore = 0;
  #changesBefore = 0;
  // SQLite's own count of changes, taken when the plan needs it and other statements may follow.
  #changesAfter = 0;

  constructor(sqlite: Sqlite, db: Pointer, statement: Pointer, writes: boolean) {
    this.#sqlite = sqlite;
    this.#db = db;
    this.#statement = statement;
    this.#writes = writes;
  }

  /** Counting starts anew: the statement is about to make its first step. */
  begin(): void {
    if (this.#address() !== this.#programs[0]?.address) this.#locate();
    this.#clearSlots();
    this.#advancesBefore = this.#advances();
    if (this.#writes) {
      this.#changesBefore = this.#sqlite.exports.sqlite3_total_changes(this.#db);
    }
  }

  /**
   * Looks whether SQLite compiled the statement anew during its first step; true when it did.
   */
  recompiled(): boolean {
    if (this.#address() === this.#programs[0]?.address) return false;
    this.#clearSlots();
    this.#locate();
    return true;
  }

  /** The statement ended; other statements may now change the totals it is compared with. */
  ended(): void {
    if (this.#writes) this.#changesAfter = this.#sqlite.exports.sqlite3_total_changes(this.#db);
  }

  /** Rows read since `begin`. */
  read(): number {
    const { i32 } = this.#sqlite.memory;
    const plan = (this.#plan ??= this.#makePlan());
    let rows = this.#advances() - this.#advancesBefore + sum(i32, plan.read);
    for (const [first, second] of plan.seekEnds) {
      rows += Math.min(SEEK_END_COUNT_MAX, i32[first]! + i32[second]!);
    }
    return rows;
  }

  /** Rows and index entries written since `begin`. */
  written(): number {
    if (!this.#writes) return 0;
    const { i32 } = this.#sqlite.memory;
    const plan = (this.#plan ??= this.#makePlan());
    let rows = sum(i32, plan.written);
    if (sum(i32, plan.clears) > 0) {
      rows += this.#changesAfter - this.#changesBefore - sum(i32, plan.changes);
    }
    return rows;
  }

  /** The statement is about to be finalized. */
  release(): void {
    this.#clearSlots();
    this.#programs = [];
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

  /** Finds the statement's program and the programs of triggers and foreign keys it calls. */
  #locate(): void {
    const { i32, u8 } = this.#sqlite.memory;
    this.#plan = undefined;
    const count = i32[(this.#statement + VDBE.instructionCount) >> 2]!;
    const programs: Program[] = [{ address: this.#address(), instructionCount: count }];
    for (let next = 0; next < programs.length; next++) {
      const { address, instructionCount } = programs[next]!;
      const end = address + instructionCount * INSTRUCTION.sizeBytes;
      for (let at = address; at < end; at += INSTRUCTION.sizeBytes) {
        if (u8[at] !== OPCODE.Program) continue;
        const sub = i32[(at + INSTRUCTION.p4) >> 2]! >> 2;
        const found = {
          address: i32[sub + SUB_PROGRAM.program / 4]!,
          instructionCount: i32[sub + SUB_PROGRAM.instructionCount / 4]!,
        };
        if (programs.every((known) => known.address !== found.address)) programs.push(found);
      }
    }
    this.#programs = programs;
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

  #makePlan(): Plan {
    const read: number[] = [];
    const written: number[] = [];
    const seekEnds: (readonly [number, number])[] = [];
    const clears: number[] = [];
    const changes: number[] = [];
    const { i32, u8 } = this.#sqlite.memory;
    const table = this.#sqlite.countTable >> 2;

    for (const program of this.#programs) {
      const opened = this.#opened(program);
      const end = program.address + program.instructionCount * INSTRUCTION.sizeBytes;
      for (let at = program.address; at < end; at += INSTRUCTION.sizeBytes) {
        const slotOf = (instruction: Pointer, slot: number) =>
          table + ((instruction >> 2) & SLOT_MASK) + slot;
        const both = [slotOf(at, SLOT.dispatched), slotOf(at, SLOT.skipped)] as const;
        const p1 = i32[(at + INSTRUCTION.p1) >> 2]!;
        const p2 = i32[(at + INSTRUCTION.p2) >> 2]!;
        const p3 = i32[(at + INSTRUCTION.p3) >> 2]!;
        const p5 = u8[at + INSTRUCTION.p5]!;
        switch (u8[at]) {
          case OPCODE.SeekRowid:
          case OPCODE.NotExists:
            read.push(slotOf(at, SLOT.moved));
            break;
          case OPCODE.SeekGE:
          case OPCODE.SeekGT:
          case OPCODE.SeekLE:
          case OPCODE.SeekLT: {
            const next = u8[at + INSTRUCTION.sizeBytes];
            if (u8[at + INSTRUCTION.p4Type] === 0) {
              // In a table, by row number.
              read.push(slotOf(at, SLOT.moved));
            } else if (
              opened(at, p1).seeksEqual &&
              (next === OPCODE.IdxGT || next === OPCODE.IdxLT)
            ) {
              // Found: it goes on behind the check that follows. Not found is not counted.
              read.push(slotOf(at + 2 * INSTRUCTION.sizeBytes, SLOT.skipped));
            } else {
              read.push(...both);
            }
            break;
          }
          case OPCODE.Count:
            // P3 asks for an estimate only, which reads nothing.
            if (p3 === 0) read.push(slotOf(at, SLOT.rows));
            break;
          case OPCODE.Rewind:
          case OPCODE.Last:
          case OPCODE.Sort:
          case OPCODE.SorterSort:
          case OPCODE.VNext:
            read.push(...both);
            break;
          case OPCODE.SeekEnd:
            seekEnds.push(both);
            break;
          case OPCODE.Insert:
            if (p5 & WRITE_IS_NOOP || opened(at, p1).temporary) break;
            written.push(...both);
            if (p5 & DELETE_COUNTS_CHANGE) changes.push(...both);
            break;
          case OPCODE.IdxInsert:
            if (opened(at, p1).temporary) break;
            written.push(...both);
            if (p5 & DELETE_COUNTS_CHANGE) changes.push(...both);
            break;
          case OPCODE.Delete:
            if (!(p2 & DELETE_COUNTS_CHANGE) || opened(at, p1).temporary || p5 & WRITE_IS_NOOP)
              break;
            written.push(...both);
            changes.push(...both);
            break;
          case OPCODE.VUpdate:
            written.push(...both);
            changes.push(...both);
            break;
          case OPCODE.Clear:
            if (p3 !== 0) clears.push(...both);
            break;
        }
      }
    }
    return { read, written, seekEnds, clears, changes };
  }

  /**
   * Says how the cursor of an instruction was opened: a number can stand for several cursors, one
   * after the other. What is opened at the end of a program runs at its start.
   */
  #opened({ address, instructionCount }: Program): (at: Pointer, cursor: number) => Opened {
    const { i32, u8 } = this.#sqlite.memory;
    const opens = new Map<number, Opened[]>();
    const end = address + instructionCount * INSTRUCTION.sizeBytes;
    for (let at = address; at < end; at += INSTRUCTION.sizeBytes) {
      const opcode = u8[at]!;
      if (!OPENS_TEMPORARY.has(opcode) && !OPENS_STORED.has(opcode)) continue;
      const cursor = i32[(at + INSTRUCTION.p1) >> 2]!;
      const temporary = OPENS_TEMPORARY.has(opcode);
      const seeksEqual = !temporary && (u8[at + INSTRUCTION.p5]! & OPEN_SEEK_EQUAL) !== 0;
      const known = opens.get(cursor);
      if (known === undefined) opens.set(cursor, [{ at, temporary, seeksEqual }]);
      else known.push({ at, temporary, seeksEqual });
    }
    return (at, cursor) => {
      const known = opens.get(cursor) ?? [];
      return known.findLast((open) => open.at < at) ?? known[0] ?? NEVER_OPENED;
    };
  }
}

function sum(words: Int32Array, indexes: readonly number[]): number {
  let total = 0;
  for (let i = 0; i < indexes.length; i++) total += words[indexes[i]!]!;
  return total;
}
