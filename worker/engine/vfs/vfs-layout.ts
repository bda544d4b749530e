// The C structures and constants that a file system (VFS) for SQLite needs.
//
// Members are listed with their offset in bytes; each is 4 bytes long. A test compares all offsets with SQLite's
// description of its own build.

/** Size of `sqlite3_file`, which holds only the address of its methods. */
export const FILE_BYTES = 4;

/** `sqlite3_vfs` of version 2. */
export const VFS = {
  sizeBytes: 88,
  iVersion: 0,
  szOsFile: 4,
  mxPathname: 8,
  zName: 16,
  xOpen: 24,
  xDelete: 28,
  xAccess: 32,
  xFullPathname: 36,
  xRandomness: 56,
  xSleep: 60,
  xCurrentTimeInt64: 72,
} as const;

/** `sqlite3_io_methods`. The members of later versions than 1 follow and stay 0. */
export const IO_METHODS = {
  sizeBytes: 76,
  iVersion: 0,
  xClose: 4,
  xRead: 8,
  xWrite: 12,
  xTruncate: 16,
  xSync: 20,
  xFileSize: 24,
  xLock: 28,
  xUnlock: 32,
  xCheckReservedLock: 36,
  xFileControl: 40,
  xSectorSize: 44,
  xDeviceCharacteristics: 48,
} as const;

/** SQLite's result codes; those that begin with `io` are extended codes of SQLITE_IOERR. */
export const RESULT = {
  ok: 0,
  notFound: 12,
  full: 13,
  cantOpen: 14,
  ioRead: 10 | (1 << 8),
  ioShortRead: 10 | (2 << 8),
  ioWrite: 10 | (3 << 8),
  ioSync: 10 | (4 << 8),
  ioTruncate: 10 | (6 << 8),
  ioStat: 10 | (7 << 8),
  ioCorrupt: 10 | (33 << 8),
} as const;

/** Operations of `xFileControl`: SQLite passes the connection of a file, or says that VACUUM will overwrite it. */
export const CONTROL = { setsConnection: 30, beforeVacuum: 11 } as const;

/** Flags that `xDeviceCharacteristics` returns. */
export const DEVICE = {
  safeAppend: 0x200,
  undeletableWhenOpen: 0x800,
  powersafeOverwrite: 0x1000,
} as const;

/** Flag of `xOpen`: the file is a main database, not a journal or a temporary file. */
export const OPENS_MAIN_DATABASE = 0x100;
