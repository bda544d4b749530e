// Where the instruction counts are: the interface between the instrumented WebAssembly
// (build/instrument-wasm) and the code that reads them (sql/row-counter).
//
// An instruction has five slots of four bytes each, as many bytes as the instruction itself. They begin
// at its address modulo the size of the table; the slots of the last instruction may lie beyond its end.

/** Slots of the table; two programs 4 MiB apart share theirs. */
export const COUNT_SLOTS = 1 << 20;

/** Bytes to allocate for the table. */
export const COUNT_TABLE_BYTES = 4 * COUNT_SLOTS + 16;

/** The counters in the slots of one instruction, as offsets from its first slot. */
export const SLOT = {
  /** Times it was dispatched, except those counted by `skipped`. */
  dispatched: 0,
  /** Times it was dispatched after an instruction that skipped exactly one. */
  skipped: 1,
  /** Times it moved a cursor to a row number. */
  moved: 2,
  /** Total of the rows it counted, if it is `Count`. */
  rows: 3,
} as const;

/** Exported global: the statement that is counted, 0 for none. */
export const COUNTED_STATEMENT = 'vdbe_counted';

/** Exported global: the address of the count table. */
export const COUNT_TABLE = 'vdbe_count_table';
