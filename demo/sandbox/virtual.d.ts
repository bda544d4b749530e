// Declares the modules that sandbox-plugin.ts makes.

declare module 'virtual:playground-sandbox' {
  /** Loads the script of the sandbox's worker as one text. */
  export function workerText(): Promise<string>;
  export const wasmAddress: string;
}
