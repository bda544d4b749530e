// The database file, as SQLite uses it.
//
// The VFS converts SQLite's calls to these; the log implements them. Invariant: between two calls of
// `commit`, the file shows the running transaction to SQLite, its only reader.

export interface DatabaseFile {
  /** Fills `target` from `offset`; false if the file is shorter, and the rest is zeros. */
  read(target: Uint8Array, offset: number): boolean;
  write(bytes: Uint8Array, offset: number): void;
  truncate(sizeBytes: number): void;
  sizeBytes(): number;
  /**
   * SQLite's sync at the end of a transaction: everything written since the last call becomes one
   * committed transaction, atomically. A flush makes it durable.
   *
   * @throws DISK_FULL, IO: the transaction is then not committed, and SQLite rolls it back.
   */
  commit(): void;
  /**
   * SQLite's sync at the end of a rollback that had to write: the file returns to the last commit.
   * Pages that SQLite counts as free may contain other bytes than it wrote. Needs no disk.
   */
  endRollback(): void;
}
