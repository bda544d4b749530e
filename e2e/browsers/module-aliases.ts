// The package's modules for code of objects, by the names that such code imports, as sources: whoever serves or builds the
// repository needs no built package.

import { join } from 'node:path';

const NAMES = ['async-hooks', 'cloudflare-email', 'diagnostics-channel', 'html-rewriter'];

/** For `resolve.alias` of Vite. */
export const MODULE_ALIASES = NAMES.map((name) => ({
  find: `ctx-storage/worker/${name}`,
  replacement: join(import.meta.dirname, `../../worker/realm/modules/${name}.ts`),
}));
