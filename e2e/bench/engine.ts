// The storage engine's numbers in Node, each with its reference, in one run.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Database } from '@sqlite.org/sqlite-wasm';
import { logVfsOf, startOfficial } from '../../packages/testing/worker/official-sqlite.ts';
import type { FileDirectory, SyncFile } from '../../worker/engine/file/file.ts';
import { NodeDirectory } from '../../worker/engine/file/node-file.ts';
import { ObjectFiles } from '../../worker/engine/log/object-files.ts';
import { LOG_PRAGMAS } from '../../worker/engine/vfs/log-vfs.ts';

const { values: options } = parseArgs({
  options: {
    commits: { type: 'string', default: '1000000' },
    directory: { type: 'string', default: tmpdir() },
  },
});

const CREATE = 'CREATE TABLE kv(k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID';
const UPSERT = 'INSERT INTO kv VALUES(?,?) ON CONFLICT DO UPDATE SET v = excluded.v';

const environment = {
  now: () => Date.now(),
  randomUint32: () => Math.floor(Math.random() * 0x1_0000_0000),
};
const official = await startOfficial();
const { sqlite3 } = official;
const vfs = logVfsOf(official);
const root = mkdtempSync(join(options.directory, 'engine-bench-'));
const rows: Record<string, string | number>[] = [];

/** Counts accesses to the files of a directory. */
class CountingDirectory implements FileDirectory {
  readonly #inner: FileDirectory;
  flushes = 0;
  logWrites = 0;
  logBytes = 0;
  /** The bytes written to all files. */
  bytes = 0;

  constructor(inner: FileDirectory) {
    this.#inner = inner;
  }

  async open(name: string): Promise<SyncFile> {
    const file = await this.#inner.open(name);
    const isLog = name.startsWith('log-');
    return {
      read: (target, offset) => file.read(target, offset),
      write: (bytes, offset) => {
        file.write(bytes, offset);
        this.bytes += bytes.length;
        // Neither the zeros written ahead nor a header are part of a commit.
        if (!isLog || bytes[8] === 0 || offset < 4096) return;
        this.logWrites++;
        this.logBytes += bytes.length;
      },
      truncate: (sizeBytes) => file.truncate(sizeBytes),
      sizeBytes: () => file.sizeBytes(),
      flush: () => {
        this.flushes++;
        return file.flush();
      },
      close: () => file.close(),
    };
  }

  names() {
    return this.#inner.names();
  }

  remove(name: string) {
    return this.#inner.remove(name);
  }
}

interface Opened {
  readonly files: ObjectFiles;
  readonly db: Database;
  close(): Promise<void>;
}

async function open(directory: FileDirectory): Promise<Opened> {
  const files = await ObjectFiles.open(directory, environment);
  const filename = vfs.attach(files.file);
  const db = new sqlite3.oo1.DB({ filename, vfs: vfs.name, flags: 'c' });
  for (const pragma of LOG_PRAGMAS) db.exec(pragma);
  const close = async () => {
    db.close();
    vfs.detach(filename);
    await files.close();
  };
  return { files, db, close };
}

function directoryOf(name: string): NodeDirectory {
  return new NodeDirectory(join(root, name));
}

const pool = crypto.getRandomValues(new Uint8Array(65_536));
function blob(bytes: number): Uint8Array {
  const start = Math.floor(Math.random() * (pool.length - bytes));
  return pool.subarray(start, start + bytes);
}

function milliseconds(from: number): number {
  return performance.now() - from;
}

/** Processor time of this process: flushes wait for a disk that others use too. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function report(what: string, value: string, bound: string): void {
  rows.push({ what, value, bound });
  console.error(`${what}: ${value}`);
}

/** Commits of one 100-byte value, each flushed, against a bare write and flush of as many bytes. */
async function commits(): Promise<void> {
  const count = 3000;
  const directory = new CountingDirectory(directoryOf('commits'));
  const { files, db, close } = await open(directory);
  db.exec(CREATE);
  const upsert = db.prepare(UPSERT);
  const put = (i: number) => upsert.bind([`key${i % 1000}`, blob(100)]).stepReset();
  for (let i = 0; i < 1000; i++) put(i);
  await files.flush();
  Object.assign(directory, { flushes: 0, logWrites: 0, logBytes: 0 });
  const raw = await directoryOf('raw').open('raw');
  const rawBytes = pool.subarray(0, 290);
  raw.write(new Uint8Array(rawBytes.length * count), 0);
  raw.flush();
  // In turns, so that both meet the same load.
  const total = { commit: 0, raw: 0 };
  for (let i = 0; i < count; i++) {
    let start = performance.now();
    put(i);
    files.flush();
    total.commit += milliseconds(start);
    start = performance.now();
    raw.write(rawBytes, i * rawBytes.length);
    raw.flush();
    total.raw += milliseconds(start);
  }
  raw.close();
  const bytes = Math.round(directory.logBytes / directory.logWrites);
  upsert.finalize();
  await close();
  report('flushes per commit', (directory.flushes / count).toFixed(3), '1.00');
  report('log writes per commit', (directory.logWrites / count).toFixed(3), '1.00');
  report('log bytes per put of 100 bytes', String(bytes), '≤ 400');
  report('commit / bare write and flush', (total.commit / total.raw).toFixed(2), '≤ 1.3');
}

/** Measures typical saves of apps, each with a flush: bytes and flushes that reach the disk, checkpoints included. */
async function saves(): Promise<void> {
  const count = 1000;
  let text = String.fromCharCode(...blob(50_000).map((byte) => 97 + (byte % 26)));
  const typed = (i: number) => {
    const at = (i * 7919) % text.length;
    text = `${text.slice(0, at)} word${text.slice(at)}`;
    return text;
  };
  const patterns: Record<string, (db: Database, i: number) => void> = {
    'a value of 100 bytes replaced': (db, i) =>
      void db.exec({ sql: UPSERT, bind: [`key${i % 100}`, blob(100)] }),
    'a number of a row changed': (db, i) =>
      void db.exec({ sql: 'UPDATE r SET n = ? WHERE id = ?', bind: [i, 1 + (i % 1000)] }),
    'a row appended': (db, i) =>
      void db.exec({ sql: 'INSERT INTO r(a, n) VALUES(?, ?)', bind: [`message ${i}`, i] }),
    'a word inserted into a text of 50 KB': (db, i) =>
      void db.exec({ sql: UPSERT, bind: ['text', typed(i)] }),
  };
  for (const [name, save] of Object.entries(patterns)) {
    const directory = new CountingDirectory(directoryOf(`save ${name}`));
    const { files, db, close } = await open(directory);
    db.exec(CREATE);
    db.exec('CREATE TABLE r(id INTEGER PRIMARY KEY, a TEXT, n)');
    const ids = 'WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c LIMIT 1000)';
    db.exec(`${ids} INSERT INTO r SELECT id, 'row ' || id, 0 FROM c`);
    save(db, 0);
    await files.flush();
    Object.assign(directory, { flushes: 0, bytes: 0 });
    for (let i = 1; i <= count; i++) {
      save(db, i);
      await files.flush();
      if (files.needsMaintenance) await files.maintain();
    }
    const perSave = (sum: number) => (sum / count).toFixed(2);
    const kilobytes = `${perSave(directory.bytes / 1000)} KB, ${perSave(directory.flushes)} flushes`;
    report(`disk per save: ${name}`, kilobytes, '');
    await close();
  }
}

/** A restore over 10,000 commits of a 100 MB database, against a copy of its main file. */
async function restores(): Promise<void> {
  const directory = directoryOf('restore');
  let opened = await open(directory);
  opened.db.exec(CREATE);
  opened.db.exec('BEGIN');
  const upsert = opened.db.prepare(UPSERT);
  const key = (i: number) => `key${String(i).padStart(6, '0')}`;
  for (let i = 0; i < 95_000; i++) upsert.bind([key(i), blob(880)]).stepReset();
  opened.db.exec('COMMIT');
  await opened.files.flush();
  const bookmark = opened.files.currentBookmark();
  for (let i = 0; i < 10_000; i++) {
    const isNew = Math.random() < 0.1;
    const name = isNew ? `new${i}` : key(Math.floor(Math.random() * 95_000));
    upsert.bind([name, blob(100 + Math.floor(Math.random() * 780))]).stepReset();
    if (i % 20 === 0) {
      await opened.files.flush();
      if (opened.files.needsMaintenance) await opened.files.maintain();
    }
  }
  upsert.finalize();
  opened.files.scheduleRestore(bookmark);
  await opened.files.flush();
  await opened.files.checkpoint();
  const mainBytes = opened.files.file.sizeBytes();
  await opened.close();

  let start = performance.now();
  const main = await directory.open('main');
  const copy = await directory.open('copy');
  const buffer = new Uint8Array(1 << 20);
  for (let at = 0; at < main.sizeBytes(); at += buffer.length) {
    copy.write(buffer.subarray(0, main.read(buffer, at)), at);
  }
  copy.flush();
  const copyMs = milliseconds(start);
  main.close();
  copy.close();

  start = performance.now();
  const files = await ObjectFiles.open(directory, environment);
  const restoreMs = milliseconds(start);
  await files.close();
  opened = await open(directory);
  const left = opened.db.selectValue("SELECT count(*) FROM kv WHERE k LIKE 'new%'");
  if (left !== 0) throw new Error(`the restore left ${String(left)} rows`);
  await opened.close();
  report('database restored', `${(mainBytes / 1e6).toFixed(0)} MB`, '100 MB');
  report('restore and open', `${restoreMs.toFixed(0)} ms`, '');
  report('copy of the main file', `${copyMs.toFixed(0)} ms`, '');
  report('restore / copy', (restoreMs / copyMs).toFixed(2), '< 1.5');
}

/** Opening with a long history, against the same data without one. */
async function openings(): Promise<void> {
  const count = Number(options.commits);
  const long = directoryOf('long');
  const { files, db, close } = await open(long);
  db.exec(CREATE);
  const upsert = db.prepare(UPSERT);
  const start = performance.now();
  for (let i = 0; i < count; i++) {
    upsert.bind([`key${i % 1000}`, blob(100)]).stepReset();
    if (i % 1000 !== 999) continue;
    await files.flush();
    if (files.needsMaintenance) await files.maintain();
  }
  console.error(`${count} commits in ${(milliseconds(start) / 1000).toFixed(1)} s`);
  const middleMs = Date.now() - milliseconds(start) / 2;
  upsert.finalize();
  await close();

  const short = directoryOf('short');
  const fresh = await open(short);
  fresh.db.exec(CREATE);
  fresh.db.exec('BEGIN');
  for (let i = 0; i < 1000; i++) fresh.db.exec({ sql: UPSERT, bind: [`key${i}`, blob(100)] });
  fresh.db.exec('COMMIT');
  await fresh.files.flush();
  await fresh.close();

  const times = { long: [] as number[], short: [] as number[] };
  for (let round = 0; round < 15; round++) {
    for (const [name, directory] of [
      ['long', long],
      ['short', short],
    ] as const) {
      const from = processorMs();
      const opened = await open(directory);
      opened.db.selectValue('SELECT count(*) FROM kv');
      times[name].push(processorMs() - from);
      await opened.close();
    }
  }
  const median = (list: number[]) => list.sort((a, b) => a - b)[list.length >> 1]!;
  const [longMs, shortMs] = [median(times.long), median(times.short)];
  report(`open after ${count} commits`, `${longMs.toFixed(2)} ms`, '');
  report('open without history', `${shortMs.toFixed(2)} ms`, '');
  report('open with / without history', (longMs / shortMs).toFixed(2), '≤ 2');

  await distances(long, shortMs);

  const again = await ObjectFiles.open(long, environment);
  const from = performance.now();
  await again.bookmarkForTime(middleMs);
  report('bookmark for a time in the middle', `${milliseconds(from).toFixed(2)} ms`, '');
  await again.close();
}

/** Measures an opening that must redo commits: up to the bound of 256 KB, after which a checkpoint is made. */
async function distances(directory: FileDirectory, shortMs: number): Promise<void> {
  const ratios: number[] = [];
  for (const commits of [0, 150, 300, 450, 600, 750]) {
    const { files, db, close } = await open(directory);
    await files.checkpoint();
    const upsert = db.prepare(UPSERT);
    for (let i = 0; i < commits; i++) {
      upsert.bind([`key${i % 1000}`, blob(100)]).stepReset();
      await files.flush();
    }
    upsert.finalize();
    await close();
    const times: number[] = [];
    for (let round = 0; round < 15; round++) {
      const from = processorMs();
      const opened = await open(directory);
      opened.db.selectValue('SELECT count(*) FROM kv');
      times.push(processorMs() - from);
      await opened.close();
    }
    const ms = times.sort((a, b) => a - b)[times.length >> 1]!;
    ratios.push(ms / shortMs);
    report(`open with ${commits} commits to redo`, `${ms.toFixed(2)} ms`, '');
  }
  report('the longest of them / without history', Math.max(...ratios).toFixed(2), '≤ 2');
}

/** Memory of a thousand open objects, their SQLite connections included. */
async function memory(): Promise<void> {
  const count = 1000;
  const settle = () => {
    globalThis.gc?.();
    const { rss, heapUsed, external } = process.memoryUsage();
    return { rss, script: heapUsed + external };
  };
  const before = settle();
  const objects: Opened[] = [];
  for (let i = 0; i < count; i++) {
    const opened = await open(directoryOf(`many/${i}`));
    opened.db.exec(CREATE);
    for (let k = 0; k < 20; k++) opened.db.exec({ sql: UPSERT, bind: [`key${k}`, blob(100)] });
    await opened.files.flush();
    objects.push(opened);
  }
  const after = settle();
  const perObject = (bytes: number) => `${Math.round(bytes / count / 1024)} KB`;
  report('memory per open object (resident)', perObject(after.rss - before.rss), '≤ 300 KB');
  report('of it script and buffers', perObject(after.script - before.script), '');
  for (const object of objects) await object.close();
}

try {
  await memory();
  await commits();
  await saves();
  await restores();
  await openings();
  console.table(rows);
} finally {
  rmSync(root, { recursive: true, force: true });
}
