// What SQLite sees as its one database file, and what it needs of it.
//
// The VFS turns SQLite's pointers into these calls; the log implements them. Invariant: between two
// calls of `commit` the file shows the running transaction to its only reader, SQLite.

export interface DatabaseFile {
  /** Fills `target` from `offset`; false when the file ended before (the rest is zeroed). */
  read(target: Uint8Array, offset: number): boolean;
  write(bytes: Uint8Array, offset: number): void;
  truncate(sizeBytes: number): void;
  sizeBytes(): number;
  /**
   * SQLite's sync of a transaction that ends: everything written since the last call becomes one
   * committed transaction, all or nothing. Not yet durable: that is the flush.
   *
   * @throws DISK_FULL, IO: the transaction is then not committed and SQLite rolls it back.
   */
  commit(): void;
  /**
   * SQLite's sync at the end of a rollback that had to write: the file is again as after the last
   * commit. Pages that SQLite counts as free may hold other bytes than it wrote. Needs no disk.
   */
  endRollback(): void;
}
