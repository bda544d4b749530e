// The answers of the program around SQLite, compared with the answers of Emscripten's loader.

import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { startOfficial } from '../../../packages/testing/worker/official-sqlite.ts';
import { type Sqlite, sqliteOf } from './sqlite-module.ts';
import { startWasm } from './wasm-host.ts';

const module = new WebAssembly.Module(readFileSync(new URL('./sqlite3.wasm', import.meta.url)));

function started(): Sqlite {
  const { exports, memory } = startWasm(module);
  return sqliteOf(exports as never, memory, started);
}

/** The first value of a query, as text. */
function ask({ exports, memory }: Sqlite, sql: string): string {
  const out = memory.allocate(8);
  memory.writeScratch(':memory:');
  expect(exports.sqlite3_open_v2(memory.scratch(0), out, 0x6, 0)).toBe(0);
  const db = memory.i32[out >> 2]!;
  memory.writeScratch(sql);
  expect(exports.sqlite3_prepare_v3(db, memory.scratch(0), -1, 0, out, out + 4)).toBe(0);
  const statement = memory.i32[out >> 2]!;
  expect(exports.sqlite3_step(statement)).toBe(100);
  const value = memory.readCString(exports.sqlite3_column_text(statement, 0));
  exports.sqlite3_finalize(statement);
  exports.sqlite3_close_v2(db);
  memory.free(out);
  return value;
}

// An import that is added would be answered that it does not exist, which nobody has thought about.
test('[SQL23] the build imports only the known functions of the program around it', () => {
  const names = WebAssembly.Module.imports(module).map(({ name }) => name);
  const answered =
    'memory emscripten_get_heap_max emscripten_resize_heap emscripten_date_now emscripten_get_now ' +
    '_tzset_js _localtime_js';
  const absent =
    '_mmap_js _munmap_js clock_time_get environ_get environ_sizes_get fd_close fd_fdstat_get fd_read ' +
    'fd_seek fd_sync fd_write __syscall_chmod __syscall_faccessat __syscall_fchmod __syscall_fchown32 ' +
    '__syscall_fcntl64 __syscall_fstat64 __syscall_ftruncate64 __syscall_getcwd __syscall_ioctl ' +
    '__syscall_lstat64 __syscall_mkdirat __syscall_newfstatat __syscall_openat __syscall_readlinkat ' +
    '__syscall_rmdir __syscall_stat64 __syscall_unlinkat __syscall_utimensat';
  expect(names.toSorted()).toEqual(`${answered} ${absent}`.split(' ').toSorted());
});

const { TZ } = process.env;
afterEach(() => {
  if (TZ === undefined) delete process.env.TZ;
  else process.env.TZ = TZ;
});

// Lord Howe Island adds half an hour in its summer, the northern winter.
const ZONES = { 'America/New_York': '17:13:20', 'Australia/Lord_Howe': '09:13:20' };

test('[SQL23] local time is that of the zone, and of the official loader', async () => {
  const sqlite = await started();
  const { sqlite3 } = await startOfficial();
  const official = new sqlite3.oo1.DB(':memory:');
  for (const [zone, time] of Object.entries(ZONES)) {
    process.env.TZ = zone;
    expect(ask(sqlite, "SELECT time(1700000000, 'unixepoch', 'localtime')")).toBe(time);
    for (const seconds of [
      0,
      -86_400 * 365,
      951_782_399,
      1_700_000_000,
      1_720_000_000,
      2_000_000_000,
    ]) {
      for (const change of ['localtime', 'utc']) {
        const sql = `SELECT datetime(${seconds}, 'unixepoch', '${change}')`;
        expect([sql, ask(sqlite, sql)]).toEqual([sql, official.selectValue(sql)]);
      }
    }
  }
  official.close();
});

test('[SQL23] memory grows to the needs of one value, and to no more than there is', async () => {
  const { exports, memory } = await started();
  const before = memory.u8.length;
  const pointer = exports.sqlite3_malloc(before * 3);
  expect(pointer).toBeGreaterThan(0);
  expect(memory.u8.length).toBeGreaterThan(before * 3);
  expect(memory.u8.length % 65_536).toBe(0);
  memory.u8[pointer + before * 3 - 1] = 7;
  const grown = memory.u8.length;
  expect(() => memory.allocate(2_147_000_000)).toThrow(
    expect.objectContaining({ code: 'SQL_MEMORY' }),
  );
  expect(memory.u8.length).toBe(grown);
  exports.sqlite3_free(pointer);
});

test("[SQL23] there is no file system but this package's: a file of the system is not opened", async () => {
  const { exports, memory } = await started();
  const out = memory.allocate(4);
  // The default VFS is this package's. The build of SQLite has two more, whose system calls all fail as if they did not
  // exist.
  for (const vfs of ['', 'unix', 'unix-none']) {
    const path = memory.allocate(64);
    memory.write('/tmp/none.db', path);
    memory.write(vfs, path + 32);
    const opened = exports.sqlite3_open_v2(path, out, 0x6, vfs === '' ? 0 : path + 32);
    expect([vfs, opened]).toEqual([vfs, 14]);
    exports.sqlite3_close_v2(memory.i32[out >> 2]!);
    memory.free(path);
  }
});
