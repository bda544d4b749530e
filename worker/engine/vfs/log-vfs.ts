// The file system that SQLite sees: one registered sqlite3_vfs for all databases of the worker.
//
// Turns SQLite's calls into calls of a DatabaseFile, and thrown errors into result codes. Only main databases can be
// opened: journals are kept in memory (see LOG_PRAGMAS), and temporary files are refused. Locks always succeed: a
// database has one connection, because its files have one holder.
//
// Pages, logs and durability belong to the DatabaseFile.

import {
  isStorageError,
  type StorageError,
  storageError,
} from '../../../src/shared/contract/errors.ts';
import type { DatabaseFile } from '../file/file.ts';
import type { Pointer, SqliteExports } from './sqlite-exports.ts';
import {
  CONTROL,
  DEVICE,
  FILE_BYTES,
  IO_METHODS,
  OPENS_MAIN_DATABASE,
  RESULT,
  VFS,
} from './vfs-layout.ts';
import { type Callback, installFunctions } from './wasm-functions.ts';
import type { WasmMemory } from './wasm-memory.ts';

/**
 * Settings that a connection on this VFS runs first. The log replaces SQLite's journal on disk, so the journal lives in
 * memory and only undoes within the process; each commit of SQLite is one sync. The page size is workerd's, so that
 * database sizes agree, and files can be imported and exported.
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
  connection: Pointer;
  /** True while VACUUM is about to overwrite the file, in a transaction that it commits itself. */
  isVacuuming: boolean;
}

const NAME = 'ctx-log';
const TWO_32 = 2 ** 32;

export class LogVfs {
  /** The name of the file system, for the last argument of sqlite3_open_v2. */
  readonly name = NAME;
  readonly #memory: WasmMemory;
  readonly #attached = new Map<string, Attached>();
  readonly #open = new Map<Pointer, Attached>();
  /** Address of the method table that every open file refers to. */
  readonly #methods: Pointer;
  /** The function sqlite3_get_autocommit; a field, because every commit calls it. */
  readonly #autocommit: (connection: Pointer) => number;
  #attachedCount = 0;

  /** Registers the VFS with a module for the module's life: `Sqlite.vfs`. */
  constructor(exports: SqliteExports, memory: WasmMemory) {
    this.#memory = memory;
    this.#autocommit = exports.sqlite3_get_autocommit;
    const install = (callbacks: Readonly<Record<string, Callback>>) => {
      const names = Object.keys(callbacks);
      const addresses = installFunctions(
        exports.__indirect_function_table,
        Object.values(callbacks),
      );
      return names.map((name, index) => [name, addresses[index]!] as const);
    };
    this.#methods = memory.allocate(IO_METHODS.sizeBytes);
    writeStruct(memory, this.#methods, IO_METHODS, [
      ['iVersion', 1],
      ...install(this.#fileMethods()),
    ]);
    const vfs = memory.allocate(VFS.sizeBytes);
    const name = memory.allocate(NAME.length + 1);
    memory.write(NAME, name);
    writeStruct(memory, vfs, VFS, [
      ['iVersion', 2],
      ['szOsFile', FILE_BYTES],
      ['mxPathname', PATH_BYTES_MAX],
      ['zName', name],
      ...install(this.#vfsMethods()),
    ]);
    // Register as the default VFS: SQLite takes the seed of its random numbers only from the default one.
    exports.sqlite3_vfs_register(vfs, 1);
  }

  /** Makes the file known to SQLite; returns the name by which SQLite opens it. */
  attach(file: DatabaseFile): string {
    const name = `/${++this.#attachedCount}`;
    this.#attached.set(name, { file, error: undefined, connection: 0, isVacuuming: false });
    return name;
  }

  /** Forgets a file. Its connection must be closed. */
  detach(name: string): void {
    this.#attached.delete(name);
  }

  /** Returns and forgets the error behind the last result code that this file returned to SQLite. */
  takeError(name: string): StorageError | undefined {
    const attached = this.#attached.get(name);
    const error = attached?.error;
    if (attached !== undefined) attached.error = undefined;
    return error;
  }

  #fileMethods(): Readonly<Record<string, Callback>> {
    return {
      xClose: callback('i', (pointer: Pointer) => {
        this.#open.delete(pointer);
        return RESULT.ok;
      }),
      xRead: callback('iiij', (pointer: Pointer, buffer: Pointer, size: number, offset: bigint) =>
        this.#call(pointer, RESULT.ioRead, (file) => {
          const target = this.#memory.u8.subarray(buffer, buffer + size);
          return file.read(target, Number(offset)) ? RESULT.ok : RESULT.ioShortRead;
        }),
      ),
      xWrite: callback('iiij', (pointer: Pointer, buffer: Pointer, size: number, offset: bigint) =>
        this.#call(pointer, RESULT.ioWrite, (file) => {
          file.write(this.#memory.u8.subarray(buffer, buffer + size), Number(offset));
          return RESULT.ok;
        }),
      ),
      xTruncate: callback('ij', (pointer: Pointer, size: bigint) =>
        this.#call(pointer, RESULT.ioTruncate, (file) => {
          file.truncate(Number(size));
          return RESULT.ok;
        }),
      ),
      xSync: callback('ii', (pointer: Pointer) =>
        this.#call(pointer, RESULT.ioSync, (file) => {
          if (this.#isRollingBack(pointer)) file.endRollback();
          else file.commit();
          return RESULT.ok;
        }),
      ),
      xFileSize: callback('ii', (pointer: Pointer, out: Pointer) =>
        this.#call(pointer, RESULT.ioStat, (file) => {
          this.#writeI64(out, file.sizeBytes());
          return RESULT.ok;
        }),
      ),
      xLock: callback('ii', () => RESULT.ok),
      xUnlock: callback('ii', () => RESULT.ok),
      xCheckReservedLock: callback('ii', (_: Pointer, out: Pointer) => this.#writeI32(out, 0)),
      xFileControl: callback('iii', (pointer: Pointer, operation: number, argument: Pointer) => {
        if (operation === CONTROL.setsConnection) {
          // SQLite passes the address of the connection's pointer once the file is open.
          this.#open.get(pointer)!.connection = this.#memory.i32[argument >> 2]!;
        } else if (operation === CONTROL.beforeVacuum) this.#open.get(pointer)!.isVacuuming = true;
        return RESULT.notFound;
      }),
      xSectorSize: callback('i', () => 4096),
      xDeviceCharacteristics: callback(
        'i',
        () => DEVICE.undeletableWhenOpen | DEVICE.safeAppend | DEVICE.powersafeOverwrite,
      ),
    };
  }

  #vfsMethods(): Readonly<Record<string, Callback>> {
    return {
      xOpen: callback(
        'iiiii',
        (_: Pointer, path: Pointer, pointer: Pointer, flags: number, outFlags: Pointer) =>
          this.#xOpen(path, pointer, flags, outFlags),
      ),
      // SQLite asks whether a journal exists; there are no journals on disk.
      xAccess: callback('iiii', (_: Pointer, __: Pointer, ___: number, out: Pointer) =>
        this.#writeI32(out, 0),
      ),
      xDelete: callback('iii', () => RESULT.ok),
      xFullPathname: callback('iiii', (_: Pointer, path: Pointer, size: number, out: Pointer) => {
        const { u8 } = this.#memory;
        const end = u8.indexOf(0, path) + 1;
        if (end - path > size) return RESULT.cantOpen;
        u8.copyWithin(out, path, end);
        return RESULT.ok;
      }),
      xRandomness: callback('iii', (_: Pointer, size: number, out: Pointer) => {
        // Some browsers refuse to fill a view of growable memory; so fill an array and copy it.
        this.#memory.u8.set(crypto.getRandomValues(new Uint8Array(size)), out);
        return size;
      }),
      xSleep: callback('ii', () => RESULT.ok),
      // A VFS of version 2 needs only this clock; SQLite calls xCurrentTime only in version 1.
      xCurrentTimeInt64: callback('ii', (_: Pointer, out: Pointer) => {
        this.#writeI64(out, JULIAN_EPOCH_MS + Date.now());
        return RESULT.ok;
      }),
    };
  }

  #xOpen(path: Pointer, pointer: Pointer, flags: number, outFlags: Pointer): number {
    const attached = path ? this.#attached.get(this.#memory.readCString(path)) : undefined;
    const isMain = (flags & OPENS_MAIN_DATABASE) !== 0;
    if (!isMain || attached === undefined) return RESULT.cantOpen;
    // An open file of SQLite begins with the address of its methods; this VFS needs no other data in it.
    this.#writeI32(pointer, this.#methods);
    this.#open.set(pointer, attached);
    return outFlags ? this.#writeI32(outFlags, flags) : RESULT.ok;
  }

  #writeI32(pointer: Pointer, value: number): number {
    this.#memory.i32[pointer >> 2] = value;
    return RESULT.ok;
  }

  #writeI64(pointer: Pointer, value: number): void {
    this.#writeI32(pointer, (value % TWO_32) | 0);
    this.#writeI32(pointer + 4, Math.floor(value / TWO_32));
  }

  /**
   * True if SQLite syncs at the end of a rollback instead of a commit. COMMIT switches to autocommit before it syncs;
   * ROLLBACK, and the rollback after an error, switch after it (OP_AutoCommit in
   * https://www.sqlite.org/src/file/src/vdbe.c). VACUUM is an exception: it commits before it switches.
   */
  #isRollingBack(pointer: Pointer): boolean {
    const attached = this.#open.get(pointer)!;
    const { isVacuuming, connection } = attached;
    attached.isVacuuming = false;
    return !isVacuuming && this.#autocommit(connection) === 0;
  }

  /** Runs a call on an open file. If it throws, keeps the error for `takeError` and returns a result code. */
  #call(pointer: Pointer, failure: number, action: (file: DatabaseFile) => number): number {
    const attached = this.#open.get(pointer)!;
    try {
      return action(attached.file);
    } catch (cause) {
      const error = isStorageError(cause)
        ? cause
        : storageError('INTERNAL', `file call: ${String(cause)}`, { cause });
      attached.error = error;
      return resultCode(error, failure);
    }
  }
}

function resultCode(error: StorageError, failure: number): number {
  if (error.code === 'DISK_FULL' || error.code === 'MEMORY_FULL') return RESULT.full;
  // SQLite reports this code of a file as SQLITE_CORRUPT.
  if (error.code === 'CORRUPT') return RESULT.ioCorrupt;
  return failure;
}

function callback(parameters: string, call: Callback['call']): Callback {
  return { parameters, call };
}

/** Writes a C structure: these members, and 0 for all others. */
function writeStruct(
  { u8, i32 }: WasmMemory,
  pointer: Pointer,
  layout: Readonly<Record<string, number>> & { readonly sizeBytes: number },
  members: readonly (readonly [string, number])[],
): void {
  u8.fill(0, pointer, pointer + layout.sizeBytes);
  for (const [name, value] of members) i32[(pointer + layout[name]!) >> 2] = value;
}
