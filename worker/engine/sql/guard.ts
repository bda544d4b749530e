// Limits calls of SQLite, so that one object cannot block the worker: a deadline, cancellation by the caller, and a
// limit on memory.
//
// SQLite calls its progress handler every few thousand instructions, also while it compiles. Past the deadline, or when
// its caller has cancelled it, a read is interrupted, which undoes nothing. An interrupted write would lose the whole
// transaction (https://sqlite.org/c3ref/interrupt.html), so the guard overwrites the write's program with `Halt`, the
// instruction of a failed constraint. That ends only this statement, and the caller, who has set a savepoint, undoes
// its writes. A single call of a function (`replace`, `instr`) cannot be stopped.
//
// The memory of a connection is the memory that its calls allocate and do not free. Calls without limits count too: a
// reset frees a value that a step has read. So each connection announces when it enters SQLite, and changes of the heap
// are attributed to it until another connection enters.
//
// Invariant: outside of calls SQLite's heap has no limit, so other work cannot fail because of it.

import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { HEAP, INSTRUCTION, OPCODE } from '../vfs/vdbe-layout.ts';
import { endOf, programOf } from './program.ts';
import type { Limits } from './query-limits.ts';
import { timeError } from './sql-error.ts';

/**
 * Instructions between two calls of the progress handler: few enough if each takes a millisecond, many enough to cost
 * little.
 */
const INSTRUCTIONS_A_TICK = 4000;
/** A halted statement must end within this time; its instruction may still run another program. */
const HALT_MS_MAX = 500;
/** Milliseconds between two checks for a cancelled call, because a check may take some milliseconds. */
export const CANCEL_CHECK_MS = 100;
// https://sqlite.org/rescode.html, and OE_Abort of sqliteInt.h.
const ABORT = 4;
const ON_ERROR_ABORT = 2;
const CONTINUE = 0;
const INTERRUPT = 1;

/** A connection whose calls are limited. */
export interface Guarded {
  readonly limits: Limits;
  /** Memory that its calls had allocated and not freed when another connection entered, in bytes. */
  heldBytes: number;
  /** The time by which all its calls must have ended; undefined if each call has its own limit. */
  readonly endMs: number | undefined;
  /** True if the caller of the running call has cancelled it. */
  isCancelled(): boolean;
}

/** Why the running call was stopped. */
type Stop = 'late' | 'cancelled';

/** The address of an overwritten program, and its original instructions. */
interface Halted {
  readonly at: Pointer;
  readonly instructions: Uint8Array;
}

export class Guard {
  static readonly #ofModule = new WeakMap<Sqlite, Guard>();

  readonly #sqlite: Sqlite;
  readonly #handler: Pointer;
  /** The connection whose limited call is running. */
  #guarded: Guarded | undefined;
  #endMs: number | undefined;
  /** The time of the next check for a cancelled call. */
  #checkMs = 0;
  /** The connection to which changes of the heap belong, the bytes of all others, and the limit of the whole heap. */
  #heapOwner: Guarded | undefined;
  #othersBytes = 0;
  #limitBytes = 0;
  /** The running statement that can be stopped alone; 0 if there is none. */
  #haltable: Pointer = 0;
  #halted: Halted | undefined;
  #stopped: Stop | undefined;

  private constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite;
    this.#handler = sqlite.install({ parameters: 'i', call: () => this.#tick() });
  }

  /** Returns the guard that all connections of a module share; only one call runs at a time. */
  static of(sqlite: Sqlite): Guard {
    let guard = Guard.#ofModule.get(sqlite);
    if (guard === undefined) {
      guard = new Guard(sqlite);
      Guard.#ofModule.set(sqlite, guard);
    }
    return guard;
  }

  /** Watches a connection's calls between `begin` and `end`. */
  attach(db: Pointer): void {
    this.#sqlite.exports.sqlite3_progress_handler(db, INSTRUCTIONS_A_TICK, this.#handler, 0);
  }

  /** Attributes further changes of SQLite's heap to this connection, or to none. */
  enter(guarded: Guarded | undefined): void {
    if (guarded === this.#heapOwner) return;
    const usedBytes = this.#sqlite.memory.i32[HEAP.usedBytes >> 2]!;
    if (this.#heapOwner !== undefined) this.#heapOwner.heldBytes = usedBytes - this.#othersBytes;
    this.#heapOwner = guarded;
    if (guarded === undefined) return;
    this.#othersBytes = usedBytes - guarded.heldBytes;
    // SQLite's limit is a number of 31 bits; the module's memory is smaller. The sum is never 0, which would mean no
    // limit.
    this.#limitBytes = Math.min(this.#othersBytes + guarded.limits.heapBytes, 0x7fff_ffff);
  }

  /** Begins the outermost call of a connection. @throws SQL_TIMEOUT if its common deadline is over already */
  begin(guarded: Guarded): void {
    const { endMs, limits } = guarded;
    // SQLite calls the progress handler rarely while it compiles, so check between the calls of a series.
    if (endMs !== undefined && limits.now() >= endMs) throw timeError(limits.queryMs);
    this.enter(guarded);
    this.#guarded = guarded;
    this.#endMs = endMs;
    this.#stopped = undefined;
    this.#limitHeap(this.#limitBytes);
  }

  /** Ends the outermost call. */
  end(): void {
    this.#guarded = undefined;
    this.#stopped = undefined;
    this.#limitHeap(0);
  }

  /** Runs the storage's own work inside a call; it must not fail half-way, so it has no limits. */
  unbounded<T>(action: () => T): T {
    const endMs = this.#liftLimits();
    try {
      return action();
    } finally {
      this.#limit(endMs);
    }
  }

  /**
   * Steps a statement without limits. It takes no closure, because every transaction begins and ends with such a step.
   */
  stepUnbounded(statement: Pointer): number {
    const endMs = this.#liftLimits();
    try {
      return this.#sqlite.exports.sqlite3_step(statement);
    } finally {
      this.#limit(endMs);
    }
  }

  /**
   * True if the common deadline of a series of calls is over, so that the running call should be refused. Called while
   * a statement is compiled, where SQLite does not check the deadline itself.
   */
  isPastEnd(): boolean {
    if (this.#guarded?.endMs === undefined || this.#endMs === undefined) return false;
    if (this.#guarded.limits.now() < this.#endMs) return false;
    this.#stopped ??= 'late';
    return true;
  }

  /** The reason why the running call was stopped; undefined if it was not. */
  get stopped(): Stop | undefined {
    return this.#stopped;
  }

  /** Steps a statement that can be stopped alone, without losing its transaction. */
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
    // Read the clock only here, because most calls end before the first tick.
    this.#endMs ??= nowMs + queryMs;
    if (nowMs >= this.#endMs) return this.#stop('late', nowMs);
    if (this.#isCancelled(this.#guarded, nowMs)) return this.#stop('cancelled', now());
    return CONTINUE;
  }

  // The storage's own work, which has no deadline, is not stopped half-way.
  #isCancelled(guarded: Guarded, nowMs: number): boolean {
    const isDue = nowMs >= this.#checkMs && this.#endMs !== Number.POSITIVE_INFINITY;
    if (!isDue || this.#stopped !== undefined) return false;
    const isCancelled = guarded.isCancelled();
    this.#checkMs = guarded.limits.now() + CANCEL_CHECK_MS;
    return isCancelled;
  }

  #stop(reason: Stop, nowMs: number): number {
    const canHalt = this.#stopped === undefined && this.#runs(this.#haltable);
    this.#stopped ??= reason;
    if (!canHalt) return INTERRUPT;
    this.#endMs = nowMs + HALT_MS_MAX;
    this.#halt(this.#haltable);
    return CONTINUE;
  }

  // A step compiles its statement again if the schema has changed, then frees the old program, which must
  // not be written to. Nothing runs meanwhile, so an interrupt undoes nothing.
  #runs(statement: Pointer): boolean {
    return statement !== 0 && this.#sqlite.exports.sqlite3_stmt_busy(statement) !== 0;
  }

  // While a trigger runs, its program is the statement's current one. This may happen in the middle of an
  // instruction of a virtual table, which has read its operands before.
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

  /** Lifts the limits of the call; returns the deadline for `#limit`. */
  #liftLimits(): number | undefined {
    const endMs = this.#endMs;
    this.#endMs = Number.POSITIVE_INFINITY;
    this.#limitHeap(0);
    return endMs;
  }

  #limit(endMs: number | undefined): void {
    this.#endMs = endMs;
    this.#limitHeap(this.#limitBytes);
  }

  #limitHeap(bytes: number): void {
    const { i32 } = this.#sqlite.memory;
    i32[HEAP.softLimitBytes >> 2] = bytes;
    i32[HEAP.hardLimitBytes >> 2] = bytes;
  }
}
