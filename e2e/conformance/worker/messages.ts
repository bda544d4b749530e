// What the runner asks of the worker that runs scenarios, one request at a time.

export type Request =
  | { readonly op: 'list'; readonly file: string }
  | { readonly op: 'run'; readonly file: string; readonly name: string; readonly object: string };

export interface Reply {
  readonly value?: unknown;
  /** The worker itself failed, not the scenario. */
  readonly error?: string;
  /** Something to tell that does not change the result. */
  readonly notice?: string;
}
