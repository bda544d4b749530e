// Tests that the command `ctx-storage log` reports the files of an object without changing them.

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { logCommand } from '../../../packages/cli/node-log.ts';
import { runCommandLine } from '../../../packages/command-line/command-line.ts';
import { noise, openLog, put, TestEnvironment } from '../../../packages/testing/worker/test-log.ts';
import { NodeDirectory } from '../../engine/file/node-file.ts';
import { readLog } from './node-log-files.ts';

let host: string;
let folder: string;
let bookmark: string;

/** The last commit of the object, and the one that `bookmark` names. The first commit creates the table. */
const LAST_COMMIT = 23;
const BOOKMARKED_COMMIT = 12;

/** Writes 23 commits over several segments and leaves the files of a process that ended after a checkpoint at 21. */
async function writeObject(options: { isRestored?: boolean } = {}): Promise<void> {
  const environment = new TestEnvironment();
  const sizes = { segmentBytes: 12_288, checkpointLogBytes: 4096 };
  const used = join(host, 'used');
  const { files, db, close } = await openLog(new NodeDirectory(used), environment, sizes);
  for (let i = 0; i < 20; i++) {
    put(db, i, noise(i, 1000));
    await files.flush();
    await files.maintain();
    if (i === 10) bookmark = files.currentBookmark();
  }
  for (let i = 20; i < 22; i++) {
    put(db, i, noise(i, 100));
    await files.flush();
  }
  if (options.isRestored) {
    files.scheduleRestore(bookmark);
    await files.flush();
  }
  // Closing would write a checkpoint, so the files are copied before.
  cpSync(used, folder, { recursive: true });
  await close();
  rmSync(used, { recursive: true });
}

async function run(...args: string[]) {
  const printed: string[] = [];
  const errors: string[] = [];
  const surroundings = {
    print: (text: string) => void printed.push(text),
    readFile: () => Promise.reject(new Error('not used')),
    writeFile: () => Promise.reject(new Error('not used')),
    now: () => new TestEnvironment().nowMs,
  };
  const subcommands = { log: logCommand({ read: readLog }) };
  const program = { name: 'ctx-storage', version: '1.2.3', subcommands };
  const code = await runCommandLine(['log', ...args], program, surroundings, (line) =>
    errors.push(line),
  );
  return { code, text: printed.join(''), errors };
}

function contents(): string[] {
  return readdirSync(folder).map((name) => `${name} ${readFileSync(join(folder, name), 'base64')}`);
}

function flip(name: string, at: number): void {
  const bytes = readFileSync(join(folder, name));
  bytes[at]! ^= 1;
  writeFileSync(join(folder, name), bytes);
}

beforeEach(() => {
  host = mkdtempSync(join(tmpdir(), 'log-files-'));
  folder = join(host, 'object');
});
afterEach(() => rmSync(host, { recursive: true, force: true }));

test('[LOG29] sound files are reported with each record, and are not written', async () => {
  await writeObject();
  const before = contents();
  const { code, text } = await run(folder);
  expect(text).toMatch(/checkpoint: commit 21,/);
  expect(text).toMatch(/log-00000002: 12288 bytes, 2 records/);
  const commits = text.matchAll(/ commit +(\d+) +2030-01-01T.* [1-9]\d* bytes +[1-9]\d* pages/g);
  expect(Array.from(commits, ([, commit]) => Number(commit))).toEqual(
    Array.from({ length: LAST_COMMIT }, (_, index) => index + 1),
  );
  expect(text).toMatch(`opening: redoes 2 commits, up to commit ${LAST_COMMIT} `);
  expect(text).toMatch(/sound: all checksums match/);
  expect(code).toBe(0);
  expect(contents()).toEqual(before);
});

test('[LOG29] of a file, only its own records are printed', async () => {
  await writeObject();
  const { code, text } = await run(join(folder, 'log-00000002'), '--json');
  const [log] = JSON.parse(text);
  expect(log.segments.map(({ name }: { name: string }) => name)).toEqual(['log-00000002']);
  expect(log.opening.sequence).toBe(LAST_COMMIT);
  expect(code).toBe(0);
});

test('[LOG29] a restore that the next opening makes is reported with its commit', async () => {
  await writeObject({ isRestored: true });
  const { code, text } = await run(folder);
  expect(text).toContain(`restore: goes back to commit ${BOOKMARKED_COMMIT}\n`);
  expect(text).toMatch(/ marker /);
  expect(code).toBe(0);
});

test.each([
  [
    'a record of a segment before the newest',
    'log-00000002',
    4096 + 40,
    /log-00000002: damaged at byte 4096/,
  ],
  ['a header', 'log-00000002', 20, /log-00000002: the header is damaged/],
  ['a page of the main file', 'main', 5000, /CORRUPT/],
])('[LOG29] damage is found in %s, and nothing is repaired', async (_, name, at, message) => {
  await writeObject();
  flip(name, at);
  const before = contents();
  const { code, text } = await run(folder);
  expect(text).toMatch(message);
  expect(text).not.toMatch(/sound/);
  expect(code).toBe(1);
  expect(contents()).toEqual(before);
});

test('[LOG29] a checkpoint file without an intact slot is damage', async () => {
  await writeObject();
  writeFileSync(join(folder, 'checkpoint'), new Uint8Array(8192));
  const { code, text } = await run(folder, '--json');
  expect(JSON.parse(text)[0]).toMatchObject({ checkpoint: null, opening: null });
  expect(code).toBe(1);
});

test('[LOG29] files that are open elsewhere can be read, and the report says so', async () => {
  await writeObject();
  const lock = join(host, 'host.lock');
  writeFileSync(lock, '');
  try {
    const { code, text } = await run(folder);
    expect(text).toMatch(/in use/);
    expect(code).toBe(0);
  } finally {
    rmSync(lock);
  }
});

test('[LOG29] a path that does not exist, and no path, are bad input', async () => {
  expect(await run(join(folder, 'nothing'))).toMatchObject({ code: 2 });
  expect(await run()).toMatchObject({ code: 2 });
});
