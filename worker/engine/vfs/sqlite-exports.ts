// The functions that SQLite's WebAssembly exports and this package calls, with their C parameters.

import type { COUNT_TABLE, COUNTED_STATEMENT } from './count-table.ts';

/** An address in the module's memory; 0 is the null pointer. */
export type Pointer = number;

/** The exported functions; pointers are passed as numbers, and nothing is converted. */
export interface SqliteExports {
  sqlite3_malloc(sizeBytes: number): Pointer;
  sqlite3_free(pointer: Pointer): void;
  /** Writes random bytes; of size 0, the generator takes a new seed from the VFS next time. */
  sqlite3_randomness(sizeBytes: number, to: Pointer): void;
  sqlite3_open_v2(filename: Pointer, db: Pointer, flags: number, vfs: Pointer): number;
  sqlite3_close_v2(db: Pointer): number;
  sqlite3_exec(db: Pointer, sql: Pointer, callback: Pointer, arg: Pointer, error: Pointer): number;
  sqlite3_extended_result_codes(db: Pointer, on: number): number;
  sqlite3_limit(db: Pointer, limit: number, value: number): number;
  sqlite3_set_authorizer(db: Pointer, callback: Pointer, arg: Pointer): number;
  sqlite3_progress_handler(
    db: Pointer,
    instructionCount: number,
    callback: Pointer,
    arg: Pointer,
  ): void;
  /** The callback is called before each change of a row; 0 removes it. */
  sqlite3_preupdate_hook(db: Pointer, callback: Pointer, arg: Pointer): Pointer;
  /**
   * Gives the value of a column before or after the change. Call it only inside the callback of
   * `sqlite3_preupdate_hook`.
   */
  sqlite3_preupdate_old(db: Pointer, column: number, value: Pointer): number;
  sqlite3_preupdate_new(db: Pointer, column: number, value: Pointer): number;
  sqlite3_status(counter: number, current: Pointer, highest: Pointer, reset: number): number;
  /** The parameters from `type` on are addresses for results; 0 for a result that is not needed. */
  sqlite3_table_column_metadata(
    db: Pointer,
    schema: Pointer,
    table: Pointer,
    column: Pointer,
    type: Pointer,
    collation: Pointer,
    isNotNull: Pointer,
    isKey: Pointer,
    isAutoincrement: Pointer,
  ): number;
  sqlite3_drop_modules(db: Pointer, keptNames: Pointer): number;
  sqlite3_get_autocommit(db: Pointer): number;
  sqlite3_errmsg(db: Pointer): Pointer;
  sqlite3_extended_errcode(db: Pointer): number;
  sqlite3_error_offset(db: Pointer): number;
  sqlite3_changes(db: Pointer): number;
  sqlite3_total_changes(db: Pointer): number;
  sqlite3_prepare_v3(
    db: Pointer,
    sql: Pointer,
    sizeBytes: number,
    flags: number,
    statement: Pointer,
    tail: Pointer,
  ): number;
  sqlite3_finalize(statement: Pointer): number;
  sqlite3_step(statement: Pointer): number;
  sqlite3_reset(statement: Pointer): number;
  sqlite3_clear_bindings(statement: Pointer): number;
  /** Returns the text of the statement. */
  sqlite3_sql(statement: Pointer): Pointer;
  sqlite3_stmt_readonly(statement: Pointer): number;
  /** Returns 1 while the statement's program runs, and 0 while its step recompiles it. */
  sqlite3_stmt_busy(statement: Pointer): number;
  sqlite3_stmt_isexplain(statement: Pointer): number;
  sqlite3_bind_parameter_count(statement: Pointer): number;
  sqlite3_bind_text(
    statement: Pointer,
    index: number,
    text: Pointer,
    sizeBytes: number,
    destructor: number,
  ): number;
  sqlite3_bind_blob(
    statement: Pointer,
    index: number,
    bytes: Pointer,
    sizeBytes: number,
    destructor: number,
  ): number;
  sqlite3_bind_zeroblob(statement: Pointer, index: number, sizeBytes: number): number;
  sqlite3_bind_double(statement: Pointer, index: number, value: number): number;
  sqlite3_bind_int64(statement: Pointer, index: number, value: bigint): number;
  sqlite3_bind_null(statement: Pointer, index: number): number;
  sqlite3_column_count(statement: Pointer): number;
  sqlite3_column_name(statement: Pointer, column: number): Pointer;
  sqlite3_column_type(statement: Pointer, column: number): number;
  sqlite3_column_double(statement: Pointer, column: number): number;
  sqlite3_column_int64(statement: Pointer, column: number): bigint;
  sqlite3_column_text(statement: Pointer, column: number): Pointer;
  sqlite3_column_blob(statement: Pointer, column: number): Pointer;
  sqlite3_column_bytes(statement: Pointer, column: number): number;
  /** `sqlite3_db_config` for options that take an int and return one. */
  sqlite3__wasm_db_config_ip(db: Pointer, option: number, on: number, result: Pointer): number;
  /** Returns SQLite's constants and their names, as JSON. */
  sqlite3__wasm_enum_json(): Pointer;
  sqlite3changeset_apply_v2(
    db: Pointer,
    sizeBytes: number,
    changeset: Pointer,
    filter: Pointer,
    conflict: Pointer,
    context: Pointer,
    rebase: Pointer,
    rebaseBytes: Pointer,
    flags: number,
  ): number;
  sqlite3changeset_op(
    iterator: Pointer,
    table: Pointer,
    columns: Pointer,
    operation: Pointer,
    indirect: Pointer,
  ): number;
  sqlite3_vfs_register(vfs: Pointer, isDefault: number): number;
  /** The functions that SQLite can call by address. */
  readonly __indirect_function_table: WebAssembly.Table;
  /** Holds the address of the statement whose instructions are counted, or 0. */
  readonly [COUNTED_STATEMENT]: WebAssembly.Global<'i32'>;
  /** Holds the address of the count table. */
  readonly [COUNT_TABLE]: WebAssembly.Global<'i32'>;
}
