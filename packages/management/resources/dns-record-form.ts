// Checks DNS records: the types, their content and data.
//
// The types are those of the npm package `cloudflare`. A patch is merged into the record before the whole
// record is checked, so no write can leave an invalid record.

import * as v from 'valibot';
import { apiError, fieldsOf } from '../call/call.ts';
import type { ErrorName } from '../call/error-codes.ts';
import { validate } from '../call/validation.ts';
import { dnsName, hostName } from './dns-names.ts';
import { DATA_KINDS, type DataKind } from './dns-record-data.ts';

/** Types whose content is text. */
const CONTENT_TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'OPENPGPKEY', 'PTR', 'TXT'] as const;

export const RECORD_TYPES: readonly string[] = [...CONTENT_TYPES, ...DATA_KINDS.keys()];

/** Fields of an SRV record's data that ended on 2024-05-31; the outer name replaces them. */
export const SRV_NAME_FIELDS = ['service', 'proto', 'name'] as const;

/** Types whose priority is a field outside content and data. */
const PRIORITY_OUTSIDE = ['MX', 'URI'];
/** The content of a null MX (RFC 7505). */
export const NULL_HOST = '.';

const PROXIABLE = ['A', 'AAAA', 'CNAME'];
/** 1 means automatic; the limits are those of the SDK's documentation. */
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

/** The fields that are not null: clients send null for a field that the record does not have. */
export function sentFields(body: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fieldsOf(body)).filter(([name, value]) => value !== null || name === 'comment'),
  );
}

/** @throws ApiError 400 with every error */
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
  const priority = PRIORITY_OUTSIDE.includes(type) ? priorityOf(form, content) : data?.priority;
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

/** The normalized content, so that records with the same hosts or addresses are identical. */
function checkedContent(type: string, content: string | undefined): string {
  if (content === undefined || content.trim() === '') {
    throw apiError('RECORD_CONTENT', `content is required for type ${type}.`, '/content');
  }
  const [what, spelled] = SPELLED.get(type)?.(content) ?? ['', content];
  if (spelled !== undefined && v.is(v.pipe(v.string(), v.maxBytes(CONTENT_BYTES_MAX)), spelled)) {
    return spelled;
  }
  const wanted = spelled === undefined ? what : `at most ${CONTENT_BYTES_MAX} bytes`;
  throw apiError('RECORD_CONTENT', `content must be ${wanted} for type ${type}.`, '/content');
}

/** The largest data of one record: its length is 16 bits (RFC 1035, section 3.2.1). */
const CONTENT_BYTES_MAX = 65_535;

type Spelling = (content: string) => readonly [what: string, spelled: string | undefined];

const host: Spelling = (content) => ['a host name', hostName(content)];

const SPELLED: ReadonlyMap<string, Spelling> = new Map<string, Spelling>([
  ['A', (text) => ['an IPv4 address', valid(v.ipv4(), text)]],
  ['AAAA', (text) => ['an IPv6 address', shortIpv6(valid(v.ipv6(), text))]],
  ['CNAME', host],
  ['MX', (text) => ['a host name or "."', text === NULL_HOST ? text : hostName(text)]],
  ['NS', host],
  ['OPENPGPKEY', (text) => ['base64 (RFC 7929)', valid(v.base64(), text)]],
  ['PTR', host],
]);

function valid(
  check: v.PipeItem<string, string, v.BaseIssue<unknown>>,
  text: string,
): string | undefined {
  return v.is(v.pipe(v.string(), check), text) ? text : undefined;
}

/** In the form of RFC 5952, which URLs use. */
function shortIpv6(address: string | undefined): string | undefined {
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

/** Service, protocol and base name; the first two begin with an underscore (RFC 2782). */
function serviceName(name: string, zoneName: string): string {
  const full = fullName(name, zoneName);
  if (isServiceName(full)) return full;
  throw apiError(
    'RECORD_NAME',
    `"${name}" is not the name of a service; write it as _service._protocol.name.`,
    '/name',
  );
}

/** Whether the name begins with a service and a protocol. */
export function isServiceName(name: string): boolean {
  return /^_[^.]+\._[^.]/.test(name);
}

/** The name with its zone, which is appended to `@` and to names without it. */
export function fullName(name: string, zoneName: string): string {
  const spelled = name === '@' ? zoneName : dnsName(name);
  const isFull = spelled === zoneName || spelled?.endsWith(`.${zoneName}`);
  const full = spelled === undefined || isFull ? spelled : dnsName(`${spelled}.${zoneName}`);
  if (full !== undefined) return full;
  throw apiError('RECORD_NAME', `"${name}" is not a DNS name.`, '/name');
}
