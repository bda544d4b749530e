// The project's own build command, run by a shell in a temporary folder.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CustomBuild } from './custom-build.ts';

let project: string;
let printed: string[];
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'ctx-storage-build-'));
  printed = [];
});
afterEach(() => rmSync(project, { recursive: true }));

function buildOf(command: string, watched: readonly string[] = []): CustomBuild {
  mkdirSync(join(project, 'part'), { recursive: true });
  const print = (line: string) => void printed.push(line);
  return new CustomBuild({ command, folder: 'part', watched }, project, print);
}

test('[DEV9] the builds of a project run one after the other, in its folder', async () => {
  // The command fails if another one runs, whose folder `lock` exists.
  const build = buildOf('mkdir lock && node -e "" && rmdir lock && echo built >> log');
  await Promise.all([build.run(), build.run(), build.run()]);
  expect(readFileSync(join(project, 'part/log'), 'utf8')).toBe('built\nbuilt\nbuilt\n');
});

test('[DEV9] a failed build is an error with its output, and the next build runs all the same', async () => {
  const build = buildOf('echo to stdout; echo to stderr >&2; test -e repaired');
  const failed = build.run();
  const next = build.run();
  const message = /^The build "echo.*" has failed \(1\):\n(?=.*to stdout)(?=.*to stderr)/s;
  await expect(failed).rejects.toThrow(message);
  await expect(next).rejects.toThrow(message);
  writeFileSync(join(project, 'part/repaired'), '');
  await build.run();
});

test('[DEV9] a change in a watched folder runs the build; a failure and a missing folder are printed', async () => {
  mkdirSync(join(project, 'src/deep'), { recursive: true });
  const build = buildOf('echo built > ../out; test ! -e ../broken', ['src', 'missing']);
  const stop = build.watch();
  try {
    expect(printed).toEqual([expect.stringContaining('build.watch_dir missing is missing')]);
    writeFileSync(join(project, 'src/deep/a.ts'), '1');
    await vi.waitUntil(() => existsSync(join(project, 'out')));
    await build.run(); // a later build begins after the one that the change has started
    writeFileSync(join(project, 'broken'), '');
    writeFileSync(join(project, 'src/deep/a.ts'), '2');
    await vi.waitUntil(() => printed.length > 1);
    expect(printed[1]).toMatch(/^The build ".*" has failed \(1\)/);
  } finally {
    stop();
  }
});
