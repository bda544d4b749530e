import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { findBrowser } from './browser.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ctx-storage-browsers-'));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** A program that says this of its version. */
function program(says: string): string {
  const path = join(folder, 'browser');
  writeFileSync(path, `#!/bin/sh\necho '${says}'\n`);
  chmodSync(path, 0o755);
  return path;
}

test('a Firefox that Playwright cannot drive does not count, and the error says from which version on one does', () => {
  vi.stubEnv('FIREFOX_PATH', program('Mozilla Firefox 140.12.0esr'));
  expect(() => findBrowser('firefox')).toThrow(/version 141 or later/);
  const executablePath = program('Mozilla Firefox 153.8.0esr');
  expect(findBrowser('firefox')).toEqual({
    name: 'firefox',
    executablePath,
    version: 'Mozilla Firefox 153.8.0esr',
  });
});
