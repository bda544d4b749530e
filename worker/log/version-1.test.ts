// Objects of format version 1: files written by the last code that created them. `content.json` lists
// their content, now and at a bookmark.

import { readFileSync } from 'node:fs';
import { beforeAll, expect, test, vi } from 'vitest';
import { MemoryDirectory } from '../file/memory-file.ts';
import {
  all,
  bytesOf,
  noise,
  openLog,
  overwrite,
  put,
  TestEnvironment,
} from '../testing/test-log.ts';

const FILES = ['main', 'checkpoint', 'log-00000001', 'log-00000002', 'log-00000003'];
const SMALL = { segmentBytes: 12_288, checkpointLogBytes: 4096 };

const fixture = (name: string) =>
  readFileSync(new URL(`./fixtures/version-1/${name}`, import.meta.url));

interface Content {
  readonly bookmark: string;
  readonly last: string;
  readonly nowMs: number;
  readonly past: unknown;
  readonly rows: unknown;
}
const content = JSON.parse(fixture('content.json').toString()) as Content;

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

async function oldObject() {
  const directory = new MemoryDirectory();
  for (const name of FILES) await overwrite(directory, name, fixture(name));
  const environment = new TestEnvironment();
  environment.nowMs = content.nowMs;
  return { directory, environment };
}

test('[LOG21] an object of version 1 opens, and its last commit has the bookmark it had', async () => {
  const { directory, environment } = await oldObject();
  const { files, db, close } = await openLog(directory, environment, SMALL);
  expect(all(db)).toEqual(content.rows);
  expect(files.currentBookmark()).toBe(content.last);
  await close();
});

test('[LOG21] an object of version 1 keeps working, through segments, checkpoints and openings', async () => {
  const { directory, environment } = await oldObject();
  const first = await openLog(directory, environment, SMALL);
  for (let i = 0; i < 30; i++) {
    put(first.db, i, noise(i, 1000));
    await first.files.flush();
    if (first.files.needsMaintenance) await first.files.maintain();
  }
  const rows = all(first.db);
  await first.close();
  expect((await directory.names()).length).toBeGreaterThan(FILES.length);
  const again = await openLog(directory, environment, SMALL);
  expect(all(again.db)).toEqual(rows);
  expect(again.db.selectValue('PRAGMA integrity_check')).toBe('ok');
  await again.close();
});

test('[LOG21] a bookmark of version 1 restores', async () => {
  const { directory, environment } = await oldObject();
  const first = await openLog(directory, environment, SMALL);
  first.files.scheduleRestore(content.bookmark);
  await first.files.flush();
  await first.close();
  const again = await openLog(directory, environment, SMALL);
  expect(all(again.db)).toEqual(content.past);
  await again.close();
});

test('[LOG21] damage in an object of version 1 is detected', async () => {
  const { directory, environment } = await oldObject();
  const main = await bytesOf(directory, 'main');
  main[5000]! ^= 1;
  await overwrite(directory, 'main', main);
  await expect(openLog(directory, environment)).rejects.toMatchObject({ code: 'CORRUPT' });
});

test('[LOG21] an unknown version is refused, and the error names it', async () => {
  const { directory, environment } = await oldObject();
  const slots = await bytesOf(directory, 'checkpoint');
  for (const at of [12, 512 + 12]) slots[at] = 3;
  await overwrite(directory, 'checkpoint', slots);
  await expect(openLog(directory, environment)).rejects.toMatchObject({
    code: 'CORRUPT',
    message: expect.stringMatching(/version 3.*Update the package/),
  });
});
