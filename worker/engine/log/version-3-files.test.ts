// The files of an object that the last build of format version 3 has written: eight saves of a text, and two checkpoints.

import { brotliDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  openLog,
  put,
  sqlite3,
  TestEnvironment,
  vfs,
} from '../../../packages/testing/worker/test-log.ts';
import version3 from '../../../packages/testing/worker/version-3-files.json' with { type: 'json' };
import type { DatabaseFile } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';

/** The text of each save, as the older build has written it. */
const TEXTS: readonly string[] = (() => {
  const texts = [Array.from({ length: 900 }, (_, i) => (i * i).toString(36)).join(' ')];
  for (let i = 0; i < 7; i++) {
    const last = texts[i]!;
    texts.push(`${last.slice(0, 50 * i)}word${i} ${last.slice(50 * i)}`);
  }
  return texts;
})();

async function filesOfVersion3(): Promise<MemoryDirectory> {
  const directory = new MemoryDirectory();
  for (const [name, packed] of Object.entries(version3.files)) {
    const file = await directory.open(name);
    file.write(brotliDecompressSync(Buffer.from(packed, 'base64')), 0);
    file.close();
  }
  return directory;
}

function textIn(state: DatabaseFile): unknown {
  const name = vfs.attach(state);
  const db = new sqlite3.oo1.DB({ filename: name, vfs: vfs.name, flags: 'r' });
  const text = db.selectValue('SELECT v FROM t WHERE k = 1');
  db.close();
  vfs.detach(name);
  return text;
}

test('[LOG35] files of version 3 open with every state, and differences begin with the second checkpoint', async () => {
  const directory = await filesOfVersion3();
  const environment = new TestEnvironment();
  const { files, db, close } = await openLog(directory, environment);
  let text = db.selectValue('SELECT v FROM t WHERE k = 1') as string;
  expect(text).toBe(TEXTS.at(-1));
  const save = async (i: number) => {
    text = `${text.slice(0, 700)}later${i} ${text.slice(700)}`;
    put(db, 1, text);
    environment.nowMs += 1000;
    await files.flush();
  };
  for (let checkpoints = 0; checkpoints < 2; checkpoints++) {
    for (let i = 0; i < 4; i++) await save(i);
    await files.checkpoint();
  }
  for (let i = 0; i < 8; i++) await save(i);
  const range = { fromMs: 0, toMs: environment.nowMs, before: null, limit: 16 };
  const bytes = (await files.listCommits(range)).map((commit) => commit.bytes).reverse();
  expect(Math.min(...bytes.slice(0, 8))).toBeGreaterThan(1000); // ranges
  expect(Math.max(...bytes.slice(-4))).toBeLessThan(1000); // differences
  for (const [i, bookmark] of version3.moments.entries()) {
    const past = await files.openPast(bookmark);
    expect(textIn(past)).toBe(TEXTS[i]);
    files.closePast(past);
  }
  await close();
  const again = await openLog(directory, environment);
  expect(again.db.selectValue('SELECT v FROM t WHERE k = 1')).toBe(text);
  await again.close();
});
