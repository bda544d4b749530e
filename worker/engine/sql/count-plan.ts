// Finds the instructions of a program that read or write rows, by workerd's rule: every seek, rewind and advance to a
// row reads a row; every row or index entry that is put into a table, unless it is temporary, writes a row.
//
// The instrumented module counts how often each instruction ran (vfs/build/instrument-wasm); a plan lists the counters
// to sum. It leaves out advances, which SQLite counts itself.

import { COUNT_SLOTS, SLOT } from '../vfs/count-table.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { INSTRUCTION, OPCODE } from '../vfs/vdbe-layout.ts';
import { endOf, type Program } from './program.ts';

export const SLOT_MASK = COUNT_SLOTS - 1;

// Bits of P5 and P2: https://sqlite.org/src/file/src/vdbe.h and sqliteInt.h of this version.
const OPEN_SEEK_EQUAL = 0x02;
const COUNTS_CHANGE = 0x01;
const WRITE_IS_NOOP = 0x40;

/** The counters to sum, as indexes of 32-bit words in memory. */
export interface CountPlan {
  readonly read: readonly number[];
  readonly written: readonly number[];
  /** The two counters of runs of each SeekEnd. */
  readonly seekEnds: readonly (readonly [number, number])[];
  /** The counters of each Clear whose removed rows count. */
  readonly clears: readonly number[];
  /** The counters of written rows that are also in SQLite's total of changes. */
  readonly changes: readonly number[];
}

/** How a cursor was opened. */
interface Opened {
  readonly at: Pointer;
  readonly isTemporary: boolean;
  /** True if its seeks are for equality, so that a seek which finds nothing jumps at once. */
  readonly seeksEqual: boolean;
}

type OpenedAt = (at: Pointer, cursor: number) => Opened;

const NEVER_OPENED: Opened = { at: 0, isTemporary: false, seeksEqual: false };

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

/** One instruction of a program, with the data that the rules need. */
class Instruction {
  readonly #sqlite: Sqlite;
  readonly #at: Pointer;
  readonly #openedAt: OpenedAt;

  constructor(sqlite: Sqlite, at: Pointer, openedAt: OpenedAt) {
    this.#sqlite = sqlite;
    this.#at = at;
    this.#openedAt = openedAt;
  }

  get p2(): number {
    return this.#word(INSTRUCTION.p2);
  }

  get p3(): number {
    return this.#word(INSTRUCTION.p3);
  }

  get p5(): number {
    return this.#sqlite.memory.u8[this.#at + INSTRUCTION.p5]!;
  }

  get p4Type(): number {
    return this.#sqlite.memory.u8[this.#at + INSTRUCTION.p4Type]!;
  }

  /** Opcode of the next instruction. */
  get nextOpcode(): number {
    return this.#sqlite.memory.u8[this.#at + INSTRUCTION.sizeBytes]!;
  }

  /** How the cursor in P1 was opened. */
  get opened(): Opened {
    return this.#openedAt(this.#at, this.#word(INSTRUCTION.p1));
  }

  /** Returns a counter of the instruction, or of the instruction `ahead` places later. */
  slot(slot: number, ahead = 0): number {
    const instruction = this.#at + ahead * INSTRUCTION.sizeBytes;
    return (this.#sqlite.countTable >> 2) + ((instruction >> 2) & SLOT_MASK) + slot;
  }

  /** The two counters whose sum is the number of its runs. */
  get runCounters(): readonly [number, number] {
    return [this.slot(SLOT.dispatched), this.slot(SLOT.skipped)];
  }

  #word(offset: number): number {
    return this.#sqlite.memory.i32[(this.#at + offset) >> 2]!;
  }
}

type Draft = { readonly [Part in keyof CountPlan]: CountPlan[Part][number][] };
type Rule = (plan: Draft, instruction: Instruction) => void;

const readsEachTime: Rule = ({ read }, { runCounters: both }) => read.push(...both);

const readsWhenMoved: Rule = ({ read }, instruction) => read.push(instruction.slot(SLOT.moved));

const seeks: Rule = (plan, instruction) => {
  const { p4Type, nextOpcode, opened } = instruction;
  const isInTable = p4Type === 0; // by row number
  const isChecked = nextOpcode === OPCODE.IdxGT || nextOpcode === OPCODE.IdxLT;
  if (isInTable) readsWhenMoved(plan, instruction);
  // A seek that finds the entry skips the check that follows it; one that finds nothing is not counted.
  else if (opened.seeksEqual && isChecked) plan.read.push(instruction.slot(SLOT.skipped, 2));
  else readsEachTime(plan, instruction);
};

const counts: Rule = ({ read }, instruction) => {
  // If P3 is set, SQLite only estimates the count and reads nothing.
  if (instruction.p3 === 0) read.push(instruction.slot(SLOT.rows));
};

const seeksEnd: Rule = ({ seekEnds }, { runCounters: both }) => seekEnds.push(both);

const writes: Rule = ({ written, changes }, { runCounters: both, p5, opened }) => {
  if (opened.isTemporary) return;
  written.push(...both);
  if (p5 & COUNTS_CHANGE) changes.push(...both);
};

const inserts: Rule = (plan, instruction) => {
  if (!(instruction.p5 & WRITE_IS_NOOP)) writes(plan, instruction);
};

const writesAndChanges: Rule = ({ written, changes }, { runCounters: both }) => {
  written.push(...both);
  changes.push(...both);
};

const deletes: Rule = (plan, instruction) => {
  const { p2, p5, opened } = instruction;
  const isCounted = (p2 & COUNTS_CHANGE) !== 0 && (p5 & WRITE_IS_NOOP) === 0;
  if (isCounted && !opened.isTemporary) writesAndChanges(plan, instruction);
};

const clears: Rule = (plan, { p3, runCounters: both }) => {
  if (p3 !== 0) plan.clears.push(...both);
};

const RULES: ReadonlyMap<number, Rule> = new Map<number, Rule>([
  [OPCODE.SeekRowid, readsWhenMoved],
  [OPCODE.NotExists, readsWhenMoved],
  [OPCODE.SeekGE, seeks],
  [OPCODE.SeekGT, seeks],
  [OPCODE.SeekLE, seeks],
  [OPCODE.SeekLT, seeks],
  [OPCODE.Count, counts],
  [OPCODE.Rewind, readsEachTime],
  [OPCODE.Last, readsEachTime],
  [OPCODE.Sort, readsEachTime],
  [OPCODE.SorterSort, readsEachTime],
  [OPCODE.VNext, readsEachTime],
  [OPCODE.SeekEnd, seeksEnd],
  [OPCODE.Insert, inserts],
  [OPCODE.IdxInsert, writes],
  [OPCODE.Delete, deletes],
  [OPCODE.VUpdate, writesAndChanges],
  [OPCODE.Clear, clears],
]);

/** Makes the plan of a statement with these programs. */
export function countPlan(sqlite: Sqlite, programs: readonly Program[]): CountPlan {
  const plan: Draft = { read: [], written: [], seekEnds: [], clears: [], changes: [] };
  const { u8 } = sqlite.memory;
  for (const program of programs) {
    const openedAt = openedIn(sqlite, program);
    for (let at = program.address; at < endOf(program); at += INSTRUCTION.sizeBytes) {
      RULES.get(u8[at]!)?.(plan, new Instruction(sqlite, at, openedAt));
    }
  }
  return plan;
}

/**
 * Tells how the cursor of an instruction was opened: a number can stand for several cursors, one after
 * the other. Cursors opened at the end of a program open at its start.
 */
function openedIn({ memory: { i32, u8 } }: Sqlite, program: Program): OpenedAt {
  const opens = new Map<number, Opened[]>();
  for (let at = program.address; at < endOf(program); at += INSTRUCTION.sizeBytes) {
    const opcode = u8[at]!;
    const isTemporary = OPENS_TEMPORARY.has(opcode);
    if (!isTemporary && !OPENS_STORED.has(opcode)) continue;
    const cursor = i32[(at + INSTRUCTION.p1) >> 2]!;
    const seeksEqual = !isTemporary && (u8[at + INSTRUCTION.p5]! & OPEN_SEEK_EQUAL) !== 0;
    const known = opens.get(cursor);
    if (known === undefined) opens.set(cursor, [{ at, isTemporary, seeksEqual }]);
    else known.push({ at, isTemporary, seeksEqual });
  }
  return (at, cursor) => {
    const known = opens.get(cursor) ?? [];
    return known.findLast((open) => open.at < at) ?? known[0] ?? NEVER_OPENED;
  };
}
