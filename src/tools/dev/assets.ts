// The static assets of a project: the files of a folder, as the binding ASSETS and as answers before the worker.
//
// Invariant: no file outside of the folder is read.

import { readFile, realpath } from 'node:fs/promises';
import { extname, join, resolve, sep } from 'node:path';
import { lookup } from 'mrmime';

/** What a path without a file gets. */
export type NotFound = 'none' | '404-page' | 'single-page-application';

export interface AssetsOptions {
  readonly notFound: NotFound;
  /** Patterns of paths that the worker answers first; `*` is any text, and `!` before a pattern excepts its paths. */
  readonly workerFirst: readonly string[];
}

export class Assets {
  readonly #folder: string;
  readonly #notFound: NotFound;
  readonly #isWorkerFirst: (pathname: string) => boolean;

  constructor(folder: string, { notFound, workerFirst }: AssetsOptions) {
    this.#folder = resolve(folder);
    this.#notFound = notFound;
    const [except, first] = [true, false].map((isExcepted) =>
      workerFirst
        .filter((pattern) => pattern.startsWith('!') === isExcepted)
        .map((pattern) => pathMatcher(pattern.replace(/^!/, ''))),
    ) as [PathMatcher[], PathMatcher[]];
    this.#isWorkerFirst = (pathname) =>
      first.some((matches) => matches(pathname)) && !except.some((matches) => matches(pathname));
  }

  /** As the binding: the file, or the answer for a path without one. */
  readonly fetch = async (input: Request | string | URL): Promise<Response> => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const found = await this.find(pathname);
    if (found !== undefined) return found;
    const [page, status] =
      this.#notFound === '404-page' ? ['/404.html', 404] : ['/index.html', 200];
    const shown = this.#notFound === 'none' ? undefined : await this.find(page, status);
    return shown ?? new Response('not found', { status: 404 });
  };

  /** The answer before the worker is asked; undefined: the worker answers. */
  async before({ method, url, headers }: Request): Promise<Response | undefined> {
    if (method !== 'GET' && method !== 'HEAD') return undefined;
    const { pathname } = new URL(url);
    if (this.#isWorkerFirst(pathname)) return undefined;
    const found = await this.find(pathname);
    if (found !== undefined) return found;
    const isPage = headers.get('sec-fetch-mode') === 'navigate';
    return isPage && this.#notFound === 'single-page-application' ? this.find('/') : undefined;
  }

  async #read(file: string): Promise<Uint8Array | undefined> {
    try {
      const [folder, real] = await Promise.all([realpath(this.#folder), realpath(file)]);
      return real.startsWith(folder + sep) ? await readFile(real) : undefined;
    } catch (error) {
      if (NONE.has((error as NodeJS.ErrnoException).code)) return undefined;
      throw error;
    }
  }

  /** The file of a path: `/about` is `about.html` or `about/index.html`. */
  async find(pathname: string, status = 200): Promise<Response | undefined> {
    const path = decoded(pathname);
    if (path === undefined) return undefined;
    const names = path.endsWith('/')
      ? [`${path}index.html`]
      : [path, `${path}.html`, `${path}/index.html`];
    for (const name of names) {
      const bytes = await this.#read(join(this.#folder, name));
      if (bytes === undefined) continue;
      const type = lookup(extname(name)) ?? 'application/octet-stream';
      const isText = type.startsWith('text/') || type === 'application/json';
      const contentType = isText ? `${type}; charset=utf-8` : type;
      return new Response(new Uint8Array(bytes), {
        status,
        headers: { 'content-type': contentType },
      });
    }
    return undefined;
  }
}

/** There is no such file. */
const NONE: ReadonlySet<string | undefined> = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'ENAMETOOLONG',
]);

type PathMatcher = (pathname: string) => boolean;

function pathMatcher(pattern: string): PathMatcher {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  const expression = new RegExp(`^${parts.join('.*')}$`, 's');
  return (pathname) => expression.test(pathname);
}

function decoded(pathname: string): string | undefined {
  try {
    const path = decodeURIComponent(pathname);
    return path.includes('\0') ? undefined : path;
  } catch {
    return undefined;
  }
}
