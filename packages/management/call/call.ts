// A call of the interface and its answer, as the edge and the objects exchange them.
//
// Both are plain JSON in the newest form of the interface. The edge converts a call from the client's older form, and
// the answer back to it, so that stored items and the input of handlers never depend on a date.

import { type ErrorEntry, type ErrorName, errorEntry } from './error-codes.ts';

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export type Method = (typeof METHODS)[number];

/** The data about a zone that is stored in the directory. */
export interface ZoneIdentity {
  readonly id: string;
  readonly name: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly type: string;
  readonly createdOn: string;
}

/** The data about an account that is stored in the directory. */
export interface AccountIdentity {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly createdOn: string;
}

export interface Call {
  readonly method: Method;
  /** The path without base path, query and trailing slash, such as `/zones/:zone_id/dns_records`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Names of the parameters that occur several times in the query. @default none */
  readonly repeated?: readonly string[];
  /** The decoded JSON or form; absent if the request had no body. */
  readonly body?: unknown;
  /** The time of the call, ISO 8601 in UTC. */
  readonly nowIso: string;
  /** Fresh ids of 32 hexadecimal digits, one for each item the call can create. */
  readonly ids: readonly string[];
  readonly zone?: ZoneIdentity;
  readonly account?: AccountIdentity;
  /**
   * Names of retired settings and fields that still exist on the day of this call. Only the modules of `changes` add to
   * it.
   */
  readonly admitted: readonly string[];
  /** A patch of the DNS settings that is written together with the call. Only the modules of `changes` set it. */
  readonly dnsSettings?: unknown;
  /** The account's new type of nameservers for each current type. Only the modules of `changes` set it. */
  readonly nameserverTypes?: Readonly<Record<string, string>>;
  /** Ids of the accounts that the caller may see; absent if the caller may see all accounts. */
  readonly visibleAccounts?: readonly string[];
}

/** A call with the values of the parameters in its path. */
export interface RoutedCall extends Call {
  readonly params: Readonly<Record<string, string>>;
}

export interface PageInfo {
  readonly page: number;
  readonly per_page: number;
  readonly count: number;
  readonly total_count: number;
  readonly total_pages: number;
}

export interface Answer {
  readonly status: number;
  /** The result; null if the call failed. */
  readonly result: unknown;
  readonly errors: readonly ErrorEntry[];
  readonly pageInfo?: PageInfo;
  /**
   * The DNS settings of each item of the result, read in the same transaction. Only the modules of `changes` use them.
   */
  readonly dnsSettings?: readonly unknown[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Refuses a call and says why. The transaction of the call is rolled back. */
export class ApiError extends Error {
  readonly status: number;
  readonly errors: readonly ErrorEntry[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    errors: readonly ErrorEntry[],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(errors.map(({ code, message }) => `${code}: ${message}`).join('; '));
    this.name = 'ApiError';
    this.status = status;
    this.errors = errors;
    this.headers = headers;
  }
}

/**
 * Makes an error with the code and status of `name` in the table of error codes. `pointer` is the JSON pointer of the
 * invalid field.
 */
export function apiError(name: ErrorName, message: string, pointer?: string): ApiError {
  const { status, entry } = errorEntry(name, message, pointer);
  return new ApiError(status, [entry]);
}

export function successAnswer(result: unknown, pageInfo?: PageInfo): Answer {
  return { status: 200, result, errors: [], ...(pageInfo && { pageInfo }) };
}

export function errorAnswer(error: ApiError): Answer {
  const { status, errors, headers } = error;
  return { status, result: null, errors, headers };
}

/** Returns the body as an object. @throws ApiError 400 if it is not a JSON object */
export function fieldsOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw apiError('FIELD_INVALID', 'The body must be a JSON object.', '');
  }
  return body as Record<string, unknown>;
}
