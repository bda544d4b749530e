// The edge of the emulated provider answers HTTP requests. It determines the day of a request, refuses operations that
// have ended by then, converts the call to the newest form of the interface, lets an object answer it, and converts the
// answer back to the form of that day, with the headers that the schedule requires.
//
// It has no state of its own: all state is in the objects, and time and randomness are passed in.

import * as v from 'valibot';
import { type Answer, ApiError, apiError, type Call, METHODS, type Method } from '../call/call.ts';
import { errorEntry } from '../call/error-codes.ts';
import { ChangeChain } from '../changes/change-chain.ts';
import { type ManagementNamespace, ManagementObjects } from '../objects/objects.ts';
import type { Identities } from '../resources/directory.ts';
import { publicRoutes, type Route } from '../routes/routes.ts';
import { SCHEDULE } from '../schedule/data.ts';
import { dayOf } from '../schedule/day.ts';
import type { Schedule } from '../schedule/entry.ts';
import { MovableClock } from '../schedule/movable-clock.ts';
import { DEFAULT_BASE_PATH, matchPath } from '../schedule/paths.ts';
import { SCHEDULE_PATH, scheduleHtml } from '../schedule/schedule-page.ts';
import { bodyOf } from './body.ts';
import { effectiveTime } from './effective-date.ts';
import { envelope, failure } from './envelope.ts';
import { hasNameservers, NEUTRAL_WORD, PROVIDER_WORD, replaceWord } from './nameserver-words.ts';
import { performCall } from './perform-call.ts';
import { applySchedule, requireSettings } from './scheduled.ts';

export interface ManagementOptions {
  /** The objects that hold the state; their class is `ManagementObject`. */
  readonly namespace: ManagementNamespace;
  /** Returns the current time, in milliseconds since the epoch. @default the system's clock */
  readonly clock?: { now(): number };
  /** Fills the array with random bytes. @default crypto.getRandomValues */
  readonly random?: (bytes: Uint8Array<ArrayBuffer>) => void;
  /** The prefix of all paths. Requests may omit it. @default '/client/v4' */
  readonly basePath?: string;
  /**
   * Whether the header `api-version` sets the day of a call. SDKs from version 4 on send today's date.
   *
   * @default true if no clock was given, or if the clock is a `MovableClock` that was never moved; otherwise false
   */
  readonly apiVersion?: boolean;
  /** Accounts that exist from the start. @default none */
  readonly accounts?: readonly { readonly id: string; readonly name: string }[];
  /** Maps a bearer token to the accounts that it may see. @default every caller sees all accounts */
  readonly tokens?: AccessTokens;
  /** The deprecation schedule. @default the built-in schedule */
  readonly schedule?: Schedule;
  /** The address of an HTML page with the schedule, for links to it. @default the emulator's own page */
  readonly documentation?: string;
  /**
   * The word before the dot in types of nameservers in answers, such as `<word>.standard`. Requests may also use the
   * provider's own word.
   *
   * @default 'provider'
   */
  readonly nameserverWord?: string;
}

/** Properties of a request that only an HTTP server can see. */
export interface Transport {
  /** Whether the request had both Transfer-Encoding and Content-Length. */
  readonly bothLengths: boolean;
  /**
   * Throws if the server does not accept a body of this type. It is called once the day of the call is known, because
   * on that day the interface may refuse the request for another reason first.
   */
  readonly admitBody?: () => void;
}

export interface ManagementApi {
  /** Answers a request to the provider. Errors are returned as answers, and are not thrown. */
  readonly fetch: (request: Request, transport?: Transport) => Promise<Response>;
  /**
   * Pins the account to a day, `YYYY-MM-DD`, for all calls without a date in their headers; null removes
   * the pin.
   *
   * @throws ApiError if the account does not exist or the date is invalid
   */
  pinAccount(accountId: string, date: string | null): Promise<void>;
  /** Returns a bookmark of the present state of all objects. @throws if the objects keep no history */
  getBookmark(): Promise<string>;
  /**
   * Restores all objects to the bookmark. Calls made during the restore may read some objects before their restore and
   * some after it.
   *
   * @throws TypeError if the text is not a result of `getBookmark`
   */
  restoreBookmark(bookmark: string): Promise<void>;
}

const ID_BYTES = 16;
const NEW_IDS_MAX = 1000;
const ADDRESS_LENGTH_MAX = 16_384;

/** Creates a provider whose state is in these objects. Several providers may share one namespace. */
export function createManagementApi(options: ManagementOptions): ManagementApi {
  const edge = new Edge(options);
  return {
    fetch: (request, transport) => edge.fetch(request, transport),
    pinAccount: (accountId, date) => edge.pinAccount(accountId, date),
    getBookmark: () => edge.getBookmark(),
    restoreBookmark: (bookmark) => edge.restoreBookmark(bookmark),
  };
}

class Edge {
  readonly #options: ManagementOptions;
  readonly #objects: ManagementObjects;
  readonly #routes = publicRoutes();
  readonly #changes: ChangeChain;
  readonly #schedule: Schedule;
  readonly #basePath: string;
  readonly #now: () => number;
  readonly #random: (bytes: Uint8Array<ArrayBuffer>) => void;
  readonly #nameserverWord: string;
  #startAccountsExist = false;

  constructor(options: ManagementOptions) {
    this.#options = options;
    this.#objects = new ManagementObjects(options.namespace);
    this.#now = () => (options.clock ?? Date).now();
    this.#random = options.random ?? ((bytes) => void crypto.getRandomValues(bytes));
    this.#schedule = options.schedule ?? SCHEDULE;
    this.#changes = new ChangeChain((id) => this.#dateOfChange(id));
    this.#basePath = (options.basePath ?? DEFAULT_BASE_PATH).replace(/(?<!\/)\/+$/, '');
    this.#nameserverWord = options.nameserverWord ?? NEUTRAL_WORD;
  }

  async fetch(request: Request, transport?: Transport): Promise<Response> {
    const response = await this.#respond(request, transport);
    return request.method.toUpperCase() === 'HEAD' ? new Response(null, response) : response;
  }

  async #respond(request: Request, transport?: Transport): Promise<Response> {
    const url = new URL(request.url);
    const path = pathBelow(url.pathname, this.#basePath);
    if (path === SCHEDULE_PATH) return scheduleHtml(this.#schedule);
    const headers = new Headers();
    try {
      return envelope(await this.#answer(request, url, path, headers, transport), headers);
    } catch (error) {
      return failure(error, headers);
    }
  }

  async pinAccount(accountId: string, date: string | null): Promise<void> {
    const pin = date === null ? null : dayOf(date);
    if (pin === undefined) throw apiError('DATE_INVALID', `"${date}" must be a date, YYYY-MM-DD.`);
    await this.#ensureStartAccounts();
    const path = `/identities/account/${accountId}`;
    const answer = await this.#objects.directory(this.#internalCall('PATCH', path, { pin }));
    if (answer.status >= 400) throw new ApiError(answer.status, answer.errors);
  }

  async getBookmark(): Promise<string> {
    await this.#ensureStartAccounts();
    const { result } = await this.#objects.directory(this.#internalCall('GET', '/ids'));
    const { zones, accounts } = result as { zones: string[]; accounts: string[] };
    const names = [
      ...zones.map((id) => ManagementObjects.nameOf('zone', id)),
      ...accounts.map((id) => ManagementObjects.nameOf('account', id)),
    ];
    return JSON.stringify(await this.#objects.bookmarks(names));
  }

  async restoreBookmark(bookmark: string): Promise<void> {
    await this.#objects.restore(bookmarksOf(bookmark));
  }

  async #answer(
    request: Request,
    url: URL,
    path: string,
    headers: Headers,
    transport?: Transport,
  ): Promise<Answer> {
    if (request.url.length > ADDRESS_LENGTH_MAX) {
      throw apiError(
        'REQUEST_INVALID',
        `The address is longer than ${ADDRESS_LENGTH_MAX} characters.`,
      );
    }
    if (path.includes('//')) throw unknownRoute(path);
    await this.#ensureStartAccounts();
    // `fetch` does not capitalize `patch`, and older SDKs send it in lower case.
    const asked = request.method.toUpperCase();
    const method = (asked === 'HEAD' ? 'GET' : asked) as Method;
    const visible = visibleAccounts(request.headers, this.#options.tokens);
    const { zone, account } = await this.#identities(path);
    const { day: at, iso: nowIso } = effectiveTime({
      headers: request.headers,
      readsApiVersion: this.#options.apiVersion ?? this.#isSystemClock(),
      pin: account?.pin,
      nowMs: this.#now(),
    });
    this.#declineBothLengths(at, transport);
    transport?.admitBody?.();
    const base = url.pathname.startsWith(`${this.#basePath}/`) ? this.#basePath : '';
    const { documentation = `${url.origin}${base}${SCHEDULE_PATH}` } = this.#options;
    const scheduled = { method, path, at, base, documentation };
    applySchedule(headers, this.#schedule, scheduled);
    this.#requireRoute(method, path);
    const owner = {
      ...(zone && { zone }),
      ...(account && { account }),
      ...(visible && { visibleAccounts: visible }),
    };
    requireOwner({ path, ...owner });
    const body = await bodyOf(request);
    requireSettings(this.#schedule, scheduled, body);
    const call: Call = {
      ...this.#internalCall(
        method,
        path,
        hasNameservers(path) ? this.#withNeutralWord(body) : body,
      ),
      ...queryOf(url.searchParams),
      nowIso,
      ...owner,
    };
    return this.#perform(call, at);
  }

  async #perform(call: Call, at: string): Promise<Answer> {
    const context = { read: (path: string) => this.#read(call, path) };
    const { call: newest, steps } = await this.#changes.toNewestForm(call, at, context);
    const route = this.#routeOf(newest.method, newest.path);
    const answer = await performCall(this.#objects, route, newest);
    const converted = await this.#changes.toFormOfDay(answer, steps, context);
    if (!hasNameservers(call.path)) return converted;
    return {
      ...converted,
      result: replaceWord(converted.result, NEUTRAL_WORD, this.#nameserverWord),
    };
  }

  /** Performs a GET that a change needs, and returns its result; null if the GET fails. */
  async #read(call: Call, path: string): Promise<unknown> {
    const route = this.#routeOf('GET', path);
    const { zone, account } = await this.#identities(path);
    const read = {
      ...this.#internalCall('GET', path),
      ...(zone && { zone }),
      ...(account && { account }),
    };
    const { visibleAccounts } = call;
    requireOwner({ ...read, ...(visibleAccounts && { visibleAccounts }) });
    return (await performCall(this.#objects, route, read)).result;
  }

  #routeOf(method: Method, path: string): Route {
    const matched = this.#routes.match(method, path);
    if (matched.kind === 'route') return matched.route;
    throw unknownRoute(path);
  }

  #dateOfChange(id: string): string | undefined {
    return this.#schedule.find((entry) => entry.id === id)?.date;
  }

  /**
   * Returns whether `api-version` may set the day. A clock that was set to a day has priority, because SDKs send
   * today's date with every call.
   */
  #isSystemClock(): boolean {
    const { clock } = this.#options;
    return clock === undefined || (clock instanceof MovableClock && !clock.isMoved);
  }

  #declineBothLengths(at: string, transport: Transport | undefined): void {
    const date = this.#dateOfChange('transfer-encoding-content-length');
    if (!transport?.bothLengths || date === undefined || at < date) return;
    const fact = 'The request has both Transfer-Encoding and Content-Length';
    throw apiError('TRANSFER_DECLINED', `${fact}, which RFC 7230 forbids.`);
  }

  /** Requires that the path supports the method. @throws ApiError 404 for an unknown path, 405 for another method */
  #requireRoute(method: Method, path: string): void {
    const newest = this.#routes.match(method, path);
    const older = this.#changes.match(method, path);
    if (newest.kind === 'route' || older.kind === 'route') return;
    const allow = [newest, older].flatMap((one) => (one.kind === 'wrong method' ? one.allow : []));
    if (allow.length === 0) throw unknownRoute(path);
    const methods = METHODS.filter((one) => allow.includes(one)).join(', ');
    const { status, entry } = errorEntry(
      'METHOD_UNKNOWN',
      `${path} does not support ${method}; use ${methods}.`,
    );
    throw new ApiError(status, [entry], { allow: methods });
  }

  /** Asks the directory for the zone and the account that the path names. */
  async #identities(path: string): Promise<Identities> {
    const named = ownerIn(path);
    if (named === undefined) return {};
    const call = { ...this.#internalCall('GET', '/identities'), query: { [named.kind]: named.id } };
    return (await this.#objects.directory(call)).result as Identities;
  }

  #internalCall(method: Method, path: string, body?: unknown): Call {
    const count = Array.isArray(body) ? Math.min(body.length, NEW_IDS_MAX) : 1;
    return {
      method,
      path,
      query: {},
      nowIso: new Date(this.#now()).toISOString(),
      ids: Array.from({ length: Math.max(1, count) }, () => this.#newId()),
      admitted: [],
      ...(body !== undefined && { body }),
    };
  }

  #newId(): string {
    const bytes = new Uint8Array(ID_BYTES);
    this.#random(bytes);
    return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  #withNeutralWord(body: unknown): unknown {
    return [this.#nameserverWord, PROVIDER_WORD].reduce(
      (neutral, word) => replaceWord(neutral, word, NEUTRAL_WORD),
      body,
    );
  }

  /**
   * Adds the accounts that exist from the start. Concurrent requests each do this, because on workerd one request
   * cannot wait for the I/O of another.
   */
  async #ensureStartAccounts(): Promise<void> {
    const { accounts = [] } = this.#options;
    if (this.#startAccountsExist || accounts.length === 0) return;
    await this.#objects.directory(this.#internalCall('POST', '/identities', accounts));
    this.#startAccountsExist = true;
  }
}

const Bookmarks = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.string()));

/** Parses the text of `getBookmark` into bookmarks by the name of their object. */
function bookmarksOf(text: string): Record<string, string> {
  const { success, output } = v.safeParse(Bookmarks, text);
  if (success && 'directory' in output) return output;
  throw new TypeError(`restoreBookmark: "${text}" is not a result of getBookmark.`);
}

function unknownRoute(path: string): ApiError {
  return apiError('ROUTE_UNKNOWN', `No route for the URI ${path}.`);
}

/** Returns the path below the base path, without a slash at the end. */
function pathBelow(pathname: string, basePath: string): string {
  const base = basePath.replace(/(?<!\/)\/+$/, '');
  const below =
    pathname === base || pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
  return `/${below.replace(/^\/+|(?<!\/)\/+$/g, '')}`;
}

/** Returns each parameter once; the values of a repeated parameter are joined by commas. */
function queryOf(parameters: URLSearchParams): Pick<Call, 'query' | 'repeated'> {
  const names = [...new Set(parameters.keys())];
  // An assignment to `query[name]` would drop a parameter named `__proto__`.
  const query = Object.fromEntries(names.map((name) => [name, parameters.getAll(name).join(',')]));
  const repeated = names.filter((name) => parameters.getAll(name).length > 1);
  return { query, ...(repeated.length > 0 && { repeated }) };
}

/** The zone or account that a path names. */
interface NamedOwner {
  readonly kind: 'zone' | 'account';
  readonly id: string;
}

const OWNER_PATHS: readonly (readonly [shape: string, kind: NamedOwner['kind']])[] = [
  ['/zones/:id/*', 'zone'],
  ['/accounts/:id/*', 'account'],
  ['/organizations/:id/*', 'account'],
];

/** Returns the zone or account that the path names; undefined for paths of the directory. */
function ownerIn(path: string): NamedOwner | undefined {
  for (const [shape, kind] of OWNER_PATHS) {
    const match = matchPath(shape, path);
    if (match) return { kind, id: match.params.id! };
  }
  return undefined;
}

/** Requires that the zone or account in the path exists, and that the caller may see it. @throws ApiError 404 or 403 */
function requireOwner(call: Pick<Call, 'path' | 'zone' | 'account' | 'visibleAccounts'>): void {
  const named = ownerIn(call.path);
  if (named && call[named.kind] === undefined) {
    throw apiError('RESOURCE_UNKNOWN', `There is no ${named.kind} ${named.id}.`);
  }
  if (call.account && call.visibleAccounts?.includes(call.account.id) === false) {
    throw apiError('FORBIDDEN', `The token has no access to ${call.path}.`);
  }
}

/** Maps each bearer token to the ids of the accounts that it may see. */
export type AccessTokens = Readonly<Record<string, readonly string[]>>;

/**
 * Returns the ids of the accounts that the caller may see; undefined means all.
 *
 * @throws ApiError 401 if tokens are configured and the caller's token is not one of them
 */
function visibleAccounts(
  headers: Headers,
  tokens: AccessTokens | undefined,
): readonly string[] | undefined {
  if (tokens === undefined) return undefined;
  const [, token = ''] = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '') ?? [];
  if (Object.hasOwn(tokens, token)) return tokens[token];
  throw apiError('TOKEN_UNKNOWN', 'The bearer token is unknown.');
}
