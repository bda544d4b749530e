// Puts an instruction counter into the official SQLite WebAssembly build: bytes in, bytes out.
//
// SQLite runs a statement as a program of its own instructions, all dispatched by one `br_table` in
// sqlite3VdbeExec. Before that jump this is inserted:
//
//   if (statement == vdbe_counted) {
//     slot(pOp, pOp - vdbe_last == 2 instructions ? skipped : dispatched) += 1
//     if (vdbe_last->opcode == Count) slot(vdbe_last, rows) += its result
//     vdbe_last = pOp
//   }
//
// and at the start of sqlite3BtreeTableMoveto, which a seek for a row number calls unless its key
// is no number:
//
//   if (vdbe_counted) slot(vdbe_last, moved) += 1
//
// A skip of one instruction is how a found equality seek goes on. Statements other than the chosen
// one (those FTS5 runs inside a statement) are not counted.
//
// Keeps true: both places are found exactly once, else it throws; nothing else changes. Knows
// nothing of what the counts mean; that is sql/row-counter.

import {
  COUNT_SLOTS,
  COUNT_TABLE,
  COUNTED_STATEMENT,
  LAST_INSTRUCTION,
  SLOT,
} from '../count-table.ts';
import { INSTRUCTION, OPCODE, VALUE, VDBE } from '../vdbe-layout.ts';
import {
  concat,
  Reader,
  type Section,
  type Span,
  section,
  signed,
  unsigned,
} from './wasm-bytes.ts';

const SECTION = { type: 1, import: 2, function: 3, global: 6, export: 7, code: 10 } as const;
// SQLite has close to 190 instructions; no other table of the build is as large.
const DISPATCH_TARGETS_MIN = 180;
const DISPATCH_TARGETS_MAX = 200;

const OP = {
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  brTable: 0x0e,
  call: 0x10,
  localGet: 0x20,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  i32Load: 0x28,
  i32Load8U: 0x2d,
  i32Store: 0x36,
  i32Const: 0x41,
  i32Eq: 0x46,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  i32Mul: 0x6c,
  i32And: 0x71,
  i32Shl: 0x74,
  i32ShrU: 0x76,
} as const;
const I32 = 0x7f;
const I64 = 0x7e;
const MUTABLE = 1;
const BLOCK_WITHOUT_RESULT = 0x40;
const EXPORT_GLOBAL = 3;
const ALIGN_1 = 0;
const ALIGN_4 = 2;

// int sqlite3BtreeTableMoveto(BtCursor*, i64 intKey, int biasRight, int *pRes)
const MOVETO_TYPE = `${[I32, I64, I32, I32]}>${[I32]}`;

interface Dispatch {
  readonly body: Span;
  /** Where the `br_table` begins. */
  readonly at: number;
  /** The local that holds the address of the instruction to dispatch. */
  readonly instructionLocal: number;
}

interface Globals {
  readonly counted: number;
  readonly last: number;
  readonly table: number;
  /** Working variable: the address of a slot. */
  readonly slot: number;
}

/**
 * The same module with the counter in it.
 *
 * @throws Error when a place is not found exactly once: another build of SQLite.
 */
export function instrumentWasm(wasm: Uint8Array): Uint8Array<ArrayBuffer> {
  const sections = readSections(wasm);
  const imported = countImports(wasm, section(sections, SECTION.import));
  const globalSection = section(sections, SECTION.global);
  const reader = new Reader(wasm, globalSection.start);
  const globalCount = reader.unsigned();
  const first = imported.globals + globalCount;
  const globals: Globals = { counted: first, last: first + 1, table: first + 2, slot: first + 3 };
  const newGlobals = concat([
    unsigned(globalCount + 4),
    wasm.subarray(reader.at, globalSection.end),
    ...Array.from({ length: 4 }, () => [I32, MUTABLE, OP.i32Const, 0, OP.end]),
  ]);

  const exportSection = section(sections, SECTION.export);
  const exports = new Reader(wasm, exportSection.start);
  const exportCount = exports.unsigned();
  const newExports = concat([
    unsigned(exportCount + 3),
    wasm.subarray(exports.at, exportSection.end),
    globalExport(COUNTED_STATEMENT, globals.counted),
    globalExport(LAST_INSTRUCTION, globals.last),
    globalExport(COUNT_TABLE, globals.table),
  ]);

  const bodies = functionBodies(wasm, section(sections, SECTION.code));
  const dispatch = findDispatch(wasm, bodies);
  const moveto = findMoveto(wasm, sections, bodies, imported.functions, dispatch.body);
  const insertions = new Map<Span, { at: number; code: number[] }>([
    [dispatch.body, { at: dispatch.at, code: countDispatch(dispatch.instructionLocal, globals) }],
    [moveto, { at: afterLocals(wasm, moveto), code: countMove(globals) }],
  ]);
  const newCode = concat([
    unsigned(bodies.length),
    ...bodies.flatMap((body) => {
      const insertion = insertions.get(body);
      const length = body.end - body.start;
      if (insertion === undefined) {
        return [unsigned(length), wasm.subarray(body.start, body.end)];
      }
      const { at, code } = insertion;
      return [
        unsigned(length + code.length),
        wasm.subarray(body.start, at),
        code,
        wasm.subarray(at, body.end),
      ];
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

const get = (global: number) => [OP.globalGet, ...unsigned(global)];
const set = (global: number) => [OP.globalSet, ...unsigned(global)];
const local = (index: number) => [OP.localGet, ...unsigned(index)];
const constant = (value: number) => [OP.i32Const, ...signed(value)];
const load = (offset: number) => [OP.i32Load, ALIGN_4, ...unsigned(offset)];

function countDispatch(instructionLocal: number, globals: Globals): number[] {
  // The statement is the only parameter of sqlite3VdbeExec, hence local 0.
  const statement = local(0);
  const instruction = local(instructionLocal);
  const last = get(globals.last);
  const skipped = [
    ...[...instruction, ...last, OP.i32Sub],
    ...[...constant(2 * INSTRUCTION.sizeBytes), OP.i32Eq],
  ];
  // registers[last->p2], the low half: no table here has 2^32 rows.
  const countedRows = [
    ...[...statement, ...load(VDBE.registers)],
    ...[...last, ...load(INSTRUCTION.p2), ...constant(VALUE.sizeBytes), OP.i32Mul, OP.i32Add],
    ...load(VALUE.number),
  ];
  return [
    ...[...statement, ...get(globals.counted), OP.i32Eq, OP.if, BLOCK_WITHOUT_RESULT],
    ...addToSlot(globals, instruction, skipped, constant(1)),
    ...[...last, OP.i32Load8U, ALIGN_1, INSTRUCTION.opcode, ...constant(OPCODE.Count), OP.i32Eq],
    ...[OP.if, BLOCK_WITHOUT_RESULT],
    ...addToSlot(globals, last, constant(SLOT.rows), countedRows),
    OP.end,
    ...[...instruction, ...set(globals.last)],
    OP.end,
  ];
}

function countMove(globals: Globals): number[] {
  return [
    ...[...get(globals.counted), OP.if, BLOCK_WITHOUT_RESULT],
    ...addToSlot(globals, get(globals.last), constant(SLOT.moved), constant(1)),
    OP.end,
  ];
}

/** table[(instruction / 4 + offset) mod slots] += amount */
function addToSlot(
  globals: Globals,
  instruction: readonly number[],
  offset: readonly number[],
  amount: readonly number[],
): number[] {
  return [
    ...[...instruction, ...constant(2), OP.i32ShrU, ...offset, OP.i32Add],
    ...[...constant(COUNT_SLOTS - 1), OP.i32And, ...constant(2), OP.i32Shl],
    ...[...get(globals.table), OP.i32Add, ...set(globals.slot)],
    ...[...get(globals.slot), ...get(globals.slot), ...load(0), ...amount, OP.i32Add],
    ...[OP.i32Store, ALIGN_4, 0],
  ];
}

// The dispatch reads `local.get pOp; i32.load8_u; local.tee opcode; br_table`. All locals of it have
// one-byte indexes in this build.
function findDispatch(wasm: Uint8Array, bodies: readonly Span[]): Dispatch {
  const found: Dispatch[] = [];
  for (const body of bodies) {
    for (let at = body.start; at < body.end - 8; at++) {
      if (wasm[at] !== OP.localGet || wasm[at + 2] !== OP.i32Load8U) continue;
      if (wasm[at + 3] !== 0 || wasm[at + 4] !== 0 || wasm[at + 5] !== OP.localTee) continue;
      if (wasm[at + 7] !== OP.brTable || wasm[at + 1]! > 0x7f || wasm[at + 6]! > 0x7f) continue;
      const targets = new Reader(wasm, at + 8).unsigned();
      if (targets < DISPATCH_TARGETS_MIN || targets > DISPATCH_TARGETS_MAX) continue;
      found.push({ body, at: at + 7, instructionLocal: wasm[at + 1]! });
    }
  }
  return only(found, 'the instruction dispatch');
}

// The one function of its type that the dispatching function calls.
function findMoveto(
  wasm: Uint8Array,
  sections: readonly Section[],
  bodies: readonly Span[],
  importedFunctions: number,
  dispatching: Span,
): Span {
  const types = functionTypes(wasm, section(sections, SECTION.type));
  const functions = new Reader(wasm, section(sections, SECTION.function).start);
  const candidates: Span[] = [];
  for (let count = functions.unsigned(), index = 0; index < count; index++) {
    const call = [OP.call, ...unsigned(importedFunctions + index)];
    if (types[functions.unsigned()] !== MOVETO_TYPE) continue;
    if (includes(wasm, dispatching, call)) candidates.push(bodies[index]!);
  }
  return only(candidates, 'sqlite3BtreeTableMoveto');
}

function only<T>(found: readonly T[], what: string): T {
  const first = found[0];
  if (first === undefined || found.length !== 1) {
    throw new Error(
      `Instrumenting sqlite3.wasm: ${what} was found ${found.length} times, exactly once ` +
        'expected; pin the version this was written for, or adapt the pattern.',
    );
  }
  return first;
}

function includes(wasm: Uint8Array, span: Span, bytes: readonly number[]): boolean {
  for (let at = span.start; at <= span.end - bytes.length; at++) {
    if (bytes.every((byte, index) => wasm[at + index] === byte)) return true;
  }
  return false;
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

/** Where the instructions of a function begin, behind the declarations of its locals. */
function afterLocals(wasm: Uint8Array, body: Span): number {
  const reader = new Reader(wasm, body.start);
  for (let groups = reader.unsigned(); groups > 0; groups--) {
    reader.unsigned();
    reader.byte();
  }
  return reader.at;
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
