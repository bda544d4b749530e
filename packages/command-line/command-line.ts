// Runs the command line `<program> <subcommand> …`: it finds the subcommand, and reports bad input as one line and exit
// code 2.

import { isStorageError } from '@ctx-storage/core/errors';
import { printable, printableLines } from './printable.ts';
import {
  type ExitCode,
  type ProgramEnvironment,
  type Subcommand,
  UsageError,
} from './subcommand.ts';

/** A program with subcommands. */
export interface CommandLine {
  /** The command that starts the program, as its usage and its errors show it. */
  readonly name: string;
  readonly version: string;
  readonly subcommands: Readonly<Record<string, Subcommand>>;
  /** Maps a former subcommand to the command that replaces it; the error appends the user's arguments. */
  readonly moved?: Readonly<Record<string, string>>;
}

/**
 * Runs the subcommand named by the first argument.
 *
 * Bad input is reported to `printError` as one line. Every other error is thrown, because it is a defect of this
 * package. Control characters are removed from everything that is printed, whatever a file or an argument contains.
 */
export async function runCommandLine(
  args: readonly string[],
  program: CommandLine,
  environment: ProgramEnvironment,
  printError: (line: string) => void,
): Promise<ExitCode> {
  const print = (text: string) => environment.print(printableLines(text));
  const [name, ...rest] = args;
  try {
    switch (name) {
      case undefined:
        print(usageOfProgram(program));
        return 2;
      case '--version':
      case '-v':
        print(`${program.version}\n`);
        return 0;
      case 'help':
      case '--help':
      case '-h': {
        const [about] = rest;
        print(
          about === undefined ? usageOfProgram(program) : findSubcommand(program, about, []).usage,
        );
        return 0;
      }
    }
    const subcommand = findSubcommand(program, name, rest);
    if (rest[0] === 'help' || rest.includes('--help') || rest.includes('-h')) {
      print(subcommand.usage);
      return 0;
    }
    return await subcommand.run(rest, { ...environment, print });
  } catch (error) {
    if (!(error instanceof UsageError) && !isStorageError(error)) throw error;
    printError(`${program.name}: ${printable(joinLines(error.message))}`);
    return 2;
  }
}

function joinLines(message: string): string {
  const lines = message.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

function findSubcommand(
  { subcommands, moved = {} }: CommandLine,
  name: string,
  args: readonly string[],
): Subcommand {
  if (Object.hasOwn(subcommands, name)) return subcommands[name]!;
  if (Object.hasOwn(moved, name)) {
    const command = [moved[name], ...args.map(quoteForShell)].join(' ');
    throw new UsageError(`${name} is a command of another package now; run: ${command}`);
  }
  const known = Object.keys(subcommands).join(', ');
  throw new UsageError(`unknown subcommand "${name}"; use one of: ${known}.`);
}

/**
 * Quotes an argument if it contains characters that a shell may interpret, so that the shell reads the same text back.
 */
function quoteForShell(argument: string): string {
  if (/^[\w@%+=:,./-]+$/.test(argument)) return argument;
  if (/["$`\\!]/.test(argument)) return `'${argument.replaceAll("'", "'\\''")}'`;
  return `"${argument}"`;
}

function usageOfProgram({ name, subcommands }: CommandLine): string {
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
