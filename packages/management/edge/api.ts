// The edge of the emulated provider. It determines the day of a request, refuses operations that have
// ended by then, converts the call to the newest form, lets an object answer, and converts the answer
// back to the form of that day, with the headers that the schedule requires.
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
import { hasNameservers, NEUTRAL_WORD, PROVIDER_WORD, withWord } from './nameserver-words.ts';
import { performed } from './performed.ts';
import { applySchedule, requireSettings } from './scheduled.ts';

export interface ManagementOptions {
  /** The objects with the state; their class is `ManagementObject`. */
  readonly namespace: ManagementNamespace;
  /** The current time, in milliseconds since the epoch. @default the system's clock */
  readonly clock?: { now(): number };
  /** Fills the array with random bytes. @default crypto.getRandomValues */
  readonly random?: (bytes: Uint8Array<ArrayBuffer>) => void;
  /** An optional prefix of all paths. @default '/client/v4' */
  readonly basePath?: string;
  /**
   * Whether the header `api-version` sets the day of a call. SDKs from version 4 on send today's date.
   *
   * @default whether the clock is the system's: none was given, or a `MovableClock` that was never moved
   */
  readonly apiVersion?: boolean;
  /** Accounts that exist from the start. @default none */
  readonly accounts?: readonly { readonly id: string; readonly name: string }[];
  /** Which accounts a bearer token may see. @default every caller sees all */
  readonly tokens?: AccessTokens;
  /** @default the described interface's schedule */
  readonly schedule?: Schedule;
  /** Address of an HTML page with the schedule. @default the emulator's own */
  readonly documentation?: string;
  /**
   * The word for types of nameservers in answers, as in `<word>.standard`. Requests may also use the
   * provider's own word. @default 'provider'
   */
  readonly nameserverWord?: string;
}

/** Facts about a request that only an HTTP server can see. */
export interface Transport {
  /** Whether it had both Transfer-Encoding and Content-Length. */
  readonly bothLengths: boolean;
  /**
   * Throws if the server does not take such a body. Called when the day of the call is known, on which the interface may
   * refuse it first.
   */
  readonly admitBody?: () => void;
}

export interface ManagementApi {
  /** Answers a request to the provider. Errors are answers, too. */
  readonly fetch: (request: Request, transport?: Transport) => Promise<Response>;
  /**
   * Pins the account to a day, `YYYY-MM-DD`, for all calls without a date in their headers; null removes
   * the pin.
   *
   * @throws ApiError if the account does not exist or the date is invalid
   */
  pinAccount(accountId: string, date: string | null): Promise<void>;
  /** A bookmark of the whole provider's present state. @throws if the objects keep no history */
  getBookmark(): Promise<string>;
  /**
   * Restores the whole provider to the bookmark. Calls made during the restore may see some objects
   * before it and some after it.
   *
   * @throws TypeError if the text is not a result of `getBookmark`
   */
  restoreBookmark(bookmark: string): Promise<void>;
}

const ID_BYTES = 16;
const NEW_IDS_MAX = 1000;
const ADDRESS_LENGTH_MAX = 16_384;

/** Creates a provider on these objects. Several providers may share one namespace. */
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
  readonly #word: string;
  #hasBegun = false;

  constructor(options: ManagementOptions) {
    this.#options = options;
    this.#objects = new ManagementObjects(options.namespace);
    this.#now = () => (options.clock ?? Date).now();
    this.#random = options.random ?? ((bytes) => void crypto.getRandomValues(bytes));
    this.#schedule = options.schedule ?? SCHEDULE;
    this.#changes = new ChangeChain((id) => this.#dateOf(id));
    this.#basePath = (options.basePath ?? DEFAULT_BASE_PATH).replace(/(?<!\/)\/+$/, '');
    this.#word = options.nameserverWord ?? NEUTRAL_WORD;
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
    await this.#begin();
    const path = `/identities/account/${accountId}`;
    const answer = await this.#objects.directory(this.#internal('PATCH', path, { pin }));
    if (answer.status >= 400) throw new ApiError(answer.status, answer.errors);
  }

  async getBookmark(): Promise<string> {
    await this.#begin();
    const { result } = await this.#objects.directory(this.#internal('GET', '/ids'));
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
    await this.#begin();
    // `fetch` does not capitalize `patch`, and older SDKs send it in lower case.
    const asked = request.method.toUpperCase();
    const method = (asked === 'HEAD' ? 'GET' : asked) as Method;
    const visible = visibleAccounts(request.headers, this.#options.tokens);
    const { zone, account } = await this.#identities(path);
    const { day: at, iso: nowIso } = effectiveTime({
      headers: request.headers,
      readsApiVersion: this.#options.apiVersion ?? this.#isToday(),
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
      ...this.#internal(method, path, hasNameservers(path) ? this.#neutral(body) : body),
      ...queryOf(url.searchParams),
      nowIso,
      ...owner,
    };
    return this.#carriedOut(call, at);
  }

  async #carriedOut(call: Call, at: string): Promise<Answer> {
    const context = { read: (path: string) => this.#read(call, path) };
    const { call: newest, steps } = await this.#changes.up(call, at, context);
    const route = this.#routeOf(newest.method, newest.path);
    const answer = await performed(this.#objects, route, newest);
    const shown = await this.#changes.down(answer, steps, context);
    if (!hasNameservers(call.path)) return shown;
    return { ...shown, result: withWord(shown.result, NEUTRAL_WORD, this.#word) };
  }

  /** The result of a GET for a change; null if the GET fails. */
  async #read(call: Call, path: string): Promise<unknown> {
    const route = this.#routeOf('GET', path);
    const { zone, account } = await this.#identities(path);
    const read = {
      ...this.#internal('GET', path),
      ...(zone && { zone }),
      ...(account && { account }),
    };
    const { visibleAccounts } = call;
    requireOwner({ ...read, ...(visibleAccounts && { visibleAccounts }) });
    return (await performed(this.#objects, route, read)).result;
  }

  #routeOf(method: Method, path: string): Route {
    const matched = this.#routes.match(method, path);
    if (matched.kind === 'route') return matched.route;
    throw unknownRoute(path);
  }

  #dateOf(id: string): string | undefined {
    return this.#schedule.find((entry) => entry.id === id)?.date;
  }

  /** A clock that was set to a day decides instead of the date that an SDK sends with every call. */
  #isToday(): boolean {
    const { clock } = this.#options;
    return clock === undefined || (clock instanceof MovableClock && !clock.isMoved);
  }

  #declineBothLengths(at: string, transport: Transport | undefined): void {
    const date = this.#dateOf('transfer-encoding-content-length');
    if (!transport?.bothLengths || date === undefined || at < date) return;
    const fact = 'The request has both Transfer-Encoding and Content-Length';
    throw apiError('TRANSFER_DECLINED', `${fact}, which RFC 7230 forbids.`);
  }

  /** @throws ApiError 404 for an unknown path, 405 for a method that the path does not support */
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

  /** The zone and account that the path names, as the directory knows them. */
  async #identities(path: string): Promise<Identities> {
    const named = ownerIn(path);
    if (named === undefined) return {};
    const call = { ...this.#internal('GET', '/identities'), query: { [named.kind]: named.id } };
    return (await this.#objects.directory(call)).result as Identities;
  }

  #internal(method: Method, path: string, body?: unknown): Call {
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

  #neutral(body: unknown): unknown {
    return [this.#word, PROVIDER_WORD].reduce(
      (neutral, word) => withWord(neutral, word, NEUTRAL_WORD),
      body,
    );
  }

  /**
   * Adds the accounts that exist from the start. Concurrent requests each ask for it, because on workerd
   * one request cannot wait for the I/O of another.
   */
  async #begin(): Promise<void> {
    const { accounts = [] } = this.#options;
    if (this.#hasBegun || accounts.length === 0) return;
    await this.#objects.directory(this.#internal('POST', '/identities', accounts));
    this.#hasBegun = true;
  }
}

const Bookmarks = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.string()));

/** The bookmarks by name of the object. */
function bookmarksOf(text: string): Record<string, string> {
  const { success, output } = v.safeParse(Bookmarks, text);
  if (success && 'directory' in output) return output;
  throw new TypeError(`restoreBookmark: "${text}" is not a result of getBookmark.`);
}

function unknownRoute(path: string): ApiError {
  return apiError('ROUTE_UNKNOWN', `No route for the URI ${path}.`);
}

/** The path below the base path, without a slash at the end. */
function pathBelow(pathname: string, basePath: string): string {
  const base = basePath.replace(/(?<!\/)\/+$/, '');
  const below =
    pathname === base || pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
  return `/${below.replace(/^\/+|(?<!\/)\/+$/g, '')}`;
}

/** Each parameter once; the values of a repeated parameter are joined by commas. */
function queryOf(parameters: URLSearchParams): Pick<Call, 'query' | 'repeated'> {
  const names = [...new Set(parameters.keys())];
  // Not by assignment, which would drop a parameter named `__proto__`.
  const query = Object.fromEntries(names.map((name) => [name, parameters.getAll(name).join(',')]));
  const repeated = names.filter((name) => parameters.getAll(name).length > 1);
  return { query, ...(repeated.length > 0 && { repeated }) };
}

/** The zone or account that a path names. */
interface NamedOwner {
  readonly kind: 'zone' | 'account';
  readonly id: string;
}

const OWNED: readonly (readonly [shape: string, kind: NamedOwner['kind']])[] = [
  ['/zones/:id/*', 'zone'],
  ['/accounts/:id/*', 'account'],
  ['/organizations/:id/*', 'account'],
];

/** Undefined for paths of the directory. */
function ownerIn(path: string): NamedOwner | undefined {
  for (const [shape, kind] of OWNED) {
    const match = matchPath(shape, path);
    if (match) return { kind, id: match.params.id! };
  }
  return undefined;
}

/** @throws ApiError 404 if the path names an unknown zone or account, 403 if the caller may not see it */
function requireOwner(call: Pick<Call, 'path' | 'zone' | 'account' | 'visibleAccounts'>): void {
  const named = ownerIn(call.path);
  if (named && call[named.kind] === undefined) {
    throw apiError('RESOURCE_UNKNOWN', `There is no ${named.kind} ${named.id}.`);
  }
  if (call.account && call.visibleAccounts?.includes(call.account.id) === false) {
    throw apiError('FORBIDDEN', `The token has no access to ${call.path}.`);
  }
}

/** Account ids by bearer token. Without configured tokens, every caller sees all accounts. */
export type AccessTokens = Readonly<Record<string, readonly string[]>>;

/**
 * The accounts the caller may see; undefined means all.
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
