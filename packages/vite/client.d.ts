// The types of the plugin's virtual modules. A page's project references them as `ctx-storage/vite/client`.

declare module 'virtual:ctx-storage/start' {
  /** Starts the worker that hosts the classes of wrangler.jsonc. The page passes this function to `connect`. */
  export default function startObjects(): Worker;
}

/**
 * The plugin resolves this module to `ctx-storage/worker`. If `@cloudflare/workers-types` declares it too, that
 * declaration wins.
 */
declare module 'cloudflare:workers' {
  export * from 'ctx-storage/worker';
}

declare module '*.sql' {
  const text: string;
  export default text;
}

declare module '*.html' {
  const text: string;
  export default text;
}

declare module '*.bin' {
  const bytes: ArrayBuffer;
  export default bytes;
}

declare module '*.wasm' {
  const module: WebAssembly.Module;
  export default module;
}

declare module '*.wasm?module' {
  const module: WebAssembly.Module;
  export default module;
}
