// Runs a program in this process, with Node's files, clock, streams and signals.

import { readFile, writeFile } from 'node:fs/promises';
import { type CommandLine, runCommandLine } from './command-line.ts';

/** Runs the program with this process's arguments, and ends the process with its exit code. */
export async function runProgram(program: CommandLine): Promise<void> {
  process.exitCode = await runCommandLine(
    process.argv.slice(2),
    program,
    {
      print: (text) => process.stdout.write(text),
      readFile: (path) => readFile(path, 'utf8'),
      writeFile,
      now: () => Date.now(),
    },
    (line) => console.error(line),
  );
  // A subcommand may have left a port or a timer open, which would keep this process alive. It ends once the output is
  // written.
  process.stdout.write('', () => process.stderr.write('', () => process.exit()));
}

/** Resolves when the user or the system asks this process to stop. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}
