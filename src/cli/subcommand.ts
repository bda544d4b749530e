// What a subcommand of `ctx-storage` is, and the surroundings it is given.

/** 0: done, nothing found. 1: done, and something was found. 2: it was asked wrongly. */
export type ExitCode = 0 | 1 | 2;

/** Everything a subcommand touches besides its arguments. */
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
  /** @throws UsageError, or an error of this package, when it was asked wrongly */
  run(args: readonly string[], surroundings: Surroundings): Promise<ExitCode>;
}

/** A wrong argument; the message is one line. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}
