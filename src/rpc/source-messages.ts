// How a page gives source to its worker, and what it hears of it, before and beside the messages of control.ts.
//
//   page → worker      SourceMessage, once, before the first StartMessage
//   worker → page      SourceAnswer, once; then ConsoleMessage whenever object code writes

import type { CheckedSource, ConsoleEntry } from '../contract/source.ts';
import type { WireError } from './errors-on-wire.ts';

/** Options of `serve` that can be sent; it checks them. */
export interface SourceOptions {
  readonly env?: object;
  readonly bindings?: Readonly<Record<string, string>>;
  readonly scriptName?: string;
  readonly compatibilityDate?: string;
  readonly idleMs?: number;
  readonly limits?: object;
}

export interface SourceMessage extends CheckedSource {
  readonly type: 'source';
  readonly options: SourceOptions;
  /** `<milliseconds>.<digest>`: see source-build.ts. */
  readonly build: string;
  readonly tellsConsole: boolean;
}

export type SourceAnswer =
  /** It serves. */
  | { readonly type: 'source-loaded'; readonly classes: readonly string[] }
  | { readonly type: 'source-failed'; readonly error: WireError };

export interface ConsoleMessage {
  readonly type: 'console';
  readonly entry: ConsoleEntry;
}
