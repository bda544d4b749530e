// Where SQLite keeps what we read of it directly: offsets and numbers of one build, 3.54.1.
//
// SQLite's interface has a function for most of this, but a call costs more than the read, and the
// instructions of a running statement have none. build/write-wasm refuses any other version of the
// package, and the test beside this file compares every number here with what SQLite itself says.

/** Bytes from the start of a prepared statement (`struct Vdbe`). */
export const VDBE = {
  /** Registers of the main program. */
  registers: 88,
  program: 104,
  instructionCount: 108,
  /** First value of the current row. */
  resultRow: 120,
  /** The counters of `sqlite3_stmt_status`, four bytes each. */
  statusCounters: 164,
} as const;

/** Bytes of one value (`struct Mem`), and of its members from its start. */
export const VALUE = {
  sizeBytes: 40,
  /** A 64-bit integer or a double. */
  number: 0,
  /** Address of text or blob. */
  bytes: 8,
  byteCount: 12,
  flags: 16,
} as const;

/** Bits of a value's flags. One of the first five is set when the value has one plain form. */
export const FLAG = {
  null: 0x01,
  text: 0x02,
  integer: 0x04,
  real: 0x08,
  blob: 0x10,
  /** All bits that say the type. */
  typeMask: 0x3f,
  /** A blob followed by zeros that are not in memory. */
  zeroTail: 0x400,
} as const;

/** Bytes of one instruction (`struct VdbeOp`), and of its members from its start. */
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

/** Bytes from the start of a sub-program (`struct SubProgram`), the P4 of `Program`. */
export const SUB_PROGRAM = { program: 0, instructionCount: 4 } as const;

/** Addresses of what SQLite keeps of its heap: 64-bit integers, of which the lower half matters. */
export const HEAP = {
  usedBytes: 104_736,
  /** From here on SQLite tries to give memory back; 0 is no limit. */
  softLimitBytes: 258_544,
  /** Here an allocation fails; 0 is no limit. Not below the soft limit, or it is not looked at. */
  hardLimitBytes: 258_552,
} as const;

/** The numbers of the instructions that matter for counts, loops and ends. */
export const OPCODE = {
  VUpdate: 7,
  Goto: 9,
  SeekLT: 21,
  SeekLE: 22,
  SeekGE: 23,
  SeekGT: 24,
  SeekRowid: 29,
  NotExists: 30,
  Last: 31,
  SorterSort: 33,
  Sort: 34,
  Rewind: 35,
  SorterNext: 37,
  Prev: 38,
  Next: 39,
  IdxGT: 41,
  IdxLT: 42,
  Program: 49,
  VNext: 64,
  Halt: 71,
  Count: 99,
  ReopenIdx: 102,
  OpenRead: 113,
  OpenWrite: 114,
  OpenDup: 116,
  OpenAutoindex: 117,
  OpenEphemeral: 119,
  SorterOpen: 120,
  Insert: 129,
  Delete: 131,
  SeekEnd: 138,
  IdxInsert: 139,
  Clear: 146,
} as const;
