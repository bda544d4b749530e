// The type of a program's subcommand, and the environment it runs in.

/** 0: done, nothing found. 1: done, something found. 2: bad input. */
export type ExitCode = 0 | 1 | 2;

/** Everything a subcommand uses besides its arguments. */
export interface Surroundings {
  print(text: string): void;
  readFile(path: string): Promise<string>;
  writeFile(path: string, text: string): Promise<void>;
  /** Milliseconds since the epoch. */
  now(): number;
}

export interface Subcommand {
  /** One line for the list of subcommands. */
  readonly summary: string;
  /** Printed for `--help`. */
  readonly usage: string;
  /** @throws UsageError, or an error of this package, for bad input */
  run(args: readonly string[], surroundings: Surroundings): Promise<ExitCode>;
}

/** Bad input; the message is one line. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}
