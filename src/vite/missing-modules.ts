// Modules of Node in development: who uses one is told which file imports it, and what to do.
//
// Keeps true: to import one without using it does no harm, as with Vite's own stand-in; a build names
// them itself.

import { relative } from 'node:path';
import type { Plugin } from 'vite';

/** What Vite resolves them to where they are not. */
const STAND_IN = '__vite-browser-external:';

/** `root` is the folder that messages name files from. */
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
        `${importer} imports "${name}", which browsers do not have. Name a library that stands for ` +
        `it in resolve.alias of Vite's configuration, or a module of your own.`;
      // Each access fails: Vite reads what is imported by name from the default export.
      const fail = `{ get() { throw new Error(${JSON.stringify(message)}); } }`;
      return { code: `export default new Proxy({}, ${fail});`, moduleType: 'js' };
    },
  };
}
