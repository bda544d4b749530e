// The form of a DNS record: its types, their content and data, and what makes one invalid.
//
// Types and the fields of `data` follow the types of the npm package `cloudflare`. A record is checked
// as a whole after a patch was laid over it, so no way of writing leaves an invalid one behind.

import * as v from 'valibot';
import { apiError } from '../call.ts';
import type { ErrorName } from '../error-codes.ts';
import { validate } from '../validation.ts';

/** Types whose content is written as text. */
const CONTENT_TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'OPENPGPKEY', 'PTR', 'TXT'] as const;

/** Types written as data: the numbers and texts that make their content, in its order. */
const DATA_FIELDS: Readonly<Record<string, Readonly<Record<string, 'number' | 'string'>>>> = {
  CAA: { flags: 'number', tag: 'string', value: 'string' },
  CERT: { type: 'number', key_tag: 'number', algorithm: 'number', certificate: 'string' },
  DNSKEY: { flags: 'number', protocol: 'number', algorithm: 'number', public_key: 'string' },
  DS: { key_tag: 'number', algorithm: 'number', digest_type: 'number', digest: 'string' },
  HTTPS: { priority: 'number', target: 'string', value: 'string' },
  LOC: {
    lat_degrees: 'number',
    lat_minutes: 'number',
    lat_seconds: 'number',
    lat_direction: 'string',
    long_degrees: 'number',
    long_minutes: 'number',
    long_seconds: 'number',
    long_direction: 'string',
    altitude: 'number',
    size: 'number',
    precision_horz: 'number',
    precision_vert: 'number',
  },
  NAPTR: {
    order: 'number',
    preference: 'number',
    flags: 'string',
    service: 'string',
    regex: 'string',
    replacement: 'string',
  },
  SMIMEA: { usage: 'number', selector: 'number', matching_type: 'number', certificate: 'string' },
  SRV: { priority: 'number', weight: 'number', port: 'number', target: 'string' },
  SSHFP: { algorithm: 'number', type: 'number', fingerprint: 'string' },
  SVCB: { priority: 'number', target: 'string', value: 'string' },
  TLSA: { usage: 'number', selector: 'number', matching_type: 'number', certificate: 'string' },
  URI: { weight: 'number', target: 'string' },
};

/** Fields of an SRV record's data that ended on 2024-05-31; the outer name says it all. */
export const SRV_NAME_FIELDS = ['service', 'proto', 'name'] as const;

const PROXIABLE = ['A', 'AAAA', 'CNAME'];
/** 1 means automatic; the bounds are those of the SDK's documentation. */
const TTL_AUTOMATIC = 1;
const ttl = v.pipe(
  v.number(),
  v.integer(),
  v.check(
    (value) => value === TTL_AUTOMATIC || (value >= 30 && value <= 86_400),
    'must be 1 (automatic) or from 30 to 86400',
  ),
);
const uint16 = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535));

const RecordForm = v.object({
  type: v.picklist([...CONTENT_TYPES, ...Object.keys(DATA_FIELDS)]),
  name: v.pipe(v.string(), v.nonEmpty()),
  content: v.optional(v.string()),
  data: v.optional(v.record(v.string(), v.union([v.string(), v.number()]))),
  priority: v.optional(uint16),
  ttl: v.optional(ttl, TTL_AUTOMATIC),
  proxied: v.optional(v.boolean(), false),
  comment: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(500))), null),
  tags: v.optional(v.array(v.string()), []),
  settings: v.optional(v.looseObject({}), {}),
});

/** The fields of a record that its writer decides. */
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

/** @throws ApiError 400 with the causes */
export function writtenRecord(fields: unknown, zoneName: string): WrittenRecord {
  refuseSrvNameFields(fields);
  const form = validate(RecordForm, fields, errorOfField);
  const data = form.type in DATA_FIELDS ? checkedData(form.type, form.data ?? {}) : undefined;
  const content = data === undefined ? checkedContent(form.type, form.content) : contentOf(data);
  const proxiable = PROXIABLE.includes(form.type);
  if (form.proxied && !proxiable) {
    throw apiError('RECORD_FIELD', `A record of type ${form.type} cannot be proxied.`, '/proxied');
  }
  const { type, proxied, comment, tags, settings } = form;
  const priority = type === 'MX' ? requiredPriority(form.priority) : data?.priority;
  return {
    type,
    name: fullName(form.name, zoneName),
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
    `${names} of an SRV record is no longer accepted; service and protocol belong to the name.`,
    `/data/${sent[0]}`,
  );
}

function checkedData(
  type: string,
  data: Readonly<Record<string, string | number>>,
): Record<string, string | number> {
  const checked: Record<string, string | number> = {};
  for (const [field, kind] of Object.entries(DATA_FIELDS[type]!)) {
    const value = data[field];
    if (typeof value !== kind) {
      const found = value === undefined ? 'is required' : `must be a ${kind}`;
      throw apiError('RECORD_DATA', `data.${field} ${found} for type ${type}.`, `/data/${field}`);
    }
    checked[field] = value!;
  }
  return checked;
}

/** The content as zone files write it; SRV and URI keep their priority outside of it. */
function contentOf(data: Readonly<Record<string, string | number>>): string {
  const shown = 'port' in data ? { ...data, priority: '' } : data;
  return Object.values(shown)
    .filter((value) => value !== '')
    .join(' ');
}

function checkedContent(type: string, content: string | undefined): string {
  if (content === undefined || content.trim() === '') {
    throw apiError('RECORD_CONTENT', `content is required by type ${type}.`, '/content');
  }
  const wrong = (what: string) =>
    apiError('RECORD_CONTENT', `content must be ${what} for type ${type}.`, '/content');
  if (type === 'A' && !v.is(v.pipe(v.string(), v.ipv4()), content)) throw wrong('an IPv4 address');
  if (type === 'AAAA' && !v.is(v.pipe(v.string(), v.ipv6()), content)) {
    throw wrong('an IPv6 address');
  }
  if (['CNAME', 'MX', 'NS', 'PTR'].includes(type) && !isHostname(content)) {
    throw wrong('a host name');
  }
  return content;
}

function requiredPriority(priority: number | undefined): number {
  if (priority !== undefined) return priority;
  throw apiError('RECORD_FIELD', 'priority of an MX record is required.', '/priority');
}

/** The name with its zone: `@` and names without the zone are completed. */
export function fullName(name: string, zoneName: string): string {
  const lower = name.toLowerCase().replace(/\.$/, '');
  const full =
    lower === '@'
      ? zoneName
      : lower === zoneName || lower.endsWith(`.${zoneName}`)
        ? lower
        : `${lower}.${zoneName}`;
  if (isHostname(full)) return full;
  throw apiError('RECORD_NAME', `"${name}" is no DNS name.`, '/name');
}

/** Labels of letters, digits, `-` and `_`, or a first `*`; at most 63 and in all 253 characters. */
export function isHostname(name: string): boolean {
  const labels = name.replace(/\.$/, '').split('.');
  return (
    name.length <= 253 &&
    labels.every(
      (label, index) =>
        (label === '*' && index === 0) ||
        (label.length <= 63 && /^[\p{L}\p{N}_]([\p{L}\p{N}_-]*[\p{L}\p{N}_])?$/u.test(label)),
    )
  );
}
