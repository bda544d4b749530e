// Types of the modules that the plugin provides: reference `ctx-storage/vitest/client` in the project of the tests.

declare module 'cloudflare:test' {
  export * from 'ctx-storage/cloudflare-test';
}
