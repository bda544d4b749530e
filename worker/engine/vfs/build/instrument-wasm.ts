// Inserts an instruction counter and a question (table-question) into the official SQLite WebAssembly build: bytes in,
// bytes out.
//
// The counter: SQLite runs a statement as a program of its own instructions, all dispatched by one `br_table` in
// sqlite3VdbeExec. The inserted code, as C:
//
//   at the start:           counting = (statement == vdbe_counted); last = 0
//   before the dispatch:    if (counting) {
//                             slot(pOp, pOp - last == 2 instructions ? skipped : dispatched) += 1
//                             if (opcode of last == Count) slot(last, rows) += its result
//                             last = pOp
//                           }
//   after a call of sqlite3BtreeTableMoveto, by which a seek moves to a row number:
//                           if (counting) slot(pOp, moved) += 1
//
// A found equality seek continues by skipping one instruction. Only the chosen statement is counted, not
// FTS5's statements inside it.
//
// Invariant: each place is found exactly once, otherwise it throws; nothing else changes.
//
// Does not know the meaning of the counts; sql/count-plan does.

import { COUNT_SLOTS, COUNT_TABLE, COUNTED_STATEMENT, SLOT } from '../count-table.ts';
import { INSTRUCTION, OPCODE, VALUE, VDBE } from '../vdbe-layout.ts';
import { tableQuestion } from './table-question.ts';
import { concat, Reader, type Section, type Span, section, unsigned } from './wasm-bytes.ts';
import { ALIGN_4, constant, get, insert, load, OP, occurrences, only, set } from './wasm-code.ts';

const SECTION = { type: 1, import: 2, function: 3, global: 6, export: 7, code: 10 } as const;
// SQLite has about 190 opcodes; no other table of the build is as large.
const DISPATCH_TARGETS_MIN = 180;
const DISPATCH_TARGETS_MAX = 200;

const I32 = 0x7f;
const I64 = 0x7e;
const MUTABLE = 1;
const BLOCK_WITHOUT_RESULT = 0x40;
const EXPORT_GLOBAL = 3;

// int sqlite3BtreeTableMoveto(BtCursor*, i64 intKey, int biasRight, int *pRes)
const MOVETO_TYPE = `${[I32, I64, I32, I32]}>${[I32]}`;

interface Dispatch {
  readonly body: Span;
  /** Position of the `br_table`. */
  readonly at: number;
  /** The local variables that hold the address and the opcode of the instruction to dispatch. */
  readonly instructionLocal: number;
  readonly opcodeLocal: number;
}

/** Indexes of the local variables of the dispatching function; the last five are added to it. */
interface Locals {
  readonly instruction: number;
  readonly opcode: number;
  readonly counting: number;
  readonly table: number;
  readonly last: number;
  readonly lastOpcode: number;
  readonly slot: number;
}

/**
 * Returns the same module with the counter and the question in it.
 *
 * @throws Error when a place is not found exactly once: another build of SQLite.
 */
export function instrumentWasm(wasm: Uint8Array): Uint8Array<ArrayBuffer> {
  const sections = readSections(wasm);
  const imported = countImports(wasm, section(sections, SECTION.import));
  const globalSection = section(sections, SECTION.global);
  const reader = new Reader(wasm, globalSection.start);
  const globalCount = reader.unsigned();
  const countedGlobal = imported.globals + globalCount;
  const tableGlobal = countedGlobal + 1;
  const newGlobals = concat([
    unsigned(globalCount + 2),
    wasm.subarray(reader.at, globalSection.end),
    ...Array.from({ length: 2 }, () => [I32, MUTABLE, OP.i32Const, 0, OP.end]),
  ]);

  const exportSection = section(sections, SECTION.export);
  const exports = new Reader(wasm, exportSection.start);
  const exportCount = exports.unsigned();
  const newExports = concat([
    unsigned(exportCount + 2),
    wasm.subarray(exports.at, exportSection.end),
    globalExport(COUNTED_STATEMENT, countedGlobal),
    globalExport(COUNT_TABLE, tableGlobal),
  ]);

  const bodies = functionBodies(wasm, section(sections, SECTION.code));
  const dispatch = findDispatch(wasm, bodies);
  const moves = findMoves(wasm, sections, imported.functions, dispatch.body);
  const declared = readLocals(wasm, dispatch.body);
  // The parameter comes first, then the existing locals, then the new ones.
  const locals: Locals = {
    instruction: dispatch.instructionLocal,
    opcode: dispatch.opcodeLocal,
    counting: 1 + declared.count,
    table: 2 + declared.count,
    last: 3 + declared.count,
    lastOpcode: 4 + declared.count,
    slot: 5 + declared.count,
  };
  const counted = insert(wasm, { start: declared.end, end: dispatch.body.end }, [
    { at: declared.end, code: startCounting(locals, countedGlobal, tableGlobal) },
    { at: dispatch.at, code: countDispatch(locals) },
    ...moves.map((at) => ({ at, code: countMove(locals) })),
  ]);
  const question = tableQuestion(wasm, bodies);
  const rewritten = new Map<Span, Uint8Array>([
    [dispatch.body, concat([withLocals(wasm, declared), counted])],
    [question.body, insert(wasm, question.body, question.insertions)],
  ]);
  const newCode = concat([
    unsigned(bodies.length),
    ...bodies.flatMap((body) => {
      const content = rewritten.get(body) ?? wasm.subarray(body.start, body.end);
      return [unsigned(content.length), content];
    }),
  ]);

  const replaced = new Map<number, Uint8Array>([
    [SECTION.global, newGlobals],
    [SECTION.export, newExports],
    [SECTION.code, newCode],
  ]);
  const headerBytes = 8;
  return concat([
    wasm.subarray(0, headerBytes),
    ...sections.flatMap(({ id, start, end }) => {
      const content = replaced.get(id) ?? wasm.subarray(start, end);
      return [[id], unsigned(content.length), content];
    }),
  ]);
}

const ifCode = (condition: readonly number[], code: readonly number[]) => [
  ...condition,
  OP.if,
  BLOCK_WITHOUT_RESULT,
  ...code,
  OP.end,
];

// The statement is the only parameter of sqlite3VdbeExec.
const STATEMENT = get(0);

function startCounting(locals: Locals, countedGlobal: number, tableGlobal: number): number[] {
  return [
    ...[...STATEMENT, OP.globalGet, ...unsigned(countedGlobal), OP.i32Eq, ...set(locals.counting)],
    ...[OP.globalGet, ...unsigned(tableGlobal), ...set(locals.table)],
  ];
}

function countDispatch(locals: Locals): number[] {
  const instruction = get(locals.instruction);
  const last = get(locals.last);
  const skipped = [
    ...[...instruction, ...last, OP.i32Sub, ...constant(2 * INSTRUCTION.sizeBytes), OP.i32Eq],
    ...[...constant(2), OP.i32Shl],
  ];
  const isCount = [...get(locals.lastOpcode), ...constant(OPCODE.Count), OP.i32Eq];
  // registers[last->p2], the low half: no table here has 2^32 rows.
  const countedRows = [
    ...[...STATEMENT, ...load(VDBE.registers)],
    ...[...last, ...load(INSTRUCTION.p2), ...constant(VALUE.sizeBytes), OP.i32Mul, OP.i32Add],
    ...load(VALUE.number),
  ];
  return ifCode(get(locals.counting), [
    ...addToSlot(locals, instruction, skipped, constant(1)),
    ...ifCode(isCount, addToSlot(locals, last, constant(4 * SLOT.rows), countedRows)),
    ...[...instruction, ...set(locals.last)],
    ...[...get(locals.opcode), ...set(locals.lastOpcode)],
  ]);
}

function countMove(locals: Locals): number[] {
  return ifCode(
    get(locals.counting),
    addToSlot(locals, get(locals.instruction), constant(4 * SLOT.moved), constant(1)),
  );
}

/** *(table + instruction mod table size + offset) += amount; an instruction's address is even. */
function addToSlot(
  locals: Locals,
  instruction: readonly number[],
  offsetBytes: readonly number[],
  amount: readonly number[],
): number[] {
  return [
    ...[...instruction, ...constant(4 * COUNT_SLOTS - 4), OP.i32And],
    ...[...get(locals.table), OP.i32Add, ...offsetBytes, OP.i32Add],
    ...[OP.localTee, ...unsigned(locals.slot), ...get(locals.slot), ...load(0)],
    ...[...amount, OP.i32Add, OP.i32Store, ALIGN_4, 0],
  ];
}

interface DeclaredLocals {
  /** Number of groups of local variables of one type, and number of all variables. */
  readonly groups: number;
  readonly count: number;
  /** Position of the first group, and of the first instruction after the groups. */
  readonly start: number;
  readonly end: number;
}

function readLocals(wasm: Uint8Array, body: Span): DeclaredLocals {
  const reader = new Reader(wasm, body.start);
  const groups = reader.unsigned();
  const start = reader.at;
  let count = 0;
  for (let group = 0; group < groups; group++) {
    count += reader.unsigned();
    reader.byte();
  }
  return { groups, count, start, end: reader.at };
}

/** Returns the declaration of the existing local variables and of five more. */
function withLocals(wasm: Uint8Array, declared: DeclaredLocals): Uint8Array {
  const before = wasm.subarray(declared.start, declared.end);
  return concat([unsigned(declared.groups + 1), before, [5, I32]]);
}

// The dispatch is `local.get pOp; i32.load8_u; local.tee opcode; br_table`. Its locals have one-byte
// indexes in this build.
function findDispatch(wasm: Uint8Array, bodies: readonly Span[]): Dispatch {
  const found: Dispatch[] = [];
  for (const body of bodies) {
    for (let at = body.start; at < body.end - 8; at++) {
      if (wasm[at] !== OP.localGet || wasm[at + 2] !== OP.i32Load8U) continue;
      if (wasm[at + 3] !== 0 || wasm[at + 4] !== 0 || wasm[at + 5] !== OP.localTee) continue;
      if (wasm[at + 7] !== OP.brTable || wasm[at + 1]! > 0x7f || wasm[at + 6]! > 0x7f) continue;
      const targets = new Reader(wasm, at + 8).unsigned();
      if (targets < DISPATCH_TARGETS_MIN || targets > DISPATCH_TARGETS_MAX) continue;
      found.push({
        body,
        at: at + 7,
        instructionLocal: wasm[at + 1]!,
        opcodeLocal: wasm[at + 6]!,
      });
    }
  }
  return only(found, 'the instruction dispatch');
}

// Returns the position after each call of sqlite3BtreeTableMoveto in the dispatching function. That is the only
// function of its type that is called there.
function findMoves(
  wasm: Uint8Array,
  sections: readonly Section[],
  importedFunctions: number,
  dispatching: Span,
): number[] {
  const types = functionTypes(wasm, section(sections, SECTION.type));
  const functions = new Reader(wasm, section(sections, SECTION.function).start);
  const candidates: number[][] = [];
  for (let count = functions.unsigned(), index = 0; index < count; index++) {
    if (types[functions.unsigned()] !== MOVETO_TYPE) continue;
    const call = [OP.call, ...unsigned(importedFunctions + index)];
    const ends = occurrences(wasm, dispatching, call).map((at) => at + call.length);
    if (ends.length > 0) candidates.push(ends);
  }
  return only(candidates, 'sqlite3BtreeTableMoveto');
}

function functionTypes(wasm: Uint8Array, types: Span): string[] {
  const reader = new Reader(wasm, types.start);
  const list = () => Array.from({ length: reader.unsigned() }, () => reader.byte());
  return Array.from({ length: reader.unsigned() }, () => {
    // The form of a function type, 0x60; this build has no other types.
    reader.byte();
    return `${list()}>${list()}`;
  });
}

function functionBodies(wasm: Uint8Array, code: Span): Span[] {
  const reader = new Reader(wasm, code.start);
  return Array.from({ length: reader.unsigned() }, () => {
    const length = reader.unsigned();
    const start = reader.at;
    reader.at += length;
    return { start, end: start + length };
  });
}

function countImports(wasm: Uint8Array, imports: Span): { functions: number; globals: number } {
  const reader = new Reader(wasm, imports.start);
  let functions = 0;
  let globals = 0;
  for (let count = reader.unsigned(); count > 0; count--) {
    reader.skipName();
    reader.skipName();
    const kind = reader.byte();
    switch (kind) {
      case 0:
        functions++;
        reader.unsigned();
        break;
      case 1:
        reader.byte();
        reader.skipLimits();
        break;
      case 2:
        reader.skipLimits();
        break;
      case 3:
        globals++;
        reader.at += 2;
        break;
      default:
        throw new Error(`Instrumenting sqlite3.wasm: import of unknown kind ${kind}.`);
    }
  }
  return { functions, globals };
}

function readSections(wasm: Uint8Array): Section[] {
  const sections: Section[] = [];
  const reader = new Reader(wasm, 8);
  while (reader.at < wasm.length) {
    const id = reader.byte();
    const length = reader.unsigned();
    sections.push({ id, start: reader.at, end: reader.at + length });
    reader.at += length;
  }
  return sections;
}

function globalExport(name: string, index: number): number[] {
  const bytes = new TextEncoder().encode(name);
  return [...unsigned(bytes.length), ...bytes, EXPORT_GLOBAL, ...unsigned(index)];
}
