// Every error code of the interface, its status, and where the code comes from.
//
// `described` codes are in the provider's published description of the interface. `known` codes are used by the
// provider's clients, but are not in the description. `invented` codes are the emulator's own.

/** One error or message of the body of an answer. */
export interface ErrorEntry {
  readonly code: number;
  readonly message: string;
  readonly documentation_url?: string;
  /** Names the field that caused the error, by a JSON pointer. */
  readonly source?: { readonly pointer: string };
  readonly error_chain?: readonly ErrorEntry[];
}

interface ErrorKind {
  readonly code: number;
  readonly status: number;
  readonly origin: 'described' | 'known' | 'invented';
  readonly meaning: string;
}

export const ERRORS = {
  DNS_VALIDATION: {
    code: 1004,
    status: 400,
    origin: 'described',
    meaning: 'until 2024-10-01, wraps the errors of an invalid record, which are in `error_chain`',
  },
  ROUTE_UNKNOWN: { code: 7003, status: 404, origin: 'known', meaning: 'the path does not exist' },
  METHOD_UNKNOWN: {
    code: 7001,
    status: 405,
    origin: 'invented',
    meaning: 'the path does not support the method; `Allow` lists the supported methods',
  },
  BODY_INVALID: {
    code: 6007,
    status: 400,
    origin: 'invented',
    meaning: 'the body cannot be decoded',
  },
  FIELD_INVALID: {
    code: 1400,
    status: 400,
    origin: 'invented',
    meaning: 'a field has an invalid value',
  },
  FIELD_MISSING: {
    code: 1401,
    status: 400,
    origin: 'invented',
    meaning: 'a required field is missing',
  },
  PAGE_INVALID: {
    code: 1402,
    status: 400,
    origin: 'invented',
    meaning: '`page` or `per_page` is not an integer within its limits',
  },
  RESOURCE_UNKNOWN: {
    code: 1404,
    status: 404,
    origin: 'invented',
    meaning: 'the resource does not exist',
  },
  OPERATION_GONE: {
    code: 1410,
    status: 410,
    origin: 'invented',
    meaning: 'the operation has ended; `documentation_url` describes its replacement',
  },
  DATE_INVALID: {
    code: 1412,
    status: 400,
    origin: 'invented',
    meaning: 'a header that must contain a date does not',
  },
  TRANSFER_DECLINED: {
    code: 1413,
    status: 400,
    origin: 'invented',
    meaning: 'the request has both Transfer-Encoding and Content-Length (Node server only)',
  },
  REQUEST_INVALID: {
    code: 1420,
    status: 400,
    origin: 'invented',
    meaning: 'the request has an invalid host or address',
  },
  HOST_REFUSED: {
    code: 1421,
    status: 403,
    origin: 'invented',
    meaning: 'the server does not answer to this host (Node server only)',
  },
  ORIGIN_REFUSED: {
    code: 1403,
    status: 403,
    origin: 'invented',
    meaning: 'the server does not answer web pages of this origin (Node server only)',
  },
  MEDIA_REFUSED: {
    code: 1415,
    status: 415,
    origin: 'invented',
    meaning: 'the body is neither JSON nor a multipart form (Node server only)',
  },
  BODY_TOO_LONG: {
    code: 1416,
    status: 413,
    origin: 'invented',
    meaning: 'the body is larger than 1 MiB, or would make a resource too large to store',
  },
  ZONE_EXISTS: { code: 1061, status: 400, origin: 'invented', meaning: 'the zone already exists' },
  ITEM_EXISTS: { code: 1409, status: 400, origin: 'invented', meaning: 'the id already exists' },
  RECORD_EXISTS: {
    code: 81058,
    status: 400,
    origin: 'invented',
    meaning: 'an identical record exists',
  },
  CNAME_CONFLICT: {
    code: 81053,
    status: 400,
    origin: 'invented',
    meaning: 'a name with a CNAME record cannot have an A, AAAA or other CNAME record',
  },
  MX_CONFLICT: {
    code: 81054,
    status: 400,
    origin: 'invented',
    meaning: 'a name with a null MX record cannot have another MX record',
  },
  TOKEN_UNKNOWN: {
    code: 10000,
    status: 401,
    origin: 'invented',
    meaning: 'the token is unknown',
  },
  FORBIDDEN: {
    code: 9109,
    status: 403,
    origin: 'invented',
    meaning: 'the token has no access to the account',
  },
  RECORD_NAME: {
    code: 9000,
    status: 400,
    origin: 'invented',
    meaning: 'the name of a record is invalid',
  },
  RECORD_TYPE: {
    code: 9001,
    status: 400,
    origin: 'invented',
    meaning: 'the type of a record is invalid',
  },
  RECORD_FIELD: {
    code: 9002,
    status: 400,
    origin: 'invented',
    meaning: 'another field of a record is invalid',
  },
  RECORD_CONTENT: {
    code: 9005,
    status: 400,
    origin: 'invented',
    meaning: 'the content of a record is invalid',
  },
  RECORD_TTL: {
    code: 9021,
    status: 400,
    origin: 'invented',
    meaning: 'the time to live of a record is invalid',
  },
  RECORD_DATA: {
    code: 9101,
    status: 400,
    origin: 'invented',
    meaning: 'the data of a record is invalid',
  },
  SRV_FIELD_REFUSED: {
    code: 9102,
    status: 400,
    origin: 'invented',
    meaning:
      'since 2024-05-31, an SRV record cannot have `data.service`, `data.proto` or `data.name`',
  },
  INTERNAL: { code: 1500, status: 500, origin: 'invented', meaning: 'the emulator failed' },
} as const satisfies Record<string, ErrorKind>;

export type ErrorName = keyof typeof ERRORS;

export function errorEntry(
  name: ErrorName,
  message: string,
  pointer?: string,
): { readonly status: number; readonly entry: ErrorEntry } {
  const { code, status } = ERRORS[name];
  return {
    status,
    entry: { code, message, ...(pointer !== undefined && { source: { pointer } }) },
  };
}
