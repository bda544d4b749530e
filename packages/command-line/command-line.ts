// The command line `ctx-storage <subcommand> …`: finds the subcommand, and reports bad input as one line
// and exit code 2.

import { isStorageError } from '@ctx-storage/core/errors';
import { printable, printableLines } from './printable.ts';
import { type ExitCode, type Subcommand, type Surroundings, UsageError } from './subcommand.ts';
import { VERSION } from './version.ts';

export type Subcommands = Readonly<Record<string, Subcommand>>;

/**
 * Runs the subcommand named by the first argument.
 *
 * `printError` gets one line for bad input. Defects of this package are thrown. All that is printed is free of
 * control characters, whatever a file or an argument contains.
 */
export async function runCommandLine(
  args: readonly string[],
  subcommands: Subcommands,
  surroundings: Surroundings,
  printError: (line: string) => void,
): Promise<ExitCode> {
  const print = (text: string) => surroundings.print(printableLines(text));
  const [name, ...rest] = args;
  try {
    switch (name) {
      case undefined:
        print(overview(subcommands));
        return 2;
      case '--version':
      case '-v':
        print(`${VERSION}\n`);
        return 0;
      case 'help':
      case '--help':
      case '-h': {
        const [about] = rest;
        print(about === undefined ? overview(subcommands) : named(subcommands, about).usage);
        return 0;
      }
    }
    const subcommand = named(subcommands, name);
    if (rest[0] === 'help' || rest.includes('--help') || rest.includes('-h')) {
      print(subcommand.usage);
      return 0;
    }
    return await subcommand.run(rest, { ...surroundings, print });
  } catch (error) {
    if (!(error instanceof UsageError) && !isStorageError(error)) throw error;
    printError(`ctx-storage: ${printable(inOneLine(error.message))}`);
    return 2;
  }
}

function inOneLine(message: string): string {
  const lines = message.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

function named(subcommands: Subcommands, name: string): Subcommand {
  if (Object.hasOwn(subcommands, name)) return subcommands[name]!;
  const known = Object.keys(subcommands).join(', ');
  throw new UsageError(`unknown subcommand "${name}"; use one of: ${known}.`);
}

function overview(subcommands: Subcommands): string {
  const names = Object.entries(subcommands);
  const width = Math.max(...names.map(([name]) => name.length));
  const lines = names.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    'Usage: ctx-storage <subcommand> [options]',
    '       ctx-storage help <subcommand>',
    '       ctx-storage --version',
    '',
    ...lines,
    '',
  ].join('\n');
}
