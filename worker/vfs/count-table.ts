// The names by which the instruction counter is reached: the border between the instrumented
// WebAssembly and the code that reads it. What is counted how is told in build/instrument-wasm.

/** Slots of the count table, four bytes each; two programs 4 MiB apart would share theirs. */
export const COUNT_SLOTS = 1 << 20;

/** Exported global: the statement that is counted, 0 for none. */
export const COUNTED_STATEMENT = 'vdbe_counted';

/** Exported global: the address of the count table. */
export const COUNT_TABLE = 'vdbe_count_table';
