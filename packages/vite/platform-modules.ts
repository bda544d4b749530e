// Resolves modules of workerd that browsers lack to modules of this package, by the names that programs import.
//
// Invariant: there is one module of each name, for all importers: pre-bundled libraries import it from outside their
// bundle. Where the program runs in Node, its modules are Node's own. In development, a missing module of Node is
// harmless until it is used, as with Vite's own replacement; a build reports the module.

import { builtinModules } from 'node:module';
import { relative } from 'node:path';
import type { Plugin } from 'vite';
import type { NodeApis } from './node-apis.ts';

type Entries = ReadonlyMap<string, string>;

const CLOUDFLARE_MODULES: Entries = new Map([
  ['cloudflare:email', 'ctx-storage/worker/cloudflare-email'],
]);

const NODE_MODULES: Entries = new Map([
  ['async_hooks', 'ctx-storage/worker/async-hooks'],
  ['diagnostics_channel', 'ctx-storage/worker/diagnostics-channel'],
]);

/** A condition for resolving packages, in addition to `workerd`: packages resolve as on workerd, and run here. */
export const HERE = 'ctx-storage';

/** The names whose imports pre-bundling does not bundle, because this plugin resolves them. */
export const CLOUDFLARE_NAMES = [...CLOUDFLARE_MODULES.keys()];
export const NODE_NAMES = [...NODE_MODULES.keys()].flatMap((name) => [name, `node:${name}`]);

/** The name of the package that has the other modules of Node, as files `node/…`. */
export const UNENV = 'unenv';
export const UNENV_VERSION = '2.0.0-rc.24';

/** Returns the names of the other modules of Node that a program has. */
export function nodeNames(apis: NodeApis): string[] {
  if (apis === 'none') return [];
  const names = builtinModules.filter((name) => !NODE_MODULES.has(name) && !name.startsWith('_'));
  const prefixed = names.map((name) => `node:${name}`);
  return apis === 'all' ? [...prefixed, ...names] : prefixed;
}

/** Makes the plugin. `workerEntry` replaces `cloudflare:workers`; modules are resolved from `importer`. */
export function platformModules(workerEntry: string, importer: () => string): Plugin {
  const cloudflare: Entries = new Map([...CLOUDFLARE_MODULES, ['cloudflare:workers', workerEntry]]);
  return {
    name: 'ctx-storage:platform-modules',
    enforce: 'pre',
    resolveId(id) {
      const isBrowser = this.environment.config.consumer === 'client';
      const node = isBrowser ? NODE_MODULES.get(id.replace(/^node:/, '')) : undefined;
      const entry = cloudflare.get(id) ?? node;
      return entry === undefined ? null : this.resolve(entry, importer(), { skipSelf: true });
    },
  };
}

/** The module to which Vite resolves Node's modules for browsers. A build omits the name of Node's module. */
const STAND_IN = '__vite-browser-external';

/**
 * Makes the plugin that resolves the other modules of Node to unenv, for a program that has them on workerd. For
 * another program, `refuses` makes the import fail, because on workerd the program would not start.
 */
export function nodeModules(
  apis: () => NodeApis,
  importer: () => string,
  refuses: boolean,
): Plugin {
  return {
    name: 'ctx-storage:node-modules',
    enforce: 'pre',
    async resolveId(id, from) {
      if (this.environment.config.consumer !== 'client') return null;
      const name = id.replace(/^node:/, '');
      const isNamed = id.startsWith('node:') && !NODE_MODULES.has(name);
      if (nodeNames(apis()).includes(id)) {
        const resolve = (file: string) => this.resolve(file, importer(), { skipSelf: true });
        const found = await resolve(`${UNENV}/node/${name}`);
        if (found !== null) return found;
        if ((await resolve(`${UNENV}/node/path`)) !== null) return null;
        throw new Error(
          `${from} imports "${id}". In a browser, modules of Node come from the package ${UNENV}: ` +
            `npm install -D ${UNENV}@${UNENV_VERSION}.`,
        );
      }
      if (!refuses || !isNamed || from === undefined) return null;
      const found = await this.resolve(id, from, { skipSelf: true });
      if (found !== null && !found.id.startsWith(STAND_IN)) return found;
      throw new Error(
        `${from} imports "${id}", which neither browsers nor workerd have without the flag nodejs_compat. Add it to ` +
          'compatibility_flags in the wrangler configuration, or a replacement to resolve.alias of Vite.',
      );
    },
  };
}

/**
 * Makes a plugin for all other modules of Node, in development. Using such a module throws an error that names the
 * importing file, relative to the folder `root`, and the way out.
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
      const name = id.slice(STAND_IN.length + 1);
      const message =
        `${importer} imports "${name}", which browsers do not have. Add a replacement for it to ` +
        `resolve.alias in Vite's configuration, or the flag nodejs_compat to the wrangler configuration.`;
      // Every access to the stand-in throws. Vite reads named imports from the default export.
      const fail = `{ get() { throw new Error(${JSON.stringify(message)}); } }`;
      return { code: `export default new Proxy({}, ${fail});`, moduleType: 'js' };
    },
  };
}
