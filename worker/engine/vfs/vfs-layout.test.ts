// The layout of SQLite's file system against SQLite's description of its build.

import { expect, test } from 'vitest';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import {
  CONTROL,
  DEVICE,
  FILE_BYTES,
  IO_METHODS,
  OPENS_MAIN_DATABASE,
  RESULT,
  VFS,
} from './vfs-layout.ts';

interface Struct {
  readonly name: string;
  readonly sizeof: number;
  readonly members: Readonly<Record<string, { readonly offset: number; readonly sizeof: number }>>;
}

const { exports, memory } = await loadSqliteInNode();
const told = JSON.parse(memory.readCString(exports.sqlite3__wasm_enum_json())) as {
  readonly structs: readonly Struct[];
} & Readonly<Record<string, Readonly<Record<string, number>>>>;

function layoutOf(name: string, ours: object): Readonly<Record<string, number>> {
  const struct = told.structs.find((each) => each.name === name)!;
  const members = Object.keys(ours).filter((member) => member !== 'sizeBytes');
  for (const member of members) expect(struct.members[member]!.sizeof).toBe(4);
  return {
    sizeBytes: struct.sizeof,
    ...Object.fromEntries(members.map((member) => [member, struct.members[member]!.offset])),
  };
}

test('[LOG18] the structures of a file system lie as SQLite has them', () => {
  expect(layoutOf('sqlite3_vfs', VFS)).toEqual(VFS);
  expect(layoutOf('sqlite3_io_methods', IO_METHODS)).toEqual(IO_METHODS);
  expect(layoutOf('sqlite3_file', { pMethods: 0 })).toEqual({ sizeBytes: FILE_BYTES, pMethods: 0 });
});

test('[LOG18] the numbers of a file system are those of SQLite', () => {
  const { resultCodes, fcntl, ioCap, openFlags } = told;
  expect(RESULT).toEqual({
    ok: resultCodes!.SQLITE_OK,
    notFound: resultCodes!.SQLITE_NOTFOUND,
    full: resultCodes!.SQLITE_FULL,
    cantOpen: resultCodes!.SQLITE_CANTOPEN,
    ioRead: resultCodes!.SQLITE_IOERR_READ,
    ioShortRead: resultCodes!.SQLITE_IOERR_SHORT_READ,
    ioWrite: resultCodes!.SQLITE_IOERR_WRITE,
    ioSync: resultCodes!.SQLITE_IOERR_FSYNC,
    ioTruncate: resultCodes!.SQLITE_IOERR_TRUNCATE,
    ioStat: resultCodes!.SQLITE_IOERR_FSTAT,
    ioCorrupt: resultCodes!.SQLITE_IOERR_CORRUPTFS,
  });
  expect(CONTROL).toEqual({
    setsConnection: fcntl!.SQLITE_FCNTL_PDB,
    beforeVacuum: fcntl!.SQLITE_FCNTL_OVERWRITE,
  });
  expect(DEVICE).toEqual({
    safeAppend: ioCap!.SQLITE_IOCAP_SAFE_APPEND,
    undeletableWhenOpen: ioCap!.SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN,
    powersafeOverwrite: ioCap!.SQLITE_IOCAP_POWERSAFE_OVERWRITE,
  });
  expect(OPENS_MAIN_DATABASE).toBe(openFlags!.SQLITE_OPEN_MAIN_DB);
});
