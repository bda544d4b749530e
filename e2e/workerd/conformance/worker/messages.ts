// The runner's requests to the worker that runs scenarios, one at a time.

import type { StorageMedium } from '../../../../src/shared/contract/medium.ts';

export type Request =
  | { readonly op: 'list'; readonly file: string }
  | {
      readonly op: 'run';
      readonly file: string;
      readonly name: string;
      readonly object: string;
      /** The medium of all scenarios; null for the best one of the browser. */
      readonly medium: StorageMedium | null;
    };

export interface Reply {
  readonly value?: unknown;
  /** The worker itself failed, not the scenario. */
  readonly error?: string;
  /** Something to tell that does not change the result. */
  readonly notice?: string;
}
