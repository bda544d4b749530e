// Tests the program's version, and the error for each of its former subcommands.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runCommandLine } from '../command-line/command-line.ts';
import { EMULATOR } from '../command-line/emulator.ts';
import { MOVED } from './moved.ts';
import { VERSION } from './version.ts';

async function run(...args: readonly string[]) {
  const printed: string[] = [];
  const errors: string[] = [];
  const unused = () => Promise.reject(new Error('not used'));
  const log = { summary: 'a subcommand', usage: 'its usage', run: unused };
  const code = await runCommandLine(
    args,
    { name: 'ctx-storage', version: VERSION, subcommands: { log }, moved: MOVED },
    { print: (text) => printed.push(text), readFile: unused, writeFile: unused, now: () => 0 },
    (line) => errors.push(line),
  );
  return { code, printed: printed.join(''), errors };
}

test.each([
  [['management'], `npx ${EMULATOR} serve`],
  [
    ['management', '--port', '0', '--at', '2024-09-30'],
    `npx ${EMULATOR} serve --port 0 --at 2024-09-30`,
  ],
  [['management', '--account', 'a=My own'], `npx ${EMULATOR} serve --account "a=My own"`],
  [['deprecations', 'scan', 'a.har', '--strict'], `npx ${EMULATOR} scan a.har --strict`],
  [['deprecations', 'scan', '$(x)', "it's `y`"], `npx ${EMULATOR} scan '$(x)' 'it'\\''s \`y\`'`],
  [['deprecations', 'scan', ''], `npx ${EMULATOR} scan ""`],
  [['deprecations', '--help'], `npx ${EMULATOR} --help`],
  [['help', 'management'], `npx ${EMULATOR} serve`],
])('[PKG26] %j prints the command of the other package and ends with 2', async (args, command) => {
  const name = args.find((argument) => argument !== 'help')!;
  expect(await run(...args)).toEqual({
    code: 2,
    printed: '',
    errors: [`ctx-storage: ${name} is a command of another package now; run: ${command}`],
  });
});

test('[PKG26] [REP13] the new command is one line without control characters, whatever the arguments', async () => {
  const { errors } = await run('deprecations', 'scan', 'a\u001b[2J\nb\u202e');
  expect(errors).toEqual([
    'ctx-storage: deprecations is a command of another package now; run: ' +
      `npx ${EMULATOR} scan "a\\u001b[2J b\\u202e"`,
  ]);
});

test('[PKG26] the former commands are neither listed nor suggested', async () => {
  for (const { printed, errors } of [await run('help'), await run('other')]) {
    expect(printed + errors.join('')).not.toMatch(/management|deprecations/);
  }
});

test('[REP9] the version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(await run('--version')).toMatchObject({ code: 0, printed: `${version}\n` });
});
