// Types of the plugin's virtual modules: reference `ctx-storage/vite/client` in a page's project.

declare module 'virtual:ctx-storage/start' {
  /** Starts the worker that hosts the classes of wrangler.jsonc; for `connect`. */
  export default function startObjects(): Worker;
}

/** The plugin resolves it to this package. Where `@cloudflare/workers-types` declares it too, that declaration wins. */
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
