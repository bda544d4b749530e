// Every error code of the interface with its status, and where the code comes from.
//
// `described`: the description names it. `known`: the provider's clients know it, the description does not
// show it. `invented`: this emulator's own. docs/management.md lists them so; a test compares the two.

/** One error or message of the envelope. */
export interface ErrorEntry {
  readonly code: number;
  readonly message: string;
  readonly documentation_url?: string;
  /** JSON pointer of the field it is about. */
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
    meaning: 'DNS Validation Error, the wrapper before 2024-10-01',
  },
  ROUTE_UNKNOWN: { code: 7003, status: 404, origin: 'known', meaning: 'no such path' },
  METHOD_UNKNOWN: {
    code: 7001,
    status: 405,
    origin: 'invented',
    meaning: 'the path has no such method; `Allow` lists those it has',
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
    meaning: 'a value of the wrong form',
  },
  FIELD_MISSING: {
    code: 1401,
    status: 400,
    origin: 'invented',
    meaning: 'a required field is missing',
  },
  PAGE_INVALID: { code: 1402, status: 400, origin: 'invented', meaning: 'page or per_page' },
  RESOURCE_UNKNOWN: { code: 1404, status: 404, origin: 'invented', meaning: 'no such resource' },
  OPERATION_GONE: {
    code: 1410,
    status: 410,
    origin: 'invented',
    meaning: 'the operation ended on its date; `documentation_url` leads to what replaces it',
  },
  DATE_INVALID: {
    code: 1412,
    status: 400,
    origin: 'invented',
    meaning: 'a header that is no date',
  },
  TRANSFER_DECLINED: {
    code: 1413,
    status: 400,
    origin: 'invented',
    meaning: 'Transfer-Encoding together with Content-Length (Node server only)',
  },
  REQUEST_INVALID: {
    code: 1420,
    status: 400,
    origin: 'invented',
    meaning: 'the host or the address of the request',
  },
  HOST_REFUSED: {
    code: 1421,
    status: 403,
    origin: 'invented',
    meaning: 'a host the server does not answer to (Node server only)',
  },
  ORIGIN_REFUSED: {
    code: 1403,
    status: 403,
    origin: 'invented',
    meaning: 'a page of another origin (Node server only)',
  },
  MEDIA_REFUSED: {
    code: 1415,
    status: 415,
    origin: 'invented',
    meaning: 'a body that is neither JSON nor a multipart form (Node server only)',
  },
  BODY_TOO_LONG: {
    code: 1416,
    status: 413,
    origin: 'invented',
    meaning: 'a body of more than 1 MiB, or a resource it would make too large to keep',
  },
  ZONE_EXISTS: { code: 1061, status: 400, origin: 'invented', meaning: 'the zone already exists' },
  ITEM_EXISTS: { code: 1409, status: 400, origin: 'invented', meaning: 'the id is taken' },
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
    meaning: 'a CNAME cannot stand beside an A, AAAA or CNAME record of the same name',
  },
  MX_CONFLICT: {
    code: 81054,
    status: 400,
    origin: 'invented',
    meaning: 'a null MX cannot stand beside another MX record of the same name',
  },
  TOKEN_UNKNOWN: {
    code: 10000,
    status: 401,
    origin: 'invented',
    meaning: 'the token is not known',
  },
  FORBIDDEN: {
    code: 9109,
    status: 403,
    origin: 'invented',
    meaning: 'it belongs to another account',
  },
  RECORD_NAME: { code: 9000, status: 400, origin: 'invented', meaning: 'the name of a record' },
  RECORD_TYPE: { code: 9001, status: 400, origin: 'invented', meaning: 'the type of a record' },
  RECORD_FIELD: {
    code: 9002,
    status: 400,
    origin: 'invented',
    meaning: 'another field of a record',
  },
  RECORD_CONTENT: {
    code: 9005,
    status: 400,
    origin: 'invented',
    meaning: 'the content of a record',
  },
  RECORD_TTL: {
    code: 9021,
    status: 400,
    origin: 'invented',
    meaning: 'the time to live of a record',
  },
  RECORD_DATA: { code: 9101, status: 400, origin: 'invented', meaning: 'the data of a record' },
  SRV_FIELD_REFUSED: {
    code: 9102,
    status: 400,
    origin: 'invented',
    meaning: 'data.service, data.proto or data.name of an SRV record from 2024-05-31',
  },
  INTERNAL: { code: 1500, status: 500, origin: 'invented', meaning: 'the emulator itself failed' },
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
