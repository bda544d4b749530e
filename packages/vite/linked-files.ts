// Denies links to files that Vite's development server denies (`server.fs.deny`). Vite compares only the name of the
// link, so it would serve the file under that name.
//
// Invariant: no address serves a denied file through a link, neither as a file nor as a module. Links to other files
// are served as Vite does without this plugin.

import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Plugin, ResolvedConfig } from 'vite';
import { globMatcher } from './module-rules.ts';

/** The beginning of addresses of files outside of the root. */
const OUTSIDE_PREFIX = '/@fs/';

/** Returns the plugin. `applyToEnvironment` chooses the environments whose modules a browser loads. */
export function linkedFiles(applyToEnvironment: NonNullable<Plugin['applyToEnvironment']>): Plugin {
  let isDenied: (path: string) => boolean = () => false;
  return {
    name: 'ctx-storage:linked-files',
    enforce: 'pre',
    apply: 'serve',
    applyToEnvironment,
    configResolved({ server }) {
      isDenied = deniedBy(server.fs.deny);
    },
    configureServer({ config, middlewares }) {
      middlewares.use(({ url = '/' }, response, next) => {
        const denied = possiblePaths(url, config).find((path) => isLinkToDenied(path, isDenied));
        if (denied === undefined) {
          next();
          return;
        }
        response.statusCode = 403;
        response.end(refusal(denied));
      });
    },
    load(id) {
      const [file] = id.split('?') as [string];
      if (isLinkToDenied(file, isDenied)) throw new Error(refusal(file));
      return null;
    },
  };
}

function refusal(path: string): string {
  return `${path} is a link to a file that server.fs.deny of Vite's configuration denies.`;
}

/** Returns the paths at which the server may look for an address. */
function possiblePaths(url: string, { root, publicDir, base }: ResolvedConfig): string[] {
  const [address] = url.split(/[?#]/) as [string];
  let path: string;
  try {
    path = decodeURIComponent(address).replaceAll('\\', '/');
  } catch {
    return []; // the server itself refuses an address that cannot be decoded
  }
  const below = path.startsWith(base) ? path.slice(base.length) : path;
  const outside = `/${below}`.indexOf(OUTSIDE_PREFIX);
  const places = [join(root, below), join(publicDir || root, below)];
  return outside === -1 ? places : [resolve('/', below.slice(outside + OUTSIDE_PREFIX.length - 1))];
}

function isLinkToDenied(path: string, isDenied: (path: string) => boolean): boolean {
  if (path.includes('\0')) return false;
  try {
    const real = realpathSync(path);
    return real !== path && isDenied(real);
  } catch {
    return false; // the file does not exist
  }
}

/**
 * Returns the matcher of patterns, which matches as Vite does: case is ignored, and a pattern without `/` matches file
 * names.
 */
function deniedBy(patterns: readonly string[]): (path: string) => boolean {
  const matchers = patterns.map((pattern) => {
    const matches = globMatcher(pattern.toLowerCase());
    return pattern.includes('/') ? matches : (path: string) => matches(path.split('/').at(-1)!);
  });
  return (path) => {
    const slashed = path.replaceAll('\\', '/').toLowerCase();
    return matchers.some((matches) => matches(slashed));
  };
}
