// The modules that sandbox-plugin.ts makes.

declare module 'virtual:playground-sandbox' {
  /** The sandbox's worker, as one script. */
  export function workerText(): Promise<string>;
  export const wasmAddress: string;
}
