// Links to files that Vite's development server denies (`server.fs.deny`): it compares the name of the link, so the
// file would be served under that name.
//
// Invariant: no address gives out a denied file through a link, neither as a file nor as a module. A link to any other
// file is served as Vite does without this plugin.

import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Plugin, ResolvedConfig } from 'vite';
import { globMatcher } from './module-rules.ts';

/** Addresses of files outside of the root begin so. */
const ABSOLUTE = '/@fs/';

/** `applyToEnvironment`: the environments whose modules a browser loads. */
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
        const denied = placesOf(url, config).find((path) => isLinkTo(path, isDenied));
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
      if (isLinkTo(file, isDenied)) throw new Error(refusal(file));
      return null;
    },
  };
}

function refusal(path: string): string {
  return `${path} is a link to a file that server.fs.deny of Vite's configuration denies.`;
}

/** The paths at which the server may look for the address. */
function placesOf(url: string, { root, publicDir, base }: ResolvedConfig): string[] {
  const [address] = url.split(/[?#]/) as [string];
  let path: string;
  try {
    path = decodeURIComponent(address).replaceAll('\\', '/');
  } catch {
    return []; // the server refuses it
  }
  const below = path.startsWith(base) ? path.slice(base.length) : path;
  const outside = `/${below}`.indexOf(ABSOLUTE);
  const places = [join(root, below), join(publicDir || root, below)];
  return outside === -1 ? places : [resolve('/', below.slice(outside + ABSOLUTE.length - 1))];
}

function isLinkTo(path: string, isDenied: (path: string) => boolean): boolean {
  if (path.includes('\0')) return false;
  try {
    const real = realpathSync(path);
    return real !== path && isDenied(real);
  } catch {
    return false; // there is no such file
  }
}

/** As Vite matches: a pattern without a folder is that of a name, and case does not count. */
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
