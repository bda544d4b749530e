// The interface of a program's subcommand, and the environment in which it runs.

/** 0 means done, and nothing was found; 1 means done, and something was found; 2 means bad input. */
export type ExitCode = 0 | 1 | 2;

/** Everything that a subcommand may use besides its arguments. A test passes its own. */
export interface ProgramEnvironment {
  print(text: string): void;
  readFile(path: string): Promise<string>;
  writeFile(path: string, text: string): Promise<void>;
  /** Returns the current time in milliseconds since the epoch. */
  now(): number;
}

export interface Subcommand {
  /** One line that describes the subcommand in the list of all subcommands. */
  readonly summary: string;
  /** The text that `--help` prints. */
  readonly usage: string;
  /** Runs the subcommand. @throws UsageError, or an error of this package, for bad input */
  run(args: readonly string[], environment: ProgramEnvironment): Promise<ExitCode>;
}

/** Reports bad input; the message is one line. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}
