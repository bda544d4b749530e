// The command line `ctx-storage <subcommand> …`: finds the subcommand, and reports bad input as one line
// and exit code 2.

import { isStorageError } from '../contract/errors.ts';
import { type ExitCode, type Subcommand, type Surroundings, UsageError } from './subcommand.ts';

export type Subcommands = Readonly<Record<string, Subcommand>>;

/**
 * Runs the subcommand named by the first argument.
 *
 * `printError` gets one line for bad input. Defects of this package are thrown.
 */
export async function runCommandLine(
  args: readonly string[],
  subcommands: Subcommands,
  surroundings: Surroundings,
  printError: (line: string) => void,
): Promise<ExitCode> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h') {
    surroundings.print(overview(subcommands));
    return name === undefined ? 2 : 0;
  }
  try {
    if (!Object.hasOwn(subcommands, name)) {
      const known = Object.keys(subcommands).join(', ');
      throw new UsageError(`unknown subcommand "${name}"; use one of: ${known}.`);
    }
    const subcommand = subcommands[name]!;
    if (rest.includes('--help') || rest.includes('-h')) {
      surroundings.print(subcommand.usage);
      return 0;
    }
    return await subcommand.run(rest, surroundings);
  } catch (error) {
    if (!(error instanceof UsageError) && !isStorageError(error)) throw error;
    printError(`ctx-storage: ${error.message.replace(/\s*\n\s*/g, ' ')}`);
    return 2;
  }
}

function overview(subcommands: Subcommands): string {
  const names = Object.entries(subcommands);
  const width = Math.max(...names.map(([name]) => name.length));
  const lines = names.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Usage: ctx-storage <subcommand> [options]\n\n${lines.join('\n')}\n`;
}
