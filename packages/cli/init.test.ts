// Runs `ctx-storage init` on a package in a temporary folder, and checks the project that it makes and the folders that
// it refuses.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommandLine } from '../command-line/command-line.ts';
import { EXAMPLES, initCommand } from './node-init.ts';
import { VERSION } from './version.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ctx-storage-init-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** Writes a package that has one file for each example, and returns its folder. */
function packageIn(path: string): string {
  const folder = join(root, path);
  for (const { folder: example } of Object.values(EXAMPLES)) {
    write(`${path}/docs/examples/${example}/package.json`, {
      name: example,
      dependencies: { 'ctx-storage': '0.0.1', other: '1.0.0' },
    });
    write(`${path}/docs/examples/${example}/gitignore`, 'dist');
    write(`${path}/docs/examples/${example}/src/main.ts`, example);
  }
  return folder;
}

function write(path: string, content: unknown): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), JSON.stringify(content));
}

async function init(packageFolder: string, ...args: readonly string[]) {
  const printed: string[] = [];
  const errors: string[] = [];
  const unused = () => Promise.reject(new Error('not used'));
  const code = await runCommandLine(
    ['init', ...args],
    { name: 'ctx-storage', version: VERSION, subcommands: { init: initCommand(packageFolder) } },
    { print: (text) => printed.push(text), readFile: unused, writeFile: unused, now: () => 0 },
    (line) => errors.push(line),
  );
  return { code, printed: printed.join(''), error: errors.join('\n') };
}

function manifestIn(path: string) {
  return JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
}

/** Writes the file in which npm records where it installed a package from. */
function installedFrom(resolved: string): void {
  write('app/node_modules/.package-lock.json', {
    packages: { 'node_modules/ctx-storage': { version: VERSION, resolved } },
  });
}

/** The three examples by their names, each with its folder in `docs/examples` and the commands after the installation. */
const PROMISED = [
  ['todo', 'todo', ['npm run dev']],
  ['chat', 'chat', ['npm run dev']],
  ['test', 'playwright', ['npx playwright install chromium', 'npm test']],
] as const;

test.each(PROMISED)(
  '[PKG18] %s is made in a new folder, with the commands that follow',
  async (name, folder, next) => {
    const installed = packageIn('app/node_modules/ctx-storage');
    const made = join(root, 'deep/my-app');
    const { code, printed, error } = await init(installed, name, made);
    expect({ code, error }).toEqual({ code: 0, error: '' });
    for (const command of [`cd ${made}`, 'npm install', ...next])
      expect(printed).toContain(`\n  ${command}\n`);
    expect(readdirSync(made).sort()).toEqual(['.gitignore', 'package.json', 'src']);
    expect(readFileSync(join(made, 'src/main.ts'), 'utf8')).toBe(JSON.stringify(folder));
    expect(readFileSync(join(made, '.gitignore'), 'utf8')).toBe('"dist"');
    expect(existsSync(join('docs/examples', folder, 'package.json'))).toBe(true);
    expect(manifestIn('deep/my-app')).toEqual({
      name: 'my-app',
      dependencies: { 'ctx-storage': VERSION, other: '1.0.0' },
    });
  },
);

test('[PKG18] an empty folder is used, and its name only if npm takes it', async () => {
  const installed = packageIn('app/node_modules/ctx-storage');
  mkdirSync(join(root, 'My App'));
  expect(await init(installed, 'chat', join(root, 'My App'))).toMatchObject({
    code: 0,
    printed: expect.stringContaining(`\n  cd "${root}/My App"\n`),
  });
  expect(manifestIn('My App').name).toBe('chat');
});

test('[PKG18] the project depends on the package that made it: a version, a file, or the named one', async () => {
  const installed = packageIn('app/node_modules/ctx-storage');
  const dependencyOf = async (packageFolder: string, folder: string, ...options: string[]) => {
    const { code, printed } = await init(packageFolder, 'todo', join(root, folder), ...options);
    const dependency = manifestIn(folder).dependencies['ctx-storage'];
    expect({ code, printed }).toEqual({
      code: 0,
      printed: expect.stringContaining(`ctx-storage ${dependency}.`),
    });
    return dependency;
  };
  installedFrom('https://registry.example/ctx-storage.tgz');
  expect(await dependencyOf(installed, 'one')).toBe(VERSION);
  installedFrom('file:../packed/ctx-storage.tgz');
  expect(await dependencyOf(installed, 'deep/two')).toBe('file:../../packed/ctx-storage.tgz');
  expect(await dependencyOf(installed, 'three', '--package', 'next')).toBe('next');
  const clone = packageIn('clone');
  expect(await init(clone, 'todo', join(root, 'four'))).toMatchObject({
    code: 2,
    error: expect.stringContaining('is not installed'),
  });
  expect(await dependencyOf(clone, 'four', '--package', '1.0.0')).toBe('1.0.0');
});

test('[PKG18] a folder with anything in it, and a file, are refused and left as they are', async () => {
  const installed = packageIn('app/node_modules/ctx-storage');
  write('full/.hidden', 'mine');
  write('file', 'mine');
  for (const [path, message] of [
    ['full', 'has ".hidden" in it; name a new or an empty folder'],
    ['file', 'is a file; name a folder'],
    ['file/below', 'cannot be made: '],
  ] as const) {
    const { code, error } = await init(installed, 'todo', join(root, path));
    expect({ code, error }).toEqual({ code: 2, error: expect.stringContaining(message) });
  }
  expect(readdirSync(join(root, 'full'))).toEqual(['.hidden']);
  expect(readFileSync(join(root, 'file'), 'utf8')).toBe('"mine"');
});

test('[PKG18] bad input names the examples, and makes nothing', async () => {
  const installed = packageIn('app/node_modules/ctx-storage');
  const folder = join(root, 'made');
  for (const [args, message] of [
    [[], 'no example; use one of: todo, chat, test'],
    [[folder], 'unknown example'],
    [['toString', folder], 'use one of: todo, chat, test; the folder comes after it'],
    [['todo', folder, 'more'], '"more" is one argument too many'],
    [['todo', folder, '--force'], '--force'],
  ] as const) {
    expect(await init(installed, ...args)).toMatchObject({
      code: 2,
      printed: '',
      error: expect.stringContaining(message),
    });
  }
  expect(existsSync(folder)).toBe(false);
  const { code, printed } = await init(installed, '--help');
  expect(code).toBe(0);
  for (const [name] of PROMISED) expect(printed).toMatch(new RegExp(`^  ${name}  \\S.{20,}$`, 'm'));
});
