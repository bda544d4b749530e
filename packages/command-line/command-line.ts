// The command line `<program> <subcommand> …`: finds the subcommand, and reports bad input as one line and exit code 2.

import { isStorageError } from '@ctx-storage/core/errors';
import { printable, printableLines } from './printable.ts';
import { type ExitCode, type Subcommand, type Surroundings, UsageError } from './subcommand.ts';

/** A program with subcommands. */
export interface CommandLine {
  /** The word that starts it, for its usage and its errors. */
  readonly name: string;
  readonly version: string;
  readonly subcommands: Readonly<Record<string, Subcommand>>;
  /** The command that replaces a former subcommand; the user's arguments follow it. */
  readonly moved?: Readonly<Record<string, string>>;
}

/**
 * Runs the subcommand named by the first argument.
 *
 * `printError` gets one line for bad input. Defects of this package are thrown. All that is printed is free of
 * control characters, whatever a file or an argument contains.
 */
export async function runCommandLine(
  args: readonly string[],
  program: CommandLine,
  surroundings: Surroundings,
  printError: (line: string) => void,
): Promise<ExitCode> {
  const print = (text: string) => surroundings.print(printableLines(text));
  const [name, ...rest] = args;
  try {
    switch (name) {
      case undefined:
        print(overview(program));
        return 2;
      case '--version':
      case '-v':
        print(`${program.version}\n`);
        return 0;
      case 'help':
      case '--help':
      case '-h': {
        const [about] = rest;
        print(about === undefined ? overview(program) : named(program, about, []).usage);
        return 0;
      }
    }
    const subcommand = named(program, name, rest);
    if (rest[0] === 'help' || rest.includes('--help') || rest.includes('-h')) {
      print(subcommand.usage);
      return 0;
    }
    return await subcommand.run(rest, { ...surroundings, print });
  } catch (error) {
    if (!(error instanceof UsageError) && !isStorageError(error)) throw error;
    printError(`${program.name}: ${printable(inOneLine(error.message))}`);
    return 2;
  }
}

function inOneLine(message: string): string {
  const lines = message.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

function named(
  { subcommands, moved = {} }: CommandLine,
  name: string,
  args: readonly string[],
): Subcommand {
  if (Object.hasOwn(subcommands, name)) return subcommands[name]!;
  if (Object.hasOwn(moved, name)) {
    const command = [moved[name], ...args.map(shellWord)].join(' ');
    throw new UsageError(`${name} is a command of another package now; run: ${command}`);
  }
  const known = Object.keys(subcommands).join(', ');
  throw new UsageError(`unknown subcommand "${name}"; use one of: ${known}.`);
}

/** The argument as a shell reads it back: in quotes if it has characters that a shell may interpret. */
function shellWord(argument: string): string {
  if (/^[\w@%+=:,./-]+$/.test(argument)) return argument;
  if (/["$`\\!]/.test(argument)) return `'${argument.replaceAll("'", "'\\''")}'`;
  return `"${argument}"`;
}

function overview({ name, subcommands }: CommandLine): string {
  const summaries = Object.entries(subcommands);
  const width = Math.max(...summaries.map(([subcommand]) => subcommand.length));
  const lines = summaries.map(
    ([subcommand, { summary }]) => `  ${subcommand.padEnd(width)}  ${summary}`,
  );
  return [
    `Usage: ${name} <subcommand> [options]`,
    `       ${name} help <subcommand>`,
    `       ${name} --version`,
    '',
    ...lines,
    '',
  ].join('\n');
}
