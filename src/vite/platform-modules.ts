// Modules of workerd that browsers lack and this package has, by the names that programs import.
//
// Invariant: there is one module of each, whoever imports it: libraries that are pre-bundled import it
// from outside their bundle. Where the program runs in Node, its modules are Node's own.

import type { Plugin } from 'vite';

type Entries = ReadonlyMap<string, string>;

const OF_CLOUDFLARE: Entries = new Map([
  ['cloudflare:email', 'ctx-storage/worker/cloudflare-email'],
]);

const OF_NODE: Entries = new Map([
  ['async_hooks', 'ctx-storage/worker/async-hooks'],
  ['diagnostics_channel', 'ctx-storage/worker/diagnostics-channel'],
]);

/** Pre-bundling leaves imports of these to the modules here. */
export const CLOUDFLARE_NAMES = [...OF_CLOUDFLARE.keys()];
export const NODE_NAMES = [...OF_NODE.keys()].flatMap((name) => [name, `node:${name}`]);

/** `workerEntry` is what `cloudflare:workers` stands for; modules are resolved from `importer`. */
export function platformModules(workerEntry: string, importer: () => string): Plugin {
  const cloudflare: Entries = new Map([...OF_CLOUDFLARE, ['cloudflare:workers', workerEntry]]);
  return {
    name: 'ctx-storage:platform-modules',
    enforce: 'pre',
    resolveId(id) {
      const isBrowser = this.environment.config.consumer === 'client';
      const node = isBrowser ? OF_NODE.get(id.replace(/^node:/, '')) : undefined;
      const entry = cloudflare.get(id) ?? node;
      return entry === undefined ? null : this.resolve(entry, importer(), { skipSelf: true });
    },
  };
}
