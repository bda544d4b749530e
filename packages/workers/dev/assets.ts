// The static assets of a project: the files of a folder, as the binding ASSETS and as answers before the worker.
//
// Invariant: no file outside of the folder is read. A page has one address, by the handling of HTML; its other addresses
// lead there. The rules of the folder are read again for each request, so a change counts at once.

import { readFile, realpath } from 'node:fs/promises';
import { extname, join, posix, resolve, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { lookup } from 'mrmime';
import {
  addHeaders,
  type HeaderRule,
  parseHeaders,
  parseRedirects,
  type RedirectRule,
  type Rules,
  redirected,
} from './asset-rules.ts';

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
    const toFolders = html !== 'none';
    this.#redirects = new RuleFile('/_redirects', (text) => parseRedirects(text, toFolders), {
      read,
      warn,
    });
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

  /** As the binding: the file, or the answer for a path without one. */
  readonly fetch = async (input: Request | string | URL): Promise<Response> => {
    const { url, method } = input instanceof Request ? input : { url: input, method: 'GET' };
    const asked = new URL(url);
    const { address, answer = await this.#asset(address, method, true) } =
      await this.#redirect(asked);
    return this.#withHeaders(asked, answer ?? notThere());
  };

  /** The answer before the worker is asked; undefined: the worker answers. */
  async before({ method, url, headers }: Request): Promise<Response | undefined> {
    const asked = new URL(url);
    if (this.#isWorkerFirst(asked.pathname)) return undefined;
    const isPage = headers.get('sec-fetch-mode') === 'navigate';
    const isPageOfApp = isPage && this.#notFound === 'single-page-application';
    const { address, answer } = await this.#redirect(asked);
    if (answer === undefined && !READS.has(method)) return undefined;
    const isChosen = address !== asked; // by a rule
    const found = answer ?? (await this.#asset(address, method, isChosen || isPageOfApp));
    if (found === undefined && !isChosen) return undefined;
    return this.#withHeaders(asked, found ?? notThere());
  }

  /** The asset at an address, or instead of a missing one; a method that does not read is refused. */
  async #asset(address: URL, method: string, takesMissing: boolean): Promise<Response | undefined> {
    const found =
      (await this.#find(address)) ?? (takesMissing ? await this.#missing(address) : undefined);
    return found === undefined || READS.has(method) ? found : new Response(null, { status: 405 });
  }

  /** By the first rule of the address: the address of the asset that answers it, or the answer itself. */
  async #redirect(url: URL): Promise<{ readonly address: URL; readonly answer?: Response }> {
    const to = redirected(await this.#redirects.rules(), url);
    if (to === undefined) return { address: url };
    if ('path' in to) return { address: new URL(to.path + url.search, url) };
    const { status, location } = to;
    return { address: url, answer: new Response(null, { status, headers: { location } }) };
  }

  async #withHeaders(url: URL, response: Response): Promise<Response> {
    addHeaders(await this.#headers.rules(), url, response);
    return response;
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
    const isThere = async (file: string) => (await this.#content(file)) !== undefined;
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

  /** Of an asset. */
  async #content(path: string): Promise<Uint8Array | undefined> {
    const bytes = await this.#read(path);
    if (bytes === undefined) return undefined;
    const [ignored = RULE_FILES] = await this.#ignored.rules();
    return ignored.ignores(posix.normalize(path).slice(1)) ? undefined : bytes;
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
    const bytes = await this.#content(path);
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

/** The rules of one file, parsed when its text has changed. */
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

/** Methods of requests that an asset answers. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** They are no assets, unless `.assetsignore` takes them out again. */
const OF_RULES = ['/.assetsignore', '/_redirects', '/_headers'];
const RULE_FILES = ignore().add(OF_RULES);

/** Patterns as in `.gitignore`. */
function parseIgnored(text: string): Rules<Ignore> {
  return { rules: [ignore().add([...OF_RULES, ...text.split('\n')])], problems: [] };
}

function notThere(): Response {
  return new Response('not found', { status: 404 });
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
