// Modules of Node, in development: using one throws an error that names the importing file and what to do.
//
// Invariant: importing one without using it is harmless, as with Vite's own replacement. In a build, Vite
// reports them itself. Modules that this package provides are resolved before (platform-modules.ts).

import { relative } from 'node:path';
import type { Plugin } from 'vite';

/** The module that Vite resolves them to for browsers. */
const STAND_IN = '__vite-browser-external:';

/** Messages name files relative to the folder `root`. */
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
