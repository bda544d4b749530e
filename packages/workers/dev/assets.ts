// Serves the static assets of a project, the files of a folder: through the binding ASSETS, and before the worker is
// asked.
//
// Invariant: no file outside of the folder is read. `html_handling` decides at which address a page is, and its other
// addresses redirect there. The files with rules are read again for each request, so a change takes effect at once.

import { readFile, realpath } from 'node:fs/promises';
import { extname, join, posix, resolve, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { lookup } from 'mrmime';
import {
  addHeaders,
  findRedirect,
  type HeaderRule,
  parseHeaders,
  parseRedirects,
  type RedirectRule,
  type Rules,
} from './asset-rules.ts';

/** The setting `not_found_handling`: the answer for a path without a file. */
export type NotFound = 'none' | '404-page' | 'single-page-application';

/** The setting `html_handling`: the addresses of pages, for example of `about.html` and `dir/index.html`. */
export type HtmlHandling =
  /** The pages are at `/about` and `/dir/`. */
  | 'auto-trailing-slash'
  /** The pages are at `/about/` and `/dir/`. */
  | 'force-trailing-slash'
  /** The pages are at `/about` and `/dir`. */
  | 'drop-trailing-slash'
  /** The pages are at the paths of their files. */
  | 'none';

export interface AssetsOptions {
  readonly html: HtmlHandling;
  readonly notFound: NotFound;
  /** Patterns of paths that the worker answers first; `*` is any text, and `!` before a pattern excepts its paths. */
  readonly workerFirst: readonly string[];
  /** Reports a line of `_redirects` or `_headers` that is not a rule. @default the console */
  readonly warn?: (problem: string) => void;
}

export class Assets {
  readonly #folder: string;
  readonly #html: HtmlHandling;
  readonly #notFound: NotFound;
  readonly #isWorkerFirst: (pathname: string) => boolean;
  readonly #redirects: RuleFile<RedirectRule>;
  readonly #headers: RuleFile<HeaderRule>;
  readonly #ignored: RuleFile<Ignore>;

  constructor(folder: string, options: AssetsOptions) {
    const { html, notFound, workerFirst, warn = console.warn } = options;
    const read = (path: string) => this.#read(path);
    const servesFolderAddresses = html !== 'none';
    this.#redirects = new RuleFile(
      '/_redirects',
      (text) => parseRedirects(text, servesFolderAddresses),
      {
        read,
        warn,
      },
    );
    this.#headers = new RuleFile('/_headers', parseHeaders, { read, warn });
    this.#ignored = new RuleFile('/.assetsignore', parseIgnored, { read, warn });
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

  /** Answers a request that the worker makes of the binding: with the file, or with the answer for a missing one. */
  readonly fetch = async (input: Request | string | URL): Promise<Response> => {
    const { url, method } = input instanceof Request ? input : { url: input, method: 'GET' };
    const asked = new URL(url);
    const { address, answer = await this.#asset(address, method, true) } =
      await this.#redirect(asked);
    return this.#withHeaders(asked, answer ?? notFoundResponse());
  };

  /** Returns the answer that is given before the worker is asked, or undefined if the worker answers the request. */
  async before({ method, url, headers }: Request): Promise<Response | undefined> {
    const asked = new URL(url);
    if (this.#isWorkerFirst(asked.pathname)) return undefined;
    const isPage = headers.get('sec-fetch-mode') === 'navigate';
    const isPageOfApp = isPage && this.#notFound === 'single-page-application';
    const { address, answer } = await this.#redirect(asked);
    if (answer === undefined && !READ_METHODS.has(method)) return undefined;
    const isChosenByRule = address !== asked; // a rule of `_redirects` chose another asset
    const found = answer ?? (await this.#asset(address, method, isChosenByRule || isPageOfApp));
    if (found === undefined && !isChosenByRule) return undefined;
    return this.#withHeaders(asked, found ?? notFoundResponse());
  }

  /**
   * Returns the asset at an address, or the answer for a missing one if `answersMissing`. It refuses methods that do
   * not read.
   */
  async #asset(
    address: URL,
    method: string,
    answersMissing: boolean,
  ): Promise<Response | undefined> {
    const found =
      (await this.#find(address)) ??
      (answersMissing ? await this.#answerForMissing(address) : undefined);
    return found === undefined || READ_METHODS.has(method)
      ? found
      : new Response(null, { status: 405 });
  }

  /**
   * Applies the first matching rule of `_redirects`. Returns the address of the asset to answer with, or the redirect.
   */
  async #redirect(url: URL): Promise<{ readonly address: URL; readonly answer?: Response }> {
    const to = findRedirect(await this.#redirects.rules(), url);
    if (to === undefined) return { address: url };
    if ('path' in to) return { address: new URL(to.path + url.search, url) };
    const { status, location } = to;
    return { address: url, answer: new Response(null, { status, headers: { location } }) };
  }

  async #withHeaders(url: URL, response: Response): Promise<Response> {
    addHeaders(await this.#headers.rules(), url, response);
    return response;
  }

  /** Returns the file at an address, or a redirect if the file has another address; undefined if there is no file. */
  async #find({ pathname, search }: URL): Promise<Response | undefined> {
    const path = decodePath(pathname);
    const found = path === undefined ? undefined : await this.#locate(path);
    if (found === undefined) return undefined;
    return redirectTo(found.address, pathname, search) ?? this.#serveFile(found.file, 200);
  }

  /** Finds the file that a path means, and the address at which that file is. */
  async #locate(path: string): Promise<LocatedFile | undefined> {
    const exists = async (file: string) => (await this.#readAsset(file)) !== undefined;
    const isExact = this.#html === 'none' || !path.endsWith('.html');
    if (isExact && (await exists(path))) return { file: path, address: path };
    if (this.#html === 'none') return undefined;
    const [suffix] = /(?:\/index\.html|\/index|\.html|\/)$/.exec(path) ?? [''];
    const stem = path.slice(0, path.length - suffix.length);
    const [flat, folder] = [`${stem}.html`, `${stem}/index.html`];
    const [hasFlat, hasFolder] = [stem !== '' && (await exists(flat)), await exists(folder)];
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

  /** Decides between `stem/index.html` and `stem.html` for a path that ends with `suffix`. */
  #prefersFolder(suffix: string): boolean {
    if (suffix === '/index.html') return true;
    if (suffix === '.html') return false;
    if (suffix === '') return this.#html === 'force-trailing-slash';
    return this.#html !== 'drop-trailing-slash';
  }

  /** Returns the answer for an address without a file, by `not_found_handling`. */
  async #answerForMissing({ pathname, search }: URL): Promise<Response | undefined> {
    const path = decodePath(pathname);
    const page = await this.#missingPage(path ?? '/');
    return page && ((path && redirectTo(path, pathname, search)) || page);
  }

  async #missingPage(path: string): Promise<Response | undefined> {
    if (this.#notFound === 'single-page-application') return this.#serveFile('/index.html', 200);
    if (this.#notFound === 'none') return undefined;
    // The 404.html of the closest folder above the path is the answer.
    for (let folder = path; folder !== ''; ) {
      folder = folder.slice(0, folder.lastIndexOf('/'));
      const page = await this.#serveFile(`${folder}/404.html`, 404);
      if (page !== undefined) return page;
    }
    return undefined;
  }

  /** Returns the bytes of an asset, or undefined if there is no such file or `.assetsignore` excludes it. */
  async #readAsset(path: string): Promise<Uint8Array | undefined> {
    const bytes = await this.#read(path);
    if (bytes === undefined) return undefined;
    const [ignored = DEFAULT_IGNORED] = await this.#ignored.rules();
    return ignored.ignores(posix.normalize(path).slice(1)) ? undefined : bytes;
  }

  async #read(path: string): Promise<Uint8Array | undefined> {
    try {
      const file = join(this.#folder, path);
      const [folder, real] = await Promise.all([realpath(this.#folder), realpath(file)]);
      return real.startsWith(folder + sep) ? await readFile(real) : undefined;
    } catch (error) {
      if (NOT_FOUND_CODES.has((error as NodeJS.ErrnoException).code)) return undefined;
      throw error;
    }
  }

  async #serveFile(path: string, status: number): Promise<Response | undefined> {
    const bytes = await this.#readAsset(path);
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

/** A file, and the address at which it is served. */
interface LocatedFile {
  readonly file: string;
  readonly address: string;
}

/** The rules of one file. They are parsed again only if its text has changed. */
class RuleFile<Rule> {
  readonly #path: string;
  readonly #parse: (text: string) => Rules<Rule>;
  readonly #folder: RuleFolder;
  #text = '';
  #rules: readonly Rule[] = [];

  constructor(path: string, parse: (text: string) => Rules<Rule>, folder: RuleFolder) {
    this.#path = path;
    this.#parse = parse;
    this.#folder = folder;
  }

  async rules(): Promise<readonly Rule[]> {
    const { read, warn } = this.#folder;
    const bytes = await read(this.#path);
    const text = bytes === undefined ? '' : new TextDecoder().decode(bytes);
    if (text !== this.#text) {
      this.#text = text;
      const { rules, problems } = this.#parse(text);
      this.#rules = rules;
      for (const problem of problems) warn(`${this.#path.slice(1)}, ${problem}. It is ignored.`);
    }
    return this.#rules;
  }
}

interface RuleFolder {
  read(path: string): Promise<Uint8Array | undefined>;
  warn(problem: string): void;
}

/** The methods of requests that an asset answers. */
const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** The files with rules, which are not assets unless `.assetsignore` names them with `!`. */
const RULE_FILE_NAMES = ['/.assetsignore', '/_redirects', '/_headers'];
const DEFAULT_IGNORED = ignore().add(RULE_FILE_NAMES);

/** Parses `.assetsignore`, whose patterns are those of `.gitignore`. */
function parseIgnored(text: string): Rules<Ignore> {
  return { rules: [ignore().add([...RULE_FILE_NAMES, ...text.split('\n')])], problems: [] };
}

function notFoundResponse(): Response {
  return new Response('not found', { status: 404 });
}

/** Codes of errors of the file system which mean that there is no such file. */
const NOT_FOUND_CODES: ReadonlySet<string | undefined> = new Set([
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
    // Taking the earliest place of each part leaves the most text for the parts after it.
    for (const part of rest) {
      const at = pathname.indexOf(part, end);
      if (at === -1) return false;
      end = at + part.length;
    }
    return pathname.endsWith(last) && pathname.length - last.length >= end;
  };
}

/** Returns a redirect to the path, or undefined if the address has this path already. */
function redirectTo(path: string, pathname: string, search: string): Response | undefined {
  const location = encodeURI(path);
  if (location === pathname) return undefined;
  return new Response(null, { status: 307, headers: { location: location + search } });
}

/**
 * Decodes the path of an address, with one slash between names. Returns undefined if it cannot be the path of a file.
 */
function decodePath(pathname: string): string | undefined {
  try {
    const path = decodeURIComponent(pathname).replaceAll(/\/{2,}/g, '/');
    return path.includes('\0') ? undefined : path;
  } catch {
    return undefined;
  }
}
