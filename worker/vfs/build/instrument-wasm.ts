// Puts an instruction counter into the official SQLite WebAssembly build: bytes in, bytes out.
//
// SQLite runs a statement as a program of its own instructions, all dispatched by one `br_table` in
// sqlite3VdbeExec. Before that jump these WebAssembly instructions are inserted:
//
//   if (statement == vdbe_counted)
//     vdbe_count_table[(address / 4 + (address - previous == 2 instructions)) mod SLOTS] += 1
//     previous = address
//
// An instruction is 20 bytes, five slots, so the slot after its first one is free: it counts the
// arrivals that skipped exactly one instruction, which is how a found equality seek goes on.
// Statements other than the chosen one (those FTS5 runs inside a statement) are not counted.
//
// Keeps true: the dispatch is found exactly once, else it throws; nothing else changes. Knows
// nothing of what the counts mean; that is sql/row-counter.

import { COUNT_SLOTS, COUNT_TABLE, COUNTED_STATEMENT } from '../count-table.ts';

const SECTION = { import: 2, global: 6, export: 7, code: 10 } as const;
const INSTRUCTION_BYTES = 20;
// SQLite has close to 190 instructions; no other table of the build is as large.
const DISPATCH_TARGETS_MIN = 180;
const DISPATCH_TARGETS_MAX = 200;

const OP = {
  if: 0x04,
  end: 0x0b,
  brTable: 0x0e,
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
  i32And: 0x71,
  i32Shl: 0x74,
  i32ShrU: 0x76,
} as const;
const I32 = 0x7f;
const MUTABLE = 1;
const BLOCK_WITHOUT_RESULT = 0x40;
const EXPORT_GLOBAL = 3;
const ALIGN_4 = 2;

interface Span {
  readonly start: number;
  readonly end: number;
}

interface Section extends Span {
  readonly id: number;
}

interface Dispatch {
  readonly body: Span;
  /** Where the `br_table` begins. */
  readonly at: number;
  /** The local that holds the address of the instruction to dispatch. */
  readonly instructionLocal: number;
}

/**
 * The same module with the counter in it.
 *
 * @throws Error when the dispatch is not found exactly once: another build of SQLite.
 */
export function instrumentWasm(wasm: Uint8Array): Uint8Array<ArrayBuffer> {
  const sections = readSections(wasm);
  const globals = section(sections, SECTION.global);
  const reader = new Reader(wasm, globals.start);
  const globalCount = reader.unsigned();
  const firstGlobal = importedGlobals(wasm, section(sections, SECTION.import)) + globalCount;
  const counted = firstGlobal;
  const table = firstGlobal + 1;
  const previous = firstGlobal + 2;
  const slot = firstGlobal + 3;

  const newGlobals = concat([
    unsigned(globalCount + 4),
    wasm.subarray(reader.at, globals.end),
    ...Array.from({ length: 4 }, () => [I32, MUTABLE, OP.i32Const, 0, OP.end]),
  ]);

  const exportSection = section(sections, SECTION.export);
  const exports = new Reader(wasm, exportSection.start);
  const exportCount = exports.unsigned();
  const newExports = concat([
    unsigned(exportCount + 2),
    wasm.subarray(exports.at, exportSection.end),
    globalExport(COUNTED_STATEMENT, counted),
    globalExport(COUNT_TABLE, table),
  ]);

  const bodies = functionBodies(wasm, section(sections, SECTION.code));
  const dispatch = findDispatch(wasm, bodies);
  const counter = counterCode(dispatch.instructionLocal, { counted, table, previous, slot });
  const newCode = concat([
    unsigned(bodies.length),
    ...bodies.flatMap((body) => {
      if (body !== dispatch.body) {
        return [unsigned(body.end - body.start), wasm.subarray(body.start, body.end)];
      }
      return [
        unsigned(body.end - body.start + counter.length),
        wasm.subarray(body.start, dispatch.at),
        counter,
        wasm.subarray(dispatch.at, body.end),
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

function counterCode(
  instruction: number,
  global: Record<'counted' | 'table' | 'previous' | 'slot', number>,
): number[] {
  const get = (index: number) => [OP.globalGet, ...unsigned(index)];
  const set = (index: number) => [OP.globalSet, ...unsigned(index)];
  const local = (index: number) => [OP.localGet, ...unsigned(index)];
  const constant = (value: number) => [OP.i32Const, ...signed(value)];
  // The statement is the only parameter of sqlite3VdbeExec, hence local 0.
  const statement = 0;
  return [
    ...[...local(statement), ...get(global.counted), OP.i32Eq, OP.if, BLOCK_WITHOUT_RESULT],
    ...[...local(instruction), ...constant(2), OP.i32ShrU],
    ...[...local(instruction), ...get(global.previous), OP.i32Sub],
    ...[...constant(2 * INSTRUCTION_BYTES), OP.i32Eq, OP.i32Add],
    ...[...constant(COUNT_SLOTS - 1), OP.i32And, ...constant(2), OP.i32Shl],
    ...[...get(global.table), OP.i32Add, ...set(global.slot)],
    ...[...get(global.slot), ...get(global.slot), OP.i32Load, ALIGN_4, 0],
    ...[...constant(1), OP.i32Add, OP.i32Store, ALIGN_4, 0],
    ...[...local(instruction), ...set(global.previous), OP.end],
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
  const only = found[0];
  if (only === undefined || found.length !== 1) {
    throw new Error(
      `Instrumenting sqlite3.wasm: the instruction dispatch was found ${found.length} times, ` +
        'exactly once expected; pin the version this was written for, or adapt the pattern.',
    );
  }
  return only;
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

function importedGlobals(wasm: Uint8Array, imports: Span): number {
  const reader = new Reader(wasm, imports.start);
  let globals = 0;
  for (let count = reader.unsigned(); count > 0; count--) {
    reader.skipName();
    reader.skipName();
    const kind = reader.byte();
    switch (kind) {
      case 0:
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
  return globals;
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

function section(sections: readonly Section[], id: number): Section {
  const found = sections.find((candidate) => candidate.id === id);
  if (!found) throw new Error(`Instrumenting sqlite3.wasm: section ${id} is missing.`);
  return found;
}

function globalExport(name: string, index: number): number[] {
  const bytes = new TextEncoder().encode(name);
  return [...unsigned(bytes.length), ...bytes, EXPORT_GLOBAL, ...unsigned(index)];
}

class Reader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new Error('Instrumenting sqlite3.wasm: the file is cut off.');
    return byte;
  }

  /** LEB128. */
  unsigned(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  skipName(): void {
    const length = this.unsigned();
    this.at += length;
  }

  skipLimits(): void {
    const flags = this.byte();
    this.unsigned();
    if (flags & 1) this.unsigned();
  }
}

function unsigned(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; ) {
    const low = rest & 0x7f;
    rest >>>= 7;
    if (rest === 0) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; ) {
    const low = rest & 0x7f;
    rest >>= 7;
    const done = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0);
    if (done) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

function concat(parts: readonly (Uint8Array | readonly number[])[]): Uint8Array<ArrayBuffer> {
  const result = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
