// Defines the record types that are written as `data`: the fields of each type, their limits, and the content that they
// form.
//
// The fields are those of the npm package `cloudflare`; limits and spelling follow the RFC named at each type. This
// module does not know the names of records or the fields outside `data`.

import * as v from 'valibot';
import { hostName } from './dns-names.ts';

type Data = Readonly<Record<string, string | number>>;

interface DataProblem {
  readonly field: string;
  readonly reason: string;
}

export interface DataKind {
  readonly form: v.GenericSchema<unknown, Data>;
  /** Returns the contradiction between fields that are valid on their own; undefined if there is none. */
  readonly problem?: (data: Data) => DataProblem | undefined;
  /** Writes the fields as text, as they are written in zone files. */
  readonly content: (data: Data) => string;
}

function uint(max: number) {
  return v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(max));
}

const uint8 = uint(255);
const uint16 = uint(65_535);
const hex = v.pipe(
  v.string(),
  v.regex(/^(?:[0-9a-f]{2})+$/i, 'must be hexadecimal digits in pairs'),
);
const base64 = v.pipe(v.string(), v.nonEmpty(), v.base64());
/** A character string of DNS (RFC 1035, section 3.3). */
const characters = v.pipe(v.string(), v.maxBytes(255));
/** A host name, or `.`, which means that there is no host. */
const target = v.pipe(
  v.string(),
  v.check((text) => text === '.' || hostName(text) !== undefined, 'must be a host name or "."'),
  v.transform((text) => (text === '.' ? text : hostName(text)!)),
);

/**
 * Checks the length of a digest, which depends on the number in the field `by`. If this number is unknown, any length
 * is valid.
 */
function digestLengthProblem(field: string, by: string, digits: Readonly<Record<number, number>>) {
  return (data: Data): DataProblem | undefined => {
    const wanted = digits[Number(data[by])];
    const isRight = wanted === undefined || String(data[field]).length === wanted;
    return isRight ? undefined : { field, reason: `must have ${wanted} digits, as ${by} requires` };
  };
}

function joinedBySpaces(data: Data): string {
  return Object.values(data)
    .filter((value) => value !== '')
    .join(' ');
}

function quoteText(text: string | number | undefined): string {
  return `"${String(text).replace(/["\\]/g, '\\$&')}"`;
}

const SERVICE_BINDING: DataKind = {
  form: v.object({ priority: uint16, target, value: v.optional(v.string(), '') }),
  content: joinedBySpaces,
};

const SHA_256_DIGITS = 64;
const CERTIFICATE: DataKind = {
  form: v.object({ usage: uint8, selector: uint8, matching_type: uint8, certificate: hex }),
  problem: digestLengthProblem('certificate', 'matching_type', { 1: SHA_256_DIGITS, 2: 128 }),
  content: joinedBySpaces,
};

const minutes = v.optional(uint(59), 0);
const seconds = v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(59.999)), 0);
const metres = v.pipe(v.number(), v.minValue(0), v.maxValue(90_000_000));

/** Degrees, minutes and seconds of latitude and longitude, then lengths in metres (RFC 1876, section 3). */
const LOC = v.object({
  lat_degrees: uint(90),
  lat_minutes: minutes,
  lat_seconds: seconds,
  lat_direction: v.picklist(['N', 'S']),
  long_degrees: uint(180),
  long_minutes: minutes,
  long_seconds: seconds,
  long_direction: v.picklist(['E', 'W']),
  altitude: v.pipe(v.number(), v.minValue(-100_000), v.maxValue(42_849_672.95)),
  size: v.optional(metres, 1),
  precision_horz: v.optional(metres, 10_000),
  precision_vert: v.optional(metres, 10),
});

function coordinateProblem(data: Data): DataProblem | undefined {
  const isOff = (prefix: string, degreesMax: number) =>
    data[`${prefix}_degrees`] === degreesMax &&
    (data[`${prefix}_minutes`] !== 0 || data[`${prefix}_seconds`] !== 0);
  if (isOff('lat', 90)) return { field: 'lat_degrees', reason: 'must not exceed 90°' };
  if (isOff('long', 180)) return { field: 'long_degrees', reason: 'must not exceed 180°' };
  return undefined;
}

const FIELDS_IN_METRES = ['altitude', 'size', 'precision_horz', 'precision_vert'];

const NAPTR = v.object({
  order: uint16,
  preference: uint16,
  flags: v.pipe(characters, v.regex(/^[a-z0-9]*$/i)),
  service: characters,
  regex: characters,
  replacement: target,
});

function regexProblem({ regex, replacement }: Data): DataProblem | undefined {
  if (regex === '' || replacement === '.') return undefined;
  return { field: 'regex', reason: 'must be empty if there is a replacement' };
}

/** The record types by name. It is a map, because types come from requests and could name members of an object. */
export const DATA_KINDS: ReadonlyMap<string, DataKind> = new Map<string, DataKind>([
  [
    'CAA', // RFC 8659
    {
      form: v.object({
        flags: uint8,
        tag: v.pipe(v.string(), v.regex(/^[a-z0-9]{1,255}$/i)),
        value: v.string(),
      }),
      content: ({ flags, tag, value }) => `${flags} ${tag} ${quoteText(value)}`,
    },
  ],
  [
    'CERT', // RFC 4398
    {
      form: v.object({ type: uint16, key_tag: uint16, algorithm: uint8, certificate: base64 }),
      content: joinedBySpaces,
    },
  ],
  [
    'DNSKEY', // RFC 4034, section 2
    {
      form: v.object({
        flags: uint16,
        protocol: v.literal(3),
        algorithm: uint8,
        public_key: base64,
      }),
      content: joinedBySpaces,
    },
  ],
  [
    'DS', // RFC 4034, section 5; RFC 4509; RFC 6605
    {
      form: v.object({ key_tag: uint16, algorithm: uint8, digest_type: uint8, digest: hex }),
      problem: digestLengthProblem('digest', 'digest_type', { 1: 40, 2: SHA_256_DIGITS, 4: 96 }),
      content: joinedBySpaces,
    },
  ],
  ['HTTPS', SERVICE_BINDING], // RFC 9460
  [
    'LOC', // RFC 1876
    {
      form: LOC,
      problem: coordinateProblem,
      content: (data) =>
        Object.entries(data)
          .map(([field, value]) => (FIELDS_IN_METRES.includes(field) ? `${value}m` : value))
          .join(' '),
    },
  ],
  [
    'NAPTR', // RFC 3403
    {
      form: NAPTR,
      problem: regexProblem,
      content: ({ order, preference, flags, service, regex, replacement }) =>
        [
          order,
          preference,
          quoteText(flags),
          quoteText(service),
          quoteText(regex),
          replacement,
        ].join(' '),
    },
  ],
  ['SMIMEA', CERTIFICATE], // RFC 8162
  [
    'SRV', // RFC 2782; the priority is a field outside the content
    {
      form: v.object({ priority: uint16, weight: uint16, port: uint16, target }),
      content: (data) => joinedBySpaces({ ...data, priority: '' }),
    },
  ],
  [
    'SSHFP', // RFC 4255, RFC 6594
    {
      form: v.object({ algorithm: uint8, type: uint8, fingerprint: hex }),
      problem: digestLengthProblem('fingerprint', 'type', { 1: 40, 2: SHA_256_DIGITS }),
      content: joinedBySpaces,
    },
  ],
  ['SVCB', SERVICE_BINDING], // RFC 9460
  ['TLSA', CERTIFICATE], // RFC 6698
  [
    'URI', // RFC 7553; the priority is a field outside the content
    {
      form: v.object({
        weight: uint16,
        target: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9+.-]*:[^\s"]+$/i, 'must be a URI')),
      }),
      content: (data) => `${data.weight} ${quoteText(data.target)}`,
    },
  ],
]);
