// Defines the messages by which a page gives its worker the WebAssembly module of SQLite.

/**
 * The page sends this message twice: without `module` when the page begins to load the file, then with it. A worker
 * that receives neither message loads the file itself.
 */
export interface WasmMessage {
  readonly type: 'wasm';
  readonly url: string;
  /** The compiled module; null if the page could not load or compile it, or if another worker leads. */
  readonly module?: WebAssembly.Module | null;
}
