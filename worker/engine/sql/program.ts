// Locates the compiled program of a statement in SQLite's memory: an array of instructions.
//
// Do not keep an address across a step: SQLite may recompile the statement in it, and then frees the old program.

import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { INSTRUCTION, OPCODE, SUB_PROGRAM, VDBE } from '../vfs/vdbe-layout.ts';

export interface Program {
  readonly address: Pointer;
  readonly instructionCount: number;
}

/** Returns the statement's current program: its own, or that of a trigger while the trigger runs. */
export function programOf({ memory: { i32 } }: Sqlite, statement: Pointer): Program {
  return {
    address: i32[(statement + VDBE.program) >> 2]!,
    instructionCount: i32[(statement + VDBE.instructionCount) >> 2]!,
  };
}

/** Returns the address after the last instruction. */
export function endOf({ address, instructionCount }: Program): Pointer {
  return address + instructionCount * INSTRUCTION.sizeBytes;
}

/** Returns the statement's program, followed by the programs of triggers and foreign keys that it calls. */
export function programsOf(sqlite: Sqlite, statement: Pointer): readonly Program[] {
  const { i32, u8 } = sqlite.memory;
  const programs = [programOf(sqlite, statement)];
  for (let next = 0; next < programs.length; next++) {
    const program = programs[next]!;
    for (let at = program.address; at < endOf(program); at += INSTRUCTION.sizeBytes) {
      if (u8[at] !== OPCODE.Program) continue;
      const sub = i32[(at + INSTRUCTION.p4) >> 2]! >> 2;
      const called = {
        address: i32[sub + SUB_PROGRAM.program / 4]!,
        instructionCount: i32[sub + SUB_PROGRAM.instructionCount / 4]!,
      };
      if (programs.every(({ address }) => address !== called.address)) programs.push(called);
    }
  }
  return programs;
}
