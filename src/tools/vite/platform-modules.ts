// Modules of workerd that browsers lack and this package has, by the names that programs import.
//
// Invariant: there is one module of each, whoever imports it: libraries that are pre-bundled import it
// from outside their bundle. Where the program runs in Node, its modules are Node's own. In development, a module
// of Node that is missing is harmless until it is used, as with Vite's own replacement; a build reports it.

import { relative } from 'node:path';
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

/** `workerEntry` replaces `cloudflare:workers`; modules are resolved from `importer`. */
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

/** The module that Vite resolves Node's modules to for browsers. */
const STAND_IN = '__vite-browser-external:';

/**
 * Other modules of Node, in development: using one throws an error that names the importing file, relative to the
 * folder `root`, and the way out.
 */
export function missingModules(root: () => string): Plugin {
  const importers = new Map<string, string>();
  return {
    name: 'ctx-storage:missing-modules',
    enforce: 'pre',
    apply: 'serve',
    applyToEnvironment: ({ config }) => config.consumer === 'client',
    async resolveId(source, importer) {
      if (!source.startsWith('node:') || importer === undefined) return null;
      const found = await this.resolve(source, importer, { skipSelf: true });
      if (found?.id.startsWith(STAND_IN) && !importers.has(found.id)) {
        importers.set(found.id, relative(root(), importer).replaceAll('\\', '/'));
      }
      return found;
    },
    load(id) {
      const importer = importers.get(id);
      if (importer === undefined) return null;
      const name = id.slice(STAND_IN.length);
      const message =
        `${importer} imports "${name}", which browsers do not have. Add a replacement for it to ` +
        `resolve.alias in Vite's configuration.`;
      // Every access fails: Vite reads named imports from the default export.
      const fail = `{ get() { throw new Error(${JSON.stringify(message)}); } }`;
      return { code: `export default new Proxy({}, ${fail});`, moduleType: 'js' };
    },
  };
}
