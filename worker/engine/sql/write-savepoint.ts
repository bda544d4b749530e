// Runs a query that writes in a savepoint, so that stopping it undoes its own writes and no others.
//
// Only programs with a loop run long enough to be stopped, so only they get a savepoint. An INSERT of one row, and an
// UPDATE or DELETE by key, have no loop, unless their triggers have one.

import { isStorageError, type StorageErrorCode } from '../../../src/shared/contract/errors.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { INSTRUCTION, OPCODE } from '../vfs/vdbe-layout.ts';
import { endOf, type Program, programOf, programsOf } from './program.ts';
import type { Savepoint, TransactionControl } from './transaction-control.ts';

/** Instructions that jump back. */
const LOOPS: ReadonlySet<number> = new Set([
  OPCODE.Next,
  OPCODE.Prev,
  OPCODE.SorterNext,
  OPCODE.VNext,
]);
/** The codes of the errors of a stopped statement. */
const STOPS: ReadonlySet<StorageErrorCode> = new Set(['SQL_TIMEOUT', 'CANCELLED']);
/** Index of the instruction to which every program jumps back once, after its preparations. */
const LOOP_START = 1;

/** Runs the action in a savepoint; if it is stopped, undoes its writes. */
export function inSavepoint<T>(
  control: TransactionControl,
  savepoint: Savepoint,
  query: () => T,
): T {
  let result: T;
  try {
    result = query();
  } catch (error) {
    // A critical error has ended the whole transaction, and the savepoint with it.
    if (control.isOpen) {
      if (isStorageError(error) && STOPS.has(error.code)) control.undo(savepoint);
      else control.release(savepoint);
    }
    throw error;
  }
  control.release(savepoint);
  return result;
}

/** True if the statement may execute more instructions than its programs have. */
export function hasLoop(sqlite: Sqlite, statement: Pointer): boolean {
  const programs = programsOf(sqlite, statement);
  let calls = 0;
  for (const program of programs) {
    const found = countCalls(sqlite, program);
    if (found === null) return true;
    calls += found;
  }
  // More calls than programs mean that one is called from two places, possibly from itself: a trigger may be recursive.
  return calls !== programs.length - 1;
}

/** True if the statement changes the schema; SQLite then recompiles other statements in their next first step. */
export function changesSchema(sqlite: Sqlite, statement: Pointer): boolean {
  const { u8 } = sqlite.memory;
  const program = programOf(sqlite, statement);
  for (let at = program.address; at < endOf(program); at += INSTRUCTION.sizeBytes) {
    if (u8[at + INSTRUCTION.opcode] === OPCODE.SetCookie) return true;
  }
  return false;
}

/** Counts the programs that this one calls; returns null if it jumps back. */
function countCalls(sqlite: Sqlite, program: Program): number | null {
  const { i32, u8 } = sqlite.memory;
  let calls = 0;
  for (let at = program.address; at < endOf(program); at += INSTRUCTION.sizeBytes) {
    const opcode = u8[at + INSTRUCTION.opcode]!;
    if (LOOPS.has(opcode)) return null;
    if (opcode === OPCODE.Program) calls += 1;
    if (opcode !== OPCODE.Goto) continue;
    const target = program.address + i32[(at + INSTRUCTION.p2) >> 2]! * INSTRUCTION.sizeBytes;
    if (target > program.address + LOOP_START * INSTRUCTION.sizeBytes && target <= at) return null;
  }
  return calls;
}
