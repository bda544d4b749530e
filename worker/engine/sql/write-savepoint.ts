// A savepoint around a query that writes, so that stopping it undoes its own writes and no others.
//
// Only programs with a loop run long enough to be stopped, so only they have one. An INSERT of one row,
// or an UPDATE or DELETE by key, has no loop.

import { isStorageError, type StorageErrorCode } from '../../../src/shared/contract/errors.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { INSTRUCTION, OPCODE } from '../vfs/vdbe-layout.ts';
import { programOf } from './program.ts';
import type { Savepoint, TransactionControl } from './transaction-control.ts';

/** Instructions that go back, or into the program of a trigger. */
const LOOPS: ReadonlySet<number> = new Set([
  OPCODE.Next,
  OPCODE.Prev,
  OPCODE.SorterNext,
  OPCODE.VNext,
  OPCODE.Program,
]);
/** The errors of a statement that was stopped. */
const STOPS: ReadonlySet<StorageErrorCode> = new Set(['SQL_TIMEOUT', 'CANCELLED']);
/** Every program jumps back to here once, after its preparations. */
const FIRST = 1;

/** Runs a query that writes in a savepoint; if it is stopped, its writes are undone. */
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

/** True when the statement's program may execute more instructions than it has. */
export function hasLoop(sqlite: Sqlite, statement: Pointer): boolean {
  const { i32, u8 } = sqlite.memory;
  const { address, instructionCount } = programOf(sqlite, statement);
  for (let index = 0; index < instructionCount; index++) {
    const at = address + index * INSTRUCTION.sizeBytes;
    const opcode = u8[at + INSTRUCTION.opcode]!;
    if (LOOPS.has(opcode)) return true;
    if (opcode !== OPCODE.Goto) continue;
    const target = i32[(at + INSTRUCTION.p2) >> 2]!;
    if (target > FIRST && target <= index) return true;
  }
  return false;
}
