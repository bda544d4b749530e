// Finds installed packages that import modules of workerd. Vitest must evaluate them itself: it lets Node evaluate
// installed packages, and Node has no `cloudflare:workers`.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Matches the folder of the package that contains a path. */
const PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;

/**
 * Matches the manifest of a package for workerd: it names workerd in a condition, or in a package with which it is
 * developed.
 */
const MENTION = /worker|wrangler|cloudflare/;

/** Matches this package, whose modules Node can load itself. */
const OWN_PACKAGE = /\/ctx-storage$/;

const MODULE = /\.m?js$/;
const IMPORT = /\b(?:from|import)\s?["']cloudflare:/;

/** The value for `server.deps.inline` of Vitest, which calls only `test`. Each package is read once. */
export class PackagesOfWorkers extends RegExp {
  readonly #found = new Map<string, boolean>();

  constructor() {
    super(PACKAGE);
  }

  override test(path: string): boolean {
    const [folder] = PACKAGE.exec(path.replaceAll('\\', '/')) ?? [];
    if (folder === undefined || !MODULE.test(path.split('?', 1)[0]!)) return false;
    const found = this.#found.get(folder) ?? isOfWorkers(folder);
    this.#found.set(folder, found);
    return found;
  }
}

function isOfWorkers(folder: string): boolean {
  if (OWN_PACKAGE.test(folder)) return false;
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest) || !MENTION.test(readFileSync(manifest, 'utf8'))) return false;
  return someModule(folder, (path) => IMPORT.test(readFileSync(path, 'utf8')));
}

/**
 * Returns whether a predicate is true for one of the modules of a package. Modules of packages that are installed
 * inside the package do not count.
 */
function someModule(folder: string, predicate: (path: string) => boolean): boolean {
  return readdirSync(folder, { withFileTypes: true }).some((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name !== 'node_modules' && someModule(path, predicate);
    return entry.isFile() && MODULE.test(entry.name) && predicate(path);
  });
}
