// The layout of the count table: the instrumented WebAssembly (build/instrument-wasm) counts in it how often SQLite
// runs each instruction of a statement, and sql/row-counter reads it.
//
// The counters of an instruction begin at its address modulo the size of the table. An instruction is 20 bytes long, so
// it has room for five counters of four bytes. Those of the last instruction may lie beyond the table's end.

/** Number of counters; two programs whose addresses are 4 MiB apart share their counters. */
export const COUNT_SLOTS = 1 << 20;

/** Bytes to allocate for the table. */
export const COUNT_TABLE_BYTES = 4 * COUNT_SLOTS + 16;

/** The counters of one instruction, as indexes from its first one. */
export const SLOT = {
  /** Number of runs, except the runs that `skipped` counts. */
  dispatched: 0,
  /** Number of runs after an instruction that skipped exactly one. */
  skipped: 1,
  /** Number of times the instruction moved a cursor to a row number. */
  moved: 2,
  /** Sum of the rows that the instruction counted, if it is `Count`. */
  rows: 3,
} as const;

/** Name of the exported variable that holds the address of the counted statement, or 0. */
export const COUNTED_STATEMENT = 'vdbe_counted';

/** Name of the exported variable that holds the address of the count table. */
export const COUNT_TABLE = 'vdbe_count_table';
