// `ctx-storage/playwright` as its users get it: the packed package beside a stock Vite app, whose tests run here,
// seen green and seen red.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { REPOSITORY } from '../browsers/server.ts';
import { makeExample, type RanTest, runExample } from '../package/example-run.ts';

/** The failures of the red tests, as they are printed. UPDATE_FAILURES=1 writes them. */
const EXPECTED = join(REPOSITORY, 'e2e/example/failures.txt');

test.describe.configure({ timeout: 300_000 });

let folder: string;
// biome-ignore lint/correctness/noEmptyPattern: Playwright finds a fixture's needs by pattern
test.beforeAll(({}, testInfo) => {
  testInfo.setTimeout(300_000);
  folder = mkdtempSync(join(tmpdir(), 'ctx-storage-example-'));
  makeExample(folder);
});
test.afterAll(() => rmSync(folder, { recursive: true, force: true }));

for (const mode of ['dev', 'preview'] as const) {
  test(`[HARN1] the example's tests are green on Vite's ${mode} server`, async ({
    browserName,
  }) => {
    const tests = await runExample(folder, {
      project: browserName,
      mode,
      files: ['visits', 'suite'],
    });
    expect(failuresIn(tests)).toEqual([]);
    expect(tests).toHaveLength(11);
  });

  test(`[HARN3] time, tabs and faults work on Vite's ${mode} server`, async ({ browserName }) => {
    const tests = await runExample(folder, { project: browserName, mode, files: ['running'] });
    expect(failuresIn(tests)).toEqual([]);
    expect(tests).toHaveLength(10);
  });
}

test('[HARN4] each failure has the expected text; [HARN5] and the storage attached', async ({
  browserName,
}) => {
  const files = ['red'];
  const tests = await runExample(folder, { project: browserName, mode: 'dev', files, red: true });
  const printed = tests.map(textOf).join('\n');
  if (process.env.UPDATE_FAILURES !== undefined) writeFileSync(EXPECTED, printed);
  expect(printed).toBe(readFileSync(EXPECTED, 'utf8'));

  const failed = tests.find(({ title }) => title === 'toHaveStored');
  const attached = failed?.attachments.map(({ name }) => name) ?? [];
  expect(attached).toEqual(
    expect.arrayContaining(['Counter-visits.sqlite', 'Counter-visits.txt', 'Room-lobby.txt']),
  );
  const file = failed!.attachments.find(({ name }) => name === 'Counter-visits.sqlite')!.body;
  expect(file.subarray(0, 15).toString()).toBe('SQLite format 3');
  const summary = failed!.attachments.find(({ name }) => name === 'Counter-visits.txt')!.body;
  expect(String(summary)).toContain('count: 5');
  expect(String(summary)).toMatch(/last commits[\s\S]*\n {2}20\d\d-[\s\S]*[0-9a-f]{8}-/);
  const unserved = tests.find(({ title }) => title.startsWith('a class that the app does not'));
  expect(unserved!.steps).toContain("Visits 'visits': get 'count'");
});

test('[HARN6] the build of the app has nothing of the harness', () => {
  const vite = join(folder, 'node_modules/vite/bin/vite.js');
  execFileSync(process.execPath, [vite, 'build', '--outDir', 'built'], { cwd: folder });
  const assets = join(folder, 'built/assets');
  const names = readdirSync(assets);
  expect(names.filter((name) => /playwright|helper|unhosted/i.test(name))).toEqual([]);
  const texts = names
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(join(assets, name), 'utf8'));
  expect(texts.length).toBeGreaterThan(1);
  const words = /ctxStorageHelper|ctx-storage-test|ctx-storage-faults|Unhosted/;
  expect(texts.filter((text) => words.test(text))).toEqual([]);
});

function failuresIn(tests: readonly RanTest[]): string[] {
  return tests
    .filter(({ status }) => status !== 'passed')
    .map(({ title, status, message }) => `${title}: ${status}: ${message}`);
}

function textOf({ title, status, message, line }: RanTest): string {
  return `## ${title}: ${status}, at ${line}\n\n${message}\n`;
}
