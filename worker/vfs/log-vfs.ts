// The file system that SQLite sees: one registered sqlite3_vfs, many databases.
//
// Turns calls with pointers into calls of a DatabaseFile, and thrown errors into result codes. Only main
// databases open here: journals are kept in memory (see LOG_PRAGMAS), and a temporary file is refused.
// There are no locks: a database has one connection, because its files have one holder.
//
// Knows nothing of pages, logs or durability.

import type { Sqlite3Static, WasmPointer } from '@sqlite.org/sqlite-wasm';
import { isStorageError, type StorageError, storageError } from '../../src/contract/errors.ts';
import type { DatabaseFile } from '../file/database-file.ts';

/**
 * Settings of a connection on this VFS, before it does anything else: the log is the journal, so
 * SQLite's own need only undo within the process, and a sync is one commit. The page size is workerd's,
 * so that sizes agree, and files can be imported and exported.
 */
export const LOG_PRAGMAS: readonly string[] = [
  'PRAGMA page_size=4096',
  'PRAGMA locking_mode=EXCLUSIVE',
  'PRAGMA journal_mode=MEMORY',
  'PRAGMA synchronous=NORMAL',
  'PRAGMA temp_store=MEMORY',
];

/** Milliseconds from SQLite's start of time, in the Julian calendar, to 1970. */
const JULIAN_EPOCH_MS = 210_866_760_000_000;
const PATH_BYTES_MAX = 64;

interface Attached {
  readonly file: DatabaseFile;
  error: StorageError | undefined;
  /** The connection that has the file open: a `sqlite3*`. */
  connection: WasmPointer;
  /** VACUUM is about to overwrite the file, in a transaction that it commits itself. */
  isVacuuming: boolean;
}

const NAME = 'ctx-log';

export class LogVfs {
  /** For the last argument of sqlite3_open_v2. */
  readonly name = NAME;
  readonly #sqlite3: Sqlite3Static;
  readonly #attached = new Map<string, Attached>();
  readonly #open = new Map<WasmPointer, Attached>();
  /** Address of the method table every open file points at. */
  readonly #methods: WasmPointer;
  /** SQLite's own function, without conversions around it: every commit calls it. */
  readonly #autocommit: (connection: WasmPointer) => number;
  #attachedCount = 0;

  /** Registers the VFS with a module, which has one for its life: `Sqlite.vfs`. */
  constructor(sqlite3: Sqlite3Static) {
    this.#sqlite3 = sqlite3;
    this.#autocommit = sqlite3.wasm.exports.sqlite3_get_autocommit as (_: WasmPointer) => number;
    const methods = new sqlite3.capi.sqlite3_io_methods();
    // The package's types misspell the member.
    (methods as unknown as { $iVersion: number }).$iVersion = 1;
    this.#methods = methods.pointer;
    const io = { struct: methods, methods: this.#fileMethods() };
    sqlite3.vfs.installVfs({ io });
    this.#register();
  }

  /** Makes a file openable; returns the name to open it by. */
  attach(file: DatabaseFile): string {
    const name = `/${++this.#attachedCount}`;
    this.#attached.set(name, { file, error: undefined, connection: 0, isVacuuming: false });
    return name;
  }

  /** Forgets a file. Its connection must be closed. */
  detach(name: string): void {
    this.#attached.delete(name);
  }

  /** Takes the error behind the last result code that a file returned to SQLite. */
  takeError(name: string): StorageError | undefined {
    const attached = this.#attached.get(name);
    const error = attached?.error;
    if (attached !== undefined) attached.error = undefined;
    return error;
  }

  #fileMethods() {
    const { capi, wasm } = this.#sqlite3;
    const { SQLITE_FCNTL_PDB: tellsConnection, SQLITE_FCNTL_OVERWRITE: overwrites } = capi;
    return {
      xClose: (pointer: WasmPointer) => {
        this.#open.delete(pointer);
        return capi.SQLITE_OK;
      },
      xRead: (pointer: WasmPointer, buffer: WasmPointer, size: number, offset: number) =>
        this.#call(pointer, capi.SQLITE_IOERR_READ, (file) => {
          const target = wasm.heap8u().subarray(buffer, buffer + size);
          return file.read(target, Number(offset)) ? capi.SQLITE_OK : capi.SQLITE_IOERR_SHORT_READ;
        }),
      xWrite: (pointer: WasmPointer, buffer: WasmPointer, size: number, offset: number) =>
        this.#call(pointer, capi.SQLITE_IOERR_WRITE, (file) => {
          file.write(wasm.heap8u().subarray(buffer, buffer + size), Number(offset));
          return capi.SQLITE_OK;
        }),
      xTruncate: (pointer: WasmPointer, size: number) =>
        this.#call(pointer, capi.SQLITE_IOERR_TRUNCATE, (file) => {
          file.truncate(Number(size));
          return capi.SQLITE_OK;
        }),
      xSync: (pointer: WasmPointer) =>
        this.#call(pointer, capi.SQLITE_IOERR_FSYNC, (file) => {
          if (this.#isRollingBack(pointer)) file.endRollback();
          else file.commit();
          return capi.SQLITE_OK;
        }),
      xFileSize: (pointer: WasmPointer, out: WasmPointer) =>
        this.#call(pointer, capi.SQLITE_IOERR_FSTAT, (file) => {
          wasm.poke64(out, BigInt(file.sizeBytes()));
          return capi.SQLITE_OK;
        }),
      xLock: () => capi.SQLITE_OK,
      xUnlock: () => capi.SQLITE_OK,
      xCheckReservedLock: (_: WasmPointer, out: WasmPointer) => {
        wasm.poke32(out, 0);
        return capi.SQLITE_OK;
      },
      xFileControl: (pointer: WasmPointer, operation: number, argument: WasmPointer) => {
        if (operation === tellsConnection) {
          // Sent once the file is open, with the address of the connection's pointer.
          this.#open.get(pointer)!.connection = wasm.peekPtr(argument);
        } else if (operation === overwrites) this.#open.get(pointer)!.isVacuuming = true;
        return capi.SQLITE_NOTFOUND;
      },
      xSectorSize: () => 4096 as never,
      xDeviceCharacteristics: () =>
        (capi.SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN |
          capi.SQLITE_IOCAP_SAFE_APPEND |
          capi.SQLITE_IOCAP_POWERSAFE_OVERWRITE) as never,
    };
  }

  #register(): void {
    const { capi, wasm } = this.#sqlite3;
    const vfs = new capi.sqlite3_vfs();
    const official = new capi.sqlite3_vfs(capi.sqlite3_vfs_find(null as never) as WasmPointer);
    vfs.$iVersion = 2;
    vfs.$szOsFile = (
      capi.sqlite3_file as unknown as { structInfo: { sizeof: number } }
    ).structInfo.sizeof;
    vfs.$mxPathname = PATH_BYTES_MAX;
    const random = vfs as unknown as { $xRandomness: WasmPointer };
    random.$xRandomness = (official as unknown as { $xRandomness: WasmPointer }).$xRandomness;
    official.dispose();
    this.#sqlite3.vfs.installVfs({
      vfs: {
        struct: vfs,
        name: this.name,
        methods: {
          xOpen: (_, path, pointer, flags, outFlags) => this.#xOpen(path, pointer, flags, outFlags),
          // SQLite asks for journals, of which there are none.
          xAccess: (_, __, ___, out) => {
            wasm.poke32(out, 0);
            return capi.SQLITE_OK;
          },
          xDelete: () => capi.SQLITE_OK,
          xFullPathname: (_, path, size, out) =>
            wasm.cstrncpy(out, path, size) < size ? capi.SQLITE_OK : capi.SQLITE_CANTOPEN,
          xSleep: () => capi.SQLITE_OK,
          // SQLite asks a VFS of version 2 for nothing but this; xCurrentTime is of version 1.
          xCurrentTimeInt64: (_, out) => {
            wasm.poke64(out, BigInt(JULIAN_EPOCH_MS + Date.now()));
            return capi.SQLITE_OK;
          },
        },
      },
    });
  }

  #xOpen(path: WasmPointer, pointer: WasmPointer, flags: number, outFlags: WasmPointer) {
    const { capi, wasm } = this.#sqlite3;
    const attached = path ? this.#attached.get(wasm.cstrToJs(path) ?? '') : undefined;
    const isMain = (flags & capi.SQLITE_OPEN_MAIN_DB) !== 0;
    if (!isMain || attached === undefined) return capi.SQLITE_CANTOPEN;
    const file = new capi.sqlite3_file(pointer);
    file.$pMethods = this.#methods;
    file.dispose();
    this.#open.set(pointer, attached);
    if (outFlags) wasm.poke32(outFlags, flags);
    return capi.SQLITE_OK;
  }

  /**
   * True when SQLite syncs at the end of a rollback. Both syncs look alike, but COMMIT switches to
   * autocommit before it syncs, and ROLLBACK, or the rollback after an error, once it is done:
   * https://www.sqlite.org/src/file/src/vdbe.c (OP_AutoCommit). Only VACUUM commits in between.
   */
  #isRollingBack(pointer: WasmPointer): boolean {
    const attached = this.#open.get(pointer)!;
    const { isVacuuming, connection } = attached;
    attached.isVacuuming = false;
    return !isVacuuming && this.#autocommit(connection) === 0;
  }

  /** Runs a call on an open file; keeps the error it throws, and returns a result code for it. */
  #call(pointer: WasmPointer, failure: number, action: (file: DatabaseFile) => number): never {
    const attached = this.#open.get(pointer)!;
    try {
      return action(attached.file) as never;
    } catch (cause) {
      const error = isStorageError(cause)
        ? cause
        : storageError('INTERNAL', `file call: ${String(cause)}`, { cause });
      attached.error = error;
      return this.#resultCode(error, failure) as never;
    }
  }

  #resultCode(error: StorageError, failure: number): number {
    const { capi } = this.#sqlite3;
    if (error.code === 'DISK_FULL' || error.code === 'MEMORY_FULL') return capi.SQLITE_FULL;
    // The code a file has for it; SQLite reports it as SQLITE_CORRUPT.
    if (error.code === 'CORRUPT') return capi.SQLITE_IOERR_CORRUPTFS;
    return failure;
  }
}
