// `ctx-storage/playwright` as its users get it: the packed package beside a stock Vite app, whose tests run here,
// seen green and seen red.

import { execFileSync } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserName } from '../browsers/browser.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import { makeExample, type RanTest, runExample } from '../package/example-run.ts';

/** The failures of the red tests, as they are printed. UPDATE_FAILURES=1 writes them. */
const EXPECTED = join(REPOSITORY, 'e2e/package/example-rig/failures.txt');
const RUN_MS_MAX = 600_000;

let folder: string;

test.beforeAll(async ({ browserName: _ }, testInfo) => {
  testInfo.setTimeout(RUN_MS_MAX);
  folder = mkdtempSync(join(tmpdir(), 'ctx-storage-example-'));
  await makeExample(folder);
});
test.afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeOn('build');
describeOn('dev', [LONG, RELEASE]);

/** An app's tests with the harness, on one of the app's servers. */
function describeOn(served: 'build' | 'dev', tag: string[] = []): void {
  const title = served === 'build' ? 'on the build of an app' : 'on its development server';
  test.describe(title, { tag }, () => {
    /** Run once: a browser and a server start for all that is asked here. */
    let tests: readonly RanTest[];
    test.beforeAll(async ({ browserName }, testInfo) => {
      testInfo.setTimeout(RUN_MS_MAX);
      tests = await runExample(folder, browserName as BrowserName, served);
    });

    test("[HARN1] [HARN8] [HARN9] [HARN10] an app's tests see, seed and fork its storage, and assert changes", () => {
      const ran = testsOf(tests, 'stored', 'suite');
      expect(failuresIn(ran)).toEqual([]);
      expect(ran).toHaveLength(8);
    });

    test('[HARN3] [HARN11] [MG59] [PKG25] time, tabs, faults and the emulated management interface are driven from the test', () => {
      const ran = testsOf(tests, 'running');
      expect(failuresIn(ran)).toEqual([]);
      expect(ran).toHaveLength(3);
      const around = testsOf(tests, 'around');
      expect(failuresIn(around)).toEqual([]);
      expect(around).toHaveLength(served === 'build' ? 7 : 0);
    });
  });
}

test(
  '[HARN4] each failure has the expected text; [HARN5] and the storage attached',
  {
    tag: [LONG, ONCE, RELEASE],
  },
  async ({ browserName }, testInfo) => {
    testInfo.setTimeout(RUN_MS_MAX);
    const red = await runExample(folder, browserName as BrowserName, 'red');
    const printed = red.map(textOf).join('\n');
    if (process.env.UPDATE_FAILURES !== undefined) writeFileSync(EXPECTED, printed);
    expect(printed).toBe(readFileSync(EXPECTED, 'utf8'));

    const failed = red.find(({ title }) => title === 'matchers');
    const attached = failed?.attachments.map(({ name }) => name) ?? [];
    expect(attached).toEqual(
      expect.arrayContaining(['Counter-visits.sqlite', 'Counter-visits.txt', 'Room-lobby.txt']),
    );
    const file = failed!.attachments.find(({ name }) => name === 'Counter-visits.sqlite')!.body;
    expect(file.subarray(0, 15).toString()).toBe('SQLite format 3');
    const summary = failed!.attachments.find(({ name }) => name === 'Counter-visits.txt')!.body;
    expect(String(summary)).toContain('count: 5');
    expect(String(summary)).toMatch(/last commits[\s\S]*\n {2}20\d\d-[\s\S]*[0-9a-f]{8}-/);
    const unserved = red.find(({ title }) => title.startsWith('a class that the app does not'));
    expect(unserved!.steps).toContain("Visits 'visits': get 'count'");
  },
);

// In one part with the tests on the build, which make the folder.
test('[HARN6] the build of the app has nothing of the harness, and is as large without it', {
  tag: ONCE,
}, () => {
  const built = filesIn(join(folder, 'dist'));
  const names = Object.keys(built);
  expect(names.filter((name) => /playwright|helper|unhosted/i.test(name))).toEqual([]);
  const texts = names
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(join(folder, 'dist', name), 'utf8'));
  expect(texts.length).toBeGreaterThan(1);
  const words = /ctxStorageHelper|ctx-storage-test|Unhosted/;
  expect(texts.filter((text) => words.test(text))).toEqual([]);

  // Serve the app with a package that has no harness in its place.
  const packaged = join(folder, 'node_modules/ctx-storage/dist');
  const harness = readdirSync(packaged).filter((name) => /^playwright/.test(name));
  expect(harness.length).toBeGreaterThan(2);
  for (const name of harness) renameSync(join(packaged, name), join(folder, name));
  const vite = join(folder, 'node_modules/vite/bin/vite.js');
  execFileSync(process.execPath, [vite, 'build', '--outDir', 'bare'], { cwd: folder });
  expect(filesIn(join(folder, 'bare'))).toEqual(built);
});

function testsOf(tests: readonly RanTest[], ...files: string[]): RanTest[] {
  return tests.filter(({ file }) => files.includes(file));
}

function failuresIn(ran: readonly RanTest[]): string[] {
  return ran
    .filter(({ status }) => status !== 'passed')
    .map((failed) => `${failed.project}: ${textOf(failed)}`);
}

function textOf({ title, status, failures }: RanTest): string {
  const messages = failures.map(({ message, line }) => `At ${line}: ${message}\n`);
  return `## ${title}: ${status}\n\n${messages.join('\n')}`;
}

/** The files of a folder, by path, with their sizes in bytes. */
function filesIn(root: string): Readonly<Record<string, number>> {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(paths.map((path) => [path, statSync(join(root, path)).size]));
}
