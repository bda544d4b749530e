// Runs the program that a refused import names, as its reader would: SQL in plain SQLite, other lines in a shell.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOfficial } from './official-sqlite.ts';

type Official = Awaited<ReturnType<typeof startOfficial>>['sqlite3'];

type SetUp = (database: InstanceType<Official['oo1']['DB']>, sqlite3: Official) => void;

let official: ReturnType<typeof startOfficial> | undefined;
let count = 0;

/** True when this machine has the sqlite3 program. */
export const hasShell = spawnSync('sqlite3', ['--version']).status === 0;

/** The lines of the program in an error's message; none: it names none. */
export function programIn(message: string): string[] {
  const [, ...lines] = message.split('\n');
  return lines;
}

/**
 * The result of the program on a file; `byShell`: all of it by the sqlite3 program of this machine; otherwise by SQLite
 * with the code of `setUp`.
 */
export async function mended(
  file: Uint8Array,
  program: readonly string[],
  byShell = false,
  setUp?: SetUp,
): Promise<Uint8Array> {
  let result = file;
  let sql: string[] = [];
  const runSql = async () => {
    if (sql.length > 0)
      result = await (byShell ? runInShell : runInOfficialBuild)(result, sql.join('\n'), setUp);
    sql = [];
  };
  for (const line of program) {
    if (!line.startsWith('sqlite3 ')) sql.push(line);
    else {
      await runSql();
      result = mendInShell(result, line);
    }
  }
  await runSql();
  return result;
}

/** A file that SQLite writes on a disk of its own, prepared by `setUp`. */
export async function fileBy(setUp: SetUp): Promise<Uint8Array> {
  official ??= startOfficial();
  const { sqlite3 } = await official;
  const database = new sqlite3.oo1.DB(`/made-${++count}.sqlite`, 'c');
  try {
    setUp(database, sqlite3);
    return sqlite3.capi.sqlite3_js_db_export(database.pointer!);
  } finally {
    database.close();
  }
}

/** A file that the sqlite3 program writes. */
export function fileInShell(sql: string): Promise<Uint8Array> {
  return runInShell(new Uint8Array(), sql);
}

async function runInOfficialBuild(
  file: Uint8Array,
  sql: string,
  setUp?: SetUp,
): Promise<Uint8Array> {
  official ??= startOfficial();
  const { sqlite3 } = await official;
  const name = `/mended-${++count}.sqlite`;
  sqlite3.capi.sqlite3_js_posix_create_file(name, file);
  const database = new sqlite3.oo1.DB(name, 'w');
  try {
    setUp?.(database, sqlite3);
    database.exec(sql);
    return sqlite3.capi.sqlite3_js_db_export(database.pointer!);
  } finally {
    database.close();
  }
}

async function runInShell(file: Uint8Array, sql: string): Promise<Uint8Array> {
  return inFolder(file, (folder) => {
    execFileSync('sqlite3', ['-bail', join(folder, 'file.sqlite')], { input: sql, stdio: 'pipe' });
    return readFileSync(join(folder, 'file.sqlite'));
  });
}

function mendInShell(file: Uint8Array, command: string): Uint8Array {
  return inFolder(file, (folder) => {
    const { stderr } = spawnSync('sh', ['-c', command], { cwd: folder, encoding: 'utf8' });
    if (stderr !== '') throw new Error(stderr);
    return readFileSync(join(folder, 'mended.sqlite'));
  });
}

function inFolder(file: Uint8Array, use: (folder: string) => Uint8Array): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'mended-'));
  try {
    writeFileSync(join(folder, 'file.sqlite'), file);
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
