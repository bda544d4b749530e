// Installed packages that import modules of workerd: Vitest must evaluate them, because it gives installed packages to
// Node, which has no `cloudflare:workers`.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the package that a path is in. */
const PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;

/** A package for workerd has its name in the manifest: as a condition, or as a package that it is developed with. */
const MENTION = /worker|wrangler|cloudflare/;

/** Node has its modules already. */
const OWN_PACKAGE = /\/ctx-storage$/;

const MODULE = /\.m?js$/;
const IMPORT = /\b(?:from|import)\s?["']cloudflare:/;

/** For `server.deps.inline` of Vitest, which only asks `test`: each package is read once. */
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

/** Whether a predicate holds for one of the modules of a package, and not of those that are installed in it. */
function someModule(folder: string, predicate: (path: string) => boolean): boolean {
  return readdirSync(folder, { withFileTypes: true }).some((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name !== 'node_modules' && someModule(path, predicate);
    return entry.isFile() && MODULE.test(entry.name) && predicate(path);
  });
}
