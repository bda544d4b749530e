// Tests the frame of the programs with a subcommand of the test: its help, and what becomes of errors and of printed text.

import { expect, test } from 'vitest';
import { storageError } from '../../src/shared/contract/errors.ts';
import { runCommandLine } from './command-line.ts';
import { UsageError } from './subcommand.ts';

async function run(
  args: readonly string[],
  perform: (print: (text: string) => void) => 0 | 1 = () => 0,
) {
  const printed: string[] = [];
  const errors: string[] = [];
  const unused = () => Promise.reject(new Error('No file is touched.'));
  const seen: (readonly string[])[] = [];
  const sort = {
    summary: 'sort files',
    usage: 'the usage of sort\n',
    run: async (rest: readonly string[], { print }: { print(text: string): void }) => {
      seen.push(rest);
      return perform(print);
    },
  };
  const code = await runCommandLine(
    args,
    {
      name: 'tool',
      version: '1.2.3',
      subcommands: { sort, reverse: { ...sort, summary: 'reverse files' } },
    },
    { print: (text) => printed.push(text), readFile: unused, writeFile: unused, now: () => 0 },
    (line) => errors.push(line),
  );
  return { code, printed: printed.join(''), errors, seen };
}

test('[REP9] help lists the subcommands in columns; without any argument it is exit code 2', async () => {
  const usage = [
    'Usage: tool <subcommand> [options]',
    '       tool help <subcommand>',
    '       tool --version',
    '',
    '  sort     sort files',
    '  reverse  reverse files',
    '',
  ].join('\n');
  for (const name of ['help', '--help', '-h']) {
    expect(await run([name])).toEqual({ code: 0, printed: usage, errors: [], seen: [] });
  }
  expect(await run([])).toEqual({ code: 2, printed: usage, errors: [], seen: [] });
});

test('[REP9] help of a subcommand does not run it; other arguments are passed to it as they are', async () => {
  for (const args of [
    ['help', 'sort'],
    ['sort', 'help'],
    ['sort', 'a', '--help'],
    ['sort', '-h'],
  ]) {
    const usage = { code: 0, printed: 'the usage of sort\n', errors: [], seen: [] };
    expect(await run(args), args.join(' ')).toEqual(usage);
  }
  expect((await run(['sort', 'a', 'help', '--x=1'])).seen).toEqual([['a', 'help', '--x=1']]);
});

test('[REP7] the exit code is the one of the subcommand', async () => {
  expect((await run(['sort'], () => 1)).code).toBe(1);
  expect((await run(['sort'], () => 0)).code).toBe(0);
});

test.each([
  ['a usage error', new UsageError('first line\n\n   second line')],
  ['an error of the package', storageError('INVALID_ARGUMENT', 'first line\n\n   second line')],
])('[REP7] %s is one line, and exit code 2', async (_, error) => {
  const failed = await run(['sort'], () => {
    throw error;
  });
  expect(failed).toMatchObject({ code: 2, printed: '', errors: ['tool: first line second line'] });
});

test('[REP7] any other error is thrown, because it is a defect', async () => {
  const defect = new TypeError('x is not a function');
  const failing = run(['sort'], () => {
    throw defect;
  });
  await expect(failing).rejects.toBe(defect);
});

test('[REP13] printed text keeps its lines and tabs, and escapes every other control character', async () => {
  const { printed } = await run(['sort'], (print) => {
    print('a\tb\nc\r\nd\re\u001b[2J\u2028\u202e');
    return 0;
  });
  expect(printed).toBe('a\tb\nc\r\nd\\u000de\\u001b[2J\\u2028\\u202e');
});
