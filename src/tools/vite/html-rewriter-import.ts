// Gives code that names `HTMLRewriter` the module that has it: browsers lack the class, and no other worker loads it.
//
// Invariant: a module that does not name it is unchanged, and the module is evaluated before the code runs.

import { dirname } from 'node:path';
import type { Plugin } from 'vite';

const MODULE = 'ctx-storage/worker/html-rewriter';
const SCRIPT = /\.[cm]?[jt]sx?$/;

/** `isWanted`: whether the code may run in a worker of objects; the module is resolved from `importer`. */
export function htmlRewriterImport(isWanted: () => boolean, importer: () => string): Plugin {
  return {
    name: 'ctx-storage:html-rewriter',
    async transform(code, id) {
      const [file] = id.split('?') as [string];
      const isBrowser = this.environment.config.consumer === 'client';
      if (!isBrowser || !isWanted() || !SCRIPT.test(file)) return null;
      if (!/\bHTMLRewriter\b/.test(code)) return null;
      const found = await this.resolve(MODULE, importer(), { skipSelf: true });
      if (found === null) throw new Error(`${file} names HTMLRewriter: ${MODULE} was not found.`);
      // The package's own files need none.
      if (dirname(file) === dirname(found.id)) return null;
      const from = JSON.stringify(found.id);
      // In the first line, so that the lines stay.
      return `import { provideHtmlRewriter as $ctxStorage } from ${from}; $ctxStorage(); ${code}`;
    },
  };
}
