// The static assets of a project: the files of a folder, as the binding ASSETS and as answers before the worker.
//
// Invariant: no file outside of the folder is read. A page has one address, by the handling of HTML; its other addresses
// lead there.

import { readFile, realpath } from 'node:fs/promises';
import { extname, join, resolve, sep } from 'node:path';
import { lookup } from 'mrmime';

/** What a path without a file gets. */
export type NotFound = 'none' | '404-page' | 'single-page-application';

/** At which address a page is: of `about.html` and `dir/index.html`. */
export type HtmlHandling =
  /** `/about` and `/dir/`. */
  | 'auto-trailing-slash'
  /** `/about/` and `/dir/`. */
  | 'force-trailing-slash'
  /** `/about` and `/dir`. */
  | 'drop-trailing-slash'
  /** The paths of the files. */
  | 'none';

export interface AssetsOptions {
  readonly html: HtmlHandling;
  readonly notFound: NotFound;
  /** Patterns of paths that the worker answers first; `*` is any text, and `!` before a pattern excepts its paths. */
  readonly workerFirst: readonly string[];
}

export class Assets {
  readonly #folder: string;
  readonly #html: HtmlHandling;
  readonly #notFound: NotFound;
  readonly #isWorkerFirst: (pathname: string) => boolean;

  constructor(folder: string, { html, notFound, workerFirst }: AssetsOptions) {
    this.#folder = resolve(folder);
    this.#html = html;
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
    const url = new URL(input instanceof Request ? input.url : input);
    const found = await this.#find(url);
    return found ?? (await this.#missing(url)) ?? new Response('not found', { status: 404 });
  };

  /** The answer before the worker is asked; undefined: the worker answers. */
  async before({ method, url, headers }: Request): Promise<Response | undefined> {
    if (method !== 'GET' && method !== 'HEAD') return undefined;
    const address = new URL(url);
    if (this.#isWorkerFirst(address.pathname)) return undefined;
    const found = await this.#find(address);
    if (found !== undefined) return found;
    const isPage = headers.get('sec-fetch-mode') === 'navigate';
    const isApp = this.#notFound === 'single-page-application';
    return isPage && isApp ? this.#missing(address) : undefined;
  }

  /** The file of an address, or the redirect to the address that the file has; undefined: there is none. */
  async #find({ pathname, search }: URL): Promise<Response | undefined> {
    const path = decoded(pathname);
    const found = path === undefined ? undefined : await this.#place(path);
    if (found === undefined) return undefined;
    return redirect(found.address, pathname, search) ?? this.#answer(found.file, 200);
  }

  /** The file that a path leads to, and its address. */
  async #place(path: string): Promise<Place | undefined> {
    const isThere = async (file: string) => (await this.#read(file)) !== undefined;
    const isExact = this.#html === 'none' || !path.endsWith('.html');
    if (isExact && (await isThere(path))) return { file: path, address: path };
    if (this.#html === 'none') return undefined;
    const [suffix] = /(?:\/index\.html|\/index|\.html|\/)$/.exec(path) ?? [''];
    const stem = path.slice(0, path.length - suffix.length);
    const [flat, folder] = [`${stem}.html`, `${stem}/index.html`];
    const [hasFlat, hasFolder] = [stem !== '' && (await isThere(flat)), await isThere(folder)];
    const places = {
      flat: hasFlat && { file: flat, address: this.#addressOfFlat(stem, hasFolder) },
      folder: hasFolder && { file: folder, address: this.#addressOfFolder(stem, hasFlat) },
    };
    const isFolderFirst = this.#prefersFolder(suffix);
    return (
      (isFolderFirst ? places.folder || places.flat : places.flat || places.folder) || undefined
    );
  }

  #addressOfFlat(stem: string, hasFolder: boolean): string {
    if (this.#html !== 'force-trailing-slash') return stem;
    return hasFolder ? `${stem}.html` : `${stem}/`;
  }

  #addressOfFolder(stem: string, hasFlat: boolean): string {
    if (this.#html !== 'drop-trailing-slash' || stem === '') return `${stem}/`;
    return hasFlat ? `${stem}/index.html` : stem;
  }

  /** Of two files with the same stem. */
  #prefersFolder(suffix: string): boolean {
    if (suffix === '/index.html') return true;
    if (suffix === '.html') return false;
    if (suffix === '') return this.#html === 'force-trailing-slash';
    return this.#html !== 'drop-trailing-slash';
  }

  /** The answer for an address without a file. */
  async #missing({ pathname, search }: URL): Promise<Response | undefined> {
    const path = decoded(pathname);
    const page = await this.#missingPage(path ?? '/');
    return page && ((path && redirect(path, pathname, search)) || page);
  }

  async #missingPage(path: string): Promise<Response | undefined> {
    if (this.#notFound === 'single-page-application') return this.#answer('/index.html', 200);
    if (this.#notFound === 'none') return undefined;
    // The page of the closest folder.
    for (let folder = path; folder !== ''; ) {
      folder = folder.slice(0, folder.lastIndexOf('/'));
      const page = await this.#answer(`${folder}/404.html`, 404);
      if (page !== undefined) return page;
    }
    return undefined;
  }

  async #read(path: string): Promise<Uint8Array | undefined> {
    try {
      const file = join(this.#folder, path);
      const [folder, real] = await Promise.all([realpath(this.#folder), realpath(file)]);
      return real.startsWith(folder + sep) ? await readFile(real) : undefined;
    } catch (error) {
      if (NONE.has((error as NodeJS.ErrnoException).code)) return undefined;
      throw error;
    }
  }

  async #answer(path: string, status: number): Promise<Response | undefined> {
    const bytes = await this.#read(path);
    if (bytes === undefined) return undefined;
    const type = lookup(extname(path)) ?? 'application/octet-stream';
    const isText = type.startsWith('text/') || type === 'application/json';
    const contentType = isText ? `${type}; charset=utf-8` : type;
    return new Response(new Uint8Array(bytes), {
      status,
      headers: { 'content-type': contentType },
    });
  }
}

/** A file, and the address at which it is. */
interface Place {
  readonly file: string;
  readonly address: string;
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
  const [first, ...rest] = pattern.split('*') as [string, ...string[]];
  const last = rest.pop();
  if (last === undefined) return (pathname) => pathname === pattern;
  return (pathname) => {
    if (!pathname.startsWith(first)) return false;
    let end = first.length;
    // The earliest place of each leaves most for the others.
    for (const part of rest) {
      const at = pathname.indexOf(part, end);
      if (at === -1) return false;
      end = at + part.length;
    }
    return pathname.endsWith(last) && pathname.length - last.length >= end;
  };
}

/** To the path, unless the address has it already. */
function redirect(path: string, pathname: string, search: string): Response | undefined {
  const location = encodeURI(path);
  if (location === pathname) return undefined;
  return new Response(null, { status: 307, headers: { location: location + search } });
}

/** With one slash between names. Undefined: it is no path of a file. */
function decoded(pathname: string): string | undefined {
  try {
    const path = decodeURIComponent(pathname).replaceAll(/\/{2,}/g, '/');
    return path.includes('\0') ? undefined : path;
  } catch {
    return undefined;
  }
}
