// What keeps one call of SQLite from holding the worker: a deadline and a bound on memory.
//
// SQLite asks its progress handler every few thousand instructions, while it compiles too. Past the
// deadline a read is interrupted, which undoes nothing. A write that is interrupted would lose the
// whole transaction (https://sqlite.org/c3ref/interrupt.html), so the rest of its program is replaced
// by `Halt` instead, the instruction of a failed constraint: it ends that statement alone, and its
// caller, who has set a savepoint, undoes what it wrote.
//
// Memory belongs to the connection whose calls take it and give it back, also by calls that are not
// bounded: a value that a step reads is let go of by the reset. So whoever enters SQLite says whose call
// it is, and all that the heap grows or shrinks by, until another connection enters, is of that one. A
// single step of a function (`replace`, `instr`) cannot be stopped in its middle.
//
// Keeps true: outside of calls SQLite's heap has no limit, so nothing else can fail by this one.

import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { HEAP, INSTRUCTION, OPCODE } from '../vfs/vdbe-layout.ts';
import { endOf, programOf } from './program.ts';
import type { Limits } from './query-limits.ts';
import { timeError } from './sql-error.ts';

/** Often enough for instructions that take a millisecond, seldom enough to cost nothing. */
const INSTRUCTIONS_A_TICK = 4000;
/** A program that SQLite runs inside of another's instruction must notice `Halt` within this time. */
const HALT_MS_MAX = 500;
// https://sqlite.org/rescode.html, and OE_Abort of sqliteInt.h.
const ABORT = 4;
const ON_ERROR_ABORT = 2;
const CONTINUE = 0;
const INTERRUPT = 1;

/** One connection, as far as it is bounded. */
export interface Guarded {
  readonly limits: Limits;
  /** SQLite's memory that its calls took and did not give back, when another connection entered. */
  heldBytes: number;
  /** When the calls must have ended all together; undefined when each has its own time. */
  readonly endMs: number | undefined;
}

/** A program whose instructions were replaced, and what they were. */
interface Halted {
  readonly at: Pointer;
  readonly instructions: Uint8Array;
}

export class Guard {
  static readonly #ofModule = new WeakMap<Sqlite, Guard>();

  readonly #sqlite: Sqlite;
  readonly #handler: Pointer;
  /** Whose call is bounded now. */
  #guarded: Guarded | undefined;
  #endMs: number | undefined;
  /** Whose calls the heap changes by, what of it is not theirs, and where it ends for them. */
  #entered: Guarded | undefined;
  #othersBytes = 0;
  #limitBytes = 0;
  /** The statement that ends alone when it is stopped; 0 for none. */
  #haltable: Pointer = 0;
  #halted: Halted | undefined;
  #stopped = false;

  private constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite;
    this.#handler = sqlite.sqlite3.wasm.installFunction('i(p)', () => this.#tick()) as Pointer;
  }

  /** The one guard of a module: only one connection runs at a time. */
  static of(sqlite: Sqlite): Guard {
    let guard = Guard.#ofModule.get(sqlite);
    if (guard === undefined) {
      guard = new Guard(sqlite);
      Guard.#ofModule.set(sqlite, guard);
    }
    return guard;
  }

  /** Watches what a connection runs, between `begin` and `end`. */
  attach(db: Pointer): void {
    this.#sqlite.exports.sqlite3_progress_handler(db, INSTRUCTIONS_A_TICK, this.#handler, 0);
  }

  /** What SQLite's heap changes by from now on is this connection's; undefined: nobody's. */
  enter(guarded: Guarded | undefined): void {
    if (guarded === this.#entered) return;
    const usedBytes = this.#sqlite.memory.i32[HEAP.usedBytes >> 2]!;
    if (this.#entered !== undefined) this.#entered.heldBytes = usedBytes - this.#othersBytes;
    this.#entered = guarded;
    if (guarded === undefined) return;
    this.#othersBytes = usedBytes - guarded.heldBytes;
    // A limit of 0 is none; memory ends before the sum would leave 31 bits.
    this.#limitBytes = Math.min(this.#othersBytes + guarded.limits.heapBytes, 0x7fff_ffff);
  }

  /** The outermost call of a connection begins. @throws SQL_TIMEOUT when all its time is over */
  begin(guarded: Guarded): void {
    const { endMs, limits } = guarded;
    // Compiling is not asked about often enough, so many short calls are stopped between two.
    if (endMs !== undefined && limits.now() >= endMs) throw timeError(limits.queryMs);
    this.enter(guarded);
    this.#guarded = guarded;
    this.#endMs = endMs;
    this.#stopped = false;
    this.#limitHeap(this.#limitBytes);
  }

  /** It has ended. */
  end(): void {
    this.#guarded = undefined;
    this.#stopped = false;
    this.#limitHeap(0);
  }

  /** Runs the storage's own work inside of a call, which must not fail half way. */
  unbounded<T>(action: () => T): T {
    const endMs = this.#lift();
    try {
      return action();
    } finally {
      this.#bound(endMs);
    }
  }

  /** The same for a step, without a closure: every transaction begins and ends by one. */
  stepUnbounded(statement: Pointer): number {
    const endMs = this.#lift();
    try {
      return this.#sqlite.exports.sqlite3_step(statement);
    } finally {
      this.#bound(endMs);
    }
  }

  /** True when the running call was stopped because its time was over. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Steps a statement that, when it is stopped, ends alone: its transaction stays. */
  stepHaltable(statement: Pointer): number {
    this.#haltable = statement;
    try {
      return this.#sqlite.exports.sqlite3_step(statement);
    } finally {
      this.#haltable = 0;
      this.#restore();
    }
  }

  #tick(): number {
    if (this.#guarded === undefined) return CONTINUE;
    const { now, queryMs } = this.#guarded.limits;
    const nowMs = now();
    // Time is first looked at here: most calls end before.
    this.#endMs ??= nowMs + queryMs;
    if (nowMs < this.#endMs) return CONTINUE;
    const canHalt = !this.#stopped && this.#runs(this.#haltable);
    this.#stopped = true;
    if (!canHalt) return INTERRUPT;
    this.#endMs = nowMs + HALT_MS_MAX;
    this.#halt(this.#haltable);
    return CONTINUE;
  }

  // A step compiles its statement anew when the schema has changed, and then frees the old program: no
  // place to write to. Nothing runs meanwhile, so an interrupt undoes nothing.
  #runs(statement: Pointer): boolean {
    return statement !== 0 && this.#sqlite.exports.sqlite3_stmt_busy(statement) !== 0;
  }

  // The program that runs is the trigger's while a trigger does. An instruction of a virtual table, in
  // whose middle this may come, has taken its operands before.
  #halt(statement: Pointer): void {
    const { i32, u8 } = this.#sqlite.memory;
    const program = programOf(this.#sqlite, statement);
    const end = endOf(program);
    this.#halted = { at: program.address, instructions: u8.slice(program.address, end) };
    u8.fill(0, program.address, end);
    for (let at = program.address; at < end; at += INSTRUCTION.sizeBytes) {
      u8[at + INSTRUCTION.opcode] = OPCODE.Halt;
      i32[(at + INSTRUCTION.p1) >> 2] = ABORT;
      i32[(at + INSTRUCTION.p2) >> 2] = ON_ERROR_ABORT;
    }
  }

  #restore(): void {
    const halted = this.#halted;
    if (halted === undefined) return;
    this.#halted = undefined;
    this.#sqlite.memory.u8.set(halted.instructions, halted.at);
  }

  /** Takes the bounds of the call away; the deadline is for `#bound`. */
  #lift(): number | undefined {
    const endMs = this.#endMs;
    this.#endMs = Number.POSITIVE_INFINITY;
    this.#limitHeap(0);
    return endMs;
  }

  #bound(endMs: number | undefined): void {
    this.#endMs = endMs;
    this.#limitHeap(this.#limitBytes);
  }

  #limitHeap(bytes: number): void {
    const { i32 } = this.#sqlite.memory;
    i32[HEAP.softLimitBytes >> 2] = bytes;
    i32[HEAP.hardLimitBytes >> 2] = bytes;
  }
}
