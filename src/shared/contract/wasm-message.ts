// The page's messages to its worker about SQLite's WebAssembly, before and after it has loaded it.

/**
 * Sent twice: without `module` when the page begins to load the file, then with it. A worker that hears neither loads
 * the file itself.
 */
export interface WasmMessage {
  readonly type: 'wasm';
  readonly url: string;
  /** Null: the page could not load or compile it, or another worker leads. */
  readonly module?: WebAssembly.Module | null;
}
