// Checks DNS records: their type, name, content and data.
//
// The types are those of the npm package `cloudflare`. A patch is merged into the record before the whole record is
// checked, so no write can leave an invalid record.

import * as v from 'valibot';
import { apiError, fieldsOf } from '../call/call.ts';
import type { ErrorName } from '../call/error-codes.ts';
import { validate } from '../call/validation.ts';
import { dnsName, hostName } from './dns-names.ts';
import { DATA_KINDS, type DataKind } from './dns-record-data.ts';

/** Record types whose content the client writes as text. */
const CONTENT_TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'OPENPGPKEY', 'PTR', 'TXT'] as const;

export const RECORD_TYPES: readonly string[] = [...CONTENT_TYPES, ...DATA_KINDS.keys()];

/** Fields of an SRV record's data that ended on 2024-05-31; the record's own name replaces them. */
export const SRV_NAME_FIELDS = ['service', 'proto', 'name'] as const;

/** Record types whose priority is a field of the record, and not in its content or data. */
const TYPES_WITH_OWN_PRIORITY = ['MX', 'URI'];
/** The content of a null MX (RFC 7505). */
export const NULL_HOST = '.';

const PROXIABLE = ['A', 'AAAA', 'CNAME'];
/** The time to live that means "automatic". The other limits are those of the SDK's documentation. */
const TTL_AUTOMATIC = 1;
const ttl = v.pipe(
  v.number(),
  v.integer(),
  v.check(
    (value) => value === TTL_AUTOMATIC || (value >= 30 && value <= 86_400),
    'must be 1 (automatic), or from 30 to 86400',
  ),
);
const uint16 = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535));

const RecordForm = v.object({
  type: v.picklist(RECORD_TYPES),
  name: v.pipe(v.string(), v.nonEmpty()),
  content: v.optional(v.string()),
  data: v.optional(v.looseObject({}), {}),
  priority: v.optional(uint16),
  ttl: v.optional(ttl, TTL_AUTOMATIC),
  proxied: v.optional(v.boolean(), false),
  comment: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(500))), null),
  tags: v.optional(v.array(v.string()), []),
  settings: v.optional(v.looseObject({}), {}),
});

/** The fields of a record that the client sets. */
export interface WrittenRecord {
  readonly type: string;
  readonly name: string;
  readonly content: string;
  readonly ttl: number;
  readonly proxied: boolean;
  readonly proxiable: boolean;
  readonly comment: string | null;
  readonly tags: readonly string[];
  readonly settings: object;
  readonly priority?: number;
  readonly data?: Readonly<Record<string, string | number>>;
}

/**
 * Returns the fields of the body that are not null, because clients send null for a field that the record does not
 * have.
 */
export function sentFields(body: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fieldsOf(body)).filter(([name, value]) => value !== null || name === 'comment'),
  );
}

/**
 * Checks the fields of a record and returns it with its full name and content. @throws ApiError 400 with every error
 */
export function writtenRecord(fields: unknown, zoneName: string): WrittenRecord {
  refuseSrvNameFields(fields);
  const form = validate(RecordForm, fields, errorOfField);
  const kind = DATA_KINDS.get(form.type);
  const data = kind && checkedData(kind, form.data);
  const content = data ? kind!.content(data) : checkedContent(form.type, form.content);
  const proxiable = PROXIABLE.includes(form.type);
  if (form.proxied && !proxiable) {
    throw apiError('RECORD_FIELD', `A record of type ${form.type} cannot be proxied.`, '/proxied');
  }
  const { type, proxied, comment, tags, settings } = form;
  const priority = TYPES_WITH_OWN_PRIORITY.includes(type)
    ? priorityOf(form, content)
    : data?.priority;
  return {
    type,
    name: type === 'SRV' ? serviceName(form.name, zoneName) : fullName(form.name, zoneName),
    content,
    ttl: form.ttl,
    proxied,
    proxiable,
    comment,
    tags,
    settings,
    ...(typeof priority === 'number' && { priority }),
    ...(data && { data }),
  };
}

function errorOfField(field: string): ErrorName {
  switch (field) {
    case 'name':
      return 'RECORD_NAME';
    case 'type':
      return 'RECORD_TYPE';
    case 'content':
      return 'RECORD_CONTENT';
    case 'ttl':
      return 'RECORD_TTL';
    case 'data':
      return 'RECORD_DATA';
    default:
      return 'RECORD_FIELD';
  }
}

function refuseSrvNameFields(fields: unknown): void {
  const { type, data } = fields as { type?: unknown; data?: unknown };
  if (type !== 'SRV' || typeof data !== 'object' || data === null) return;
  const sent = SRV_NAME_FIELDS.filter((field) => field in data);
  if (sent.length === 0) return;
  const names = sent.map((field) => `data.${field}`).join(', ');
  throw apiError(
    'SRV_FIELD_REFUSED',
    `${names} of an SRV record is no longer accepted; put service and protocol into name.`,
    `/data/${sent[0]}`,
  );
}

function checkedData({ form, problem }: DataKind, sent: unknown) {
  const { data } = validate(v.object({ data: form }), { data: sent }, () => 'RECORD_DATA');
  const found = problem?.(data);
  if (found === undefined) return data;
  const { field, reason } = found;
  throw apiError('RECORD_DATA', `data.${field} ${reason}.`, `/data/${field}`);
}

/** Normalizes the content, so that records with the same hosts or addresses are identical. */
function checkedContent(type: string, content: string | undefined): string {
  if (content === undefined || content.trim() === '') {
    throw apiError('RECORD_CONTENT', `content is required for type ${type}.`, '/content');
  }
  const [expected, normalized] = NORMALIZERS.get(type)?.(content) ?? ['', content];
  if (
    normalized !== undefined &&
    v.is(v.pipe(v.string(), v.maxBytes(CONTENT_BYTES_MAX)), normalized)
  ) {
    return normalized;
  }
  const required = normalized === undefined ? expected : `at most ${CONTENT_BYTES_MAX} bytes`;
  throw apiError('RECORD_CONTENT', `content must be ${required} for type ${type}.`, '/content');
}

/** The largest content of a record: DNS writes its length in 16 bits (RFC 1035, section 3.2.1). */
const CONTENT_BYTES_MAX = 65_535;

type Normalizer = (content: string) => readonly [expected: string, normalized: string | undefined];

const normalizeHost: Normalizer = (content) => ['a host name', hostName(content)];

const NORMALIZERS: ReadonlyMap<string, Normalizer> = new Map<string, Normalizer>([
  ['A', (text) => ['an IPv4 address', textIfValid(v.ipv4(), text)]],
  ['AAAA', (text) => ['an IPv6 address', shortestIpv6(textIfValid(v.ipv6(), text))]],
  ['CNAME', normalizeHost],
  ['MX', (text) => ['a host name or "."', text === NULL_HOST ? text : hostName(text)]],
  ['NS', normalizeHost],
  ['OPENPGPKEY', (text) => ['base64 (RFC 7929)', textIfValid(v.base64(), text)]],
  ['PTR', normalizeHost],
]);

function textIfValid(
  check: v.PipeItem<string, string, v.BaseIssue<unknown>>,
  text: string,
): string | undefined {
  return v.is(v.pipe(v.string(), check), text) ? text : undefined;
}

/** Returns the address in the form of RFC 5952, which the URL parser writes. */
function shortestIpv6(address: string | undefined): string | undefined {
  return address && new URL(`http://[${address}]`).hostname.slice(1, -1);
}

function priorityOf(
  { type, priority }: { readonly type: string; readonly priority?: number | undefined },
  content: string,
): number {
  if (priority === undefined) {
    throw apiError('RECORD_FIELD', `priority is required for type ${type}.`, '/priority');
  }
  if (type === 'MX' && content === NULL_HOST && priority !== 0) {
    throw apiError('RECORD_FIELD', 'The priority of a null MX must be 0 (RFC 7505).', '/priority');
  }
  return priority;
}

/**
 * Checks the name of an SRV record: a service and a protocol, which begin with an underscore, then the base name (RFC
 * 2782).
 */
function serviceName(name: string, zoneName: string): string {
  const full = fullName(name, zoneName);
  if (isServiceName(full)) return full;
  throw apiError(
    'RECORD_NAME',
    `"${name}" is not the name of a service; write it as _service._protocol.name.`,
    '/name',
  );
}

/** Returns whether the name begins with a service and a protocol. */
export function isServiceName(name: string): boolean {
  return /^_[^.]+\._[^.]/.test(name);
}

/** Returns the name with its zone, which is appended to names that do not end with it; `@` means the zone itself. */
export function fullName(name: string, zoneName: string): string {
  const normalized = name === '@' ? zoneName : dnsName(name);
  const isFull = normalized === zoneName || normalized?.endsWith(`.${zoneName}`);
  const full =
    normalized === undefined || isFull ? normalized : dnsName(`${normalized}.${zoneName}`);
  if (full !== undefined) return full;
  throw apiError('RECORD_NAME', `"${name}" is not a DNS name.`, '/name');
}
