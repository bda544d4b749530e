// The offsets of SQLite's structures that this package reads directly from SQLite's memory. They are those of version
// 3.53.4.
//
// SQLite has functions for most of these reads, but a call costs more than the read, and no function reads the
// instructions of a running statement. build/write-wasm refuses any other version of the package, and the test beside
// this file compares every number here with SQLite's own.

/** Offsets in a prepared statement (`struct Vdbe`), in bytes. */
export const VDBE = {
  /** Address of the registers of the main program. */
  registers: 88,
  program: 104,
  instructionCount: 108,
  /** Address of the first value of the current row. */
  resultRow: 120,
  /** The counters of `sqlite3_stmt_status`, four bytes each. */
  statusCounters: 164,
} as const;

/** The size of one value (`struct Mem`), and the offsets of its members. */
export const VALUE = {
  sizeBytes: 40,
  /** A 64-bit integer or a double. */
  number: 0,
  /** Address of the bytes of a text or blob. */
  bytes: 8,
  byteCount: 12,
  flags: 16,
} as const;

/** Bits of a value's flags. A value that is not held in two forms has exactly one of the first five. */
export const FLAG = {
  null: 0x01,
  text: 0x02,
  integer: 0x04,
  real: 0x08,
  blob: 0x10,
  /** All bits of the type. */
  typeMask: 0x3f,
  /** A blob followed by zeros that are not in memory. */
  zeroTail: 0x400,
} as const;

/** The size of one instruction (`struct VdbeOp`), and the offsets of its members. */
export const INSTRUCTION = {
  sizeBytes: 20,
  opcode: 0,
  p4Type: 1,
  p5: 2,
  p1: 4,
  p2: 8,
  p3: 12,
  p4: 16,
} as const;

/** Offsets in the program of a trigger (`struct SubProgram`), to which P4 of the instruction `Program` refers. */
export const SUB_PROGRAM = { program: 0, instructionCount: 4 } as const;

/** Addresses of SQLite's variables about its heap: 64-bit integers, of which only the lower half is used. */
export const HEAP = {
  usedBytes: 104_432,
  /** From this size of the heap on, SQLite tries to free memory; 0 means no limit. */
  softLimitBytes: 258_336,
  /** Beyond this size of the heap, allocations fail; 0 means no limit. SQLite ignores a limit below the soft limit. */
  hardLimitBytes: 258_344,
} as const;

/** The opcodes of the instructions that count rows, loop, call or halt. */
export const OPCODE = {
  VUpdate: 7,
  Goto: 9,
  SeekLT: 21,
  SeekLE: 22,
  SeekGE: 23,
  SeekGT: 24,
  SeekRowid: 30,
  NotExists: 31,
  Last: 32,
  SorterSort: 34,
  Sort: 35,
  Rewind: 36,
  SorterNext: 38,
  Prev: 39,
  Next: 40,
  IdxGT: 42,
  IdxLT: 45,
  Program: 50,
  VNext: 65,
  Halt: 72,
  Count: 100,
  SetCookie: 102,
  ReopenIdx: 113,
  OpenRead: 114,
  OpenWrite: 116,
  OpenDup: 117,
  OpenAutoindex: 119,
  OpenEphemeral: 120,
  SorterOpen: 121,
  Insert: 130,
  Delete: 132,
  SeekEnd: 139,
  IdxInsert: 140,
  Clear: 147,
} as const;
