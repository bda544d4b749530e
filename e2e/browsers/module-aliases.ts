// The package's modules for code of objects, by the names that such code imports, as sources: whoever serves or builds the
// repository needs no built package.

import { join } from 'node:path';
import { entryModules } from '../package/entry-modules.ts';

const MODULES = entryModules(
  'async-hooks',
  'cloudflare-email',
  'diagnostics-channel',
  'html-rewriter',
);

/** For `resolve.alias` of Vite. */
export const MODULE_ALIASES = Object.entries(MODULES).map(([name, module]) => ({
  find: `ctx-storage/worker/${name}`,
  replacement: join(import.meta.dirname, '../..', module),
}));
