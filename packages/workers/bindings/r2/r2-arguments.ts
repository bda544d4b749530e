// Converts and checks the arguments of a bucket, with the limits and error messages of R2 in workerd.

import { bytesToHex } from '@noble/hashes/utils.js';
import { convertToInt32 } from '../arguments.ts';
import { type Condition, conditionOfHeaders, type Etag, withoutUndefined } from './conditions.ts';
import { ALGORITHMS, type Algorithm, type Checksums } from './digests.ts';
import { type Operation, r2Error } from './r2-error.ts';
import type { WantedRange } from './ranges.ts';

const KEY_BYTES_MAX = 1024;
const METADATA_BYTES_MAX = 2048;
const PART_NUMBER_MAX = 10_000;

const HEADER_OF_FIELD = {
  contentType: 'content-type',
  contentLanguage: 'content-language',
  contentDisposition: 'content-disposition',
  contentEncoding: 'content-encoding',
  cacheControl: 'cache-control',
} as const;

const HTTP_FIELD_NAMES = Object.keys(HEADER_OF_FIELD) as (keyof typeof HEADER_OF_FIELD)[];

export type HttpMetadata = {
  -readonly [Name in keyof typeof HEADER_OF_FIELD]?: string | undefined;
} & { cacheExpiry?: Date | undefined };

type Options = Readonly<Record<string, unknown>>;

/** Makes the error of a call that lacks an argument, or has one of the wrong type. */
export function wrongParameter(method: string, position: number, type: string): TypeError {
  const [owner, name] = method.split('.');
  const call = `Failed to execute '${name}' on '${owner}'`;
  return new TypeError(`${call}: parameter ${position} is not of type '${type}'.`);
}

function wrongField(name: string, owner: string, type: string): TypeError {
  return new TypeError(
    `Incorrect type for the '${name}' field on '${owner}': the provided value is not of type '${type}'.`,
  );
}

/** Returns the options of a call, or none. @throws TypeError if the argument is not an object */
export function optionsOf(method: string, position: number, type: string, given: unknown): Options {
  if (given === undefined || given === null) return {};
  if (typeof given === 'object' || typeof given === 'function') return given as Options;
  throw wrongParameter(method, position, type);
}

/** Returns the key. @throws Error if it is longer than 1,024 bytes */
export function checkObjectKey(operation: Operation, key: string): string {
  if (new TextEncoder().encode(key).length <= KEY_BYTES_MAX) return key;
  throw r2Error(operation, 10020);
}

/**
 * Reads the option `range` of a get.
 *
 * @throws TypeError if its members contradict each other; RangeError if a member is not a count of bytes
 */
export function rangeOf({ range }: Options): WantedRange | undefined {
  if (range === undefined || range === null) return undefined;
  if (range instanceof Headers) {
    const header = range.get('range');
    return header === null ? undefined : { header };
  }
  if (typeof range !== 'object') throw wrongField('range', 'GetOptions', 'Range or Headers');
  const { offset, length, suffix } = range as Options;
  if (suffix !== undefined && offset !== undefined) {
    throw new TypeError('Suffix is incompatible with offset.');
  }
  if (suffix !== undefined && length !== undefined) {
    throw new TypeError('Suffix is incompatible with length.');
  }
  return {
    ...(offset !== undefined && { offset: byteCountOf(offset, 'range', 'Starting offset') }),
    ...(length !== undefined && { length: byteCountOf(length, 'range', 'Length') }),
    ...(suffix !== undefined && { suffix: byteCountOf(suffix, 'suffix', 'Suffix') }),
  };
}

/** Returns a count of bytes. @throws RangeError if the number is negative or not an integer */
function byteCountOf(given: unknown, option: string, name: string): number {
  const count = Number(given);
  const shown = Number.isNaN(count) ? 'nan' : count;
  if (!(count >= 0)) {
    throw new RangeError(
      `Invalid ${option}. ${name} (${shown}) must be greater than or equal to 0.`,
    );
  }
  if (Number.isInteger(count)) return count;
  throw new RangeError(`Invalid range. ${name} (${shown}) must be an integer, not floating point.`);
}

/** Reads the option `onlyIf`. @throws TypeError or Error if a member or header of it is not valid */
export function conditionOf({ onlyIf }: Options): Condition | undefined {
  if (onlyIf === undefined || onlyIf === null) return undefined;
  if (onlyIf instanceof Headers) return conditionOfHeaders(onlyIf);
  if (typeof onlyIf !== 'object')
    throw wrongField('onlyIf', 'GetOptions', 'Conditional or Headers');
  const options = onlyIf as Options;
  return withoutUndefined({
    etagMatches: etagsOf(options, 'etagMatches'),
    etagDoesNotMatch: etagsOf(options, 'etagDoesNotMatch'),
    uploadedBefore: timeOf(options, 'uploadedBefore', 'Conditional')?.getTime(),
    uploadedAfter: timeOf(options, 'uploadedAfter', 'Conditional')?.getTime(),
    secondsGranularity: Boolean(options.secondsGranularity),
  });
}

function etagsOf(options: Options, name: string): readonly Etag[] | undefined {
  const value = options[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw wrongField(name, 'Conditional', 'string');
  if (value.startsWith('"') && value.endsWith('"')) {
    throw new TypeError(`Conditional ETag should not be wrapped in quotes (${value}).`);
  }
  return [value === '*' ? { type: 'any' } : { type: 'strong', value }];
}

function timeOf(options: Options, name: string, owner: string): Date | undefined {
  const value = options[name];
  if (value === undefined) return undefined;
  const isTime = typeof value === 'number' || value instanceof Date;
  const time = new Date(isTime ? value : Number.NaN);
  if (Number.isNaN(time.getTime())) throw wrongField(name, owner, 'date');
  return time;
}

/** Reads the option `httpMetadata`. @throws TypeError if its type is wrong */
export function httpMetadataOf({ httpMetadata: given }: Options): HttpMetadata {
  if (given === undefined || given === null) return {};
  if (typeof given !== 'object') {
    throw wrongField('httpMetadata', 'PutOptions', 'HttpMetadata or Headers');
  }
  if (given instanceof Headers) return httpMetadataOfHeaders(given);
  const options = given as Options;
  const metadata: HttpMetadata = {};
  for (const name of HTTP_FIELD_NAMES) {
    if (options[name] !== undefined) metadata[name] = String(options[name]);
  }
  return { ...metadata, cacheExpiry: timeOf(options, 'cacheExpiry', 'HttpMetadata') };
}

function httpMetadataOfHeaders(headers: Headers): HttpMetadata {
  const metadata: HttpMetadata = {};
  for (const name of HTTP_FIELD_NAMES)
    metadata[name] = headers.get(HEADER_OF_FIELD[name]) ?? undefined;
  const expires = headers.get('expires');
  return { ...metadata, cacheExpiry: expires === null ? undefined : new Date(expires) };
}

/** Parses stored metadata. As in workerd, every member exists, with undefined for those that were not given. */
export function parsedHttpMetadata(json: string): HttpMetadata {
  const { cacheExpiry, ...fields } = JSON.parse(json) as Record<string, string>;
  return {
    ...Object.fromEntries(HTTP_FIELD_NAMES.map((name) => [name, fields[name]])),
    cacheExpiry: cacheExpiry === undefined ? undefined : new Date(cacheExpiry),
  };
}

export function writeHttpHeaders(metadata: HttpMetadata, headers: Headers): void {
  for (const name of HTTP_FIELD_NAMES) {
    const value = metadata[name];
    if (value !== undefined) headers.set(HEADER_OF_FIELD[name], value);
  }
  const { cacheExpiry } = metadata;
  if (cacheExpiry !== undefined) headers.set('expires', cacheExpiry.toUTCString());
}

/** Reads the option `customMetadata`, whose values become text. @throws TypeError if it is not an object */
export function customMetadataOf({ customMetadata: given }: Options): Record<string, string> {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null)
    throw wrongField('customMetadata', 'PutOptions', 'object');
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
}

/** Checks the size of custom metadata. @throws Error if names and values are longer than 2,048 bytes together */
export function checkCustomMetadata(metadata: Record<string, string>): void {
  const length = Object.entries(metadata).reduce((sum, pair) => sum + byteCountOfTexts(...pair), 0);
  if (length > METADATA_BYTES_MAX) throw r2Error('put', 10012);
}

/** Counts the bytes of texts as R2 does: two for each UTF-16 unit of a text that is not Latin-1, else one. */
function byteCountOfTexts(...texts: string[]): number {
  return texts.reduce((sum, text) => sum + text.length * (/[^\0-ÿ]/.test(text) ? 2 : 1), 0);
}

/**
 * Returns the digest that the bytes must have, if the caller gives one.
 *
 * @throws TypeError if the digest is not valid, or if the caller gives several
 */
export function checksumsOf(options: Options): Checksums {
  const given = (Object.keys(ALGORITHMS) as Algorithm[]).filter(
    (name) => options[name] !== undefined,
  );
  const [first, second] = given;
  if (first === undefined) return {};
  const checksums = { [first]: hexOf(first, options[first]) };
  if (second === undefined) return checksums;
  throw new TypeError('You cannot specify multiple hashing algorithms.');
}

function hexOf(algorithm: Algorithm, given: unknown): string {
  const { name, bytes } = ALGORITHMS[algorithm];
  if (typeof given === 'string') {
    if (given.length !== 2 * bytes) {
      throw new TypeError(`${name} is ${2 * bytes} hex characters, not ${given.length}`);
    }
    if (/^[0-9a-f]*$/i.test(given)) return given.toLowerCase();
    throw new TypeError(`Provided ${name} wasn't a valid hex string`);
  }
  const buffer = given instanceof ArrayBuffer ? new Uint8Array(given) : given;
  if (!ArrayBuffer.isView(buffer)) {
    throw wrongField(algorithm, 'PutOptions', 'ArrayBuffer or ArrayBufferView or string');
  }
  if (buffer.byteLength !== bytes) {
    throw new TypeError(`${name} is ${bytes} bytes, not ${buffer.byteLength}`);
  }
  return bytesToHex(new Uint8Array(buffer.buffer, buffer.byteOffset, bytes));
}

/** Returns the number of a part. @throws TypeError if it is not from 1 to 10,000 */
export function partNumberOf(given: unknown): number {
  const number = convertToInt32(given);
  if (number >= 1 && number <= PART_NUMBER_MAX) return number;
  throw new TypeError(
    `Part number must be between 1 and ${PART_NUMBER_MAX} (inclusive). Actual value was: ${number}`,
  );
}

/** Returns an option of `list` that is text. @throws TypeError if it has another type */
export function listTextOf(options: Options, name: string): string | undefined {
  const value = options[name];
  if (value === undefined || typeof value === 'string') return value;
  throw wrongField(name, 'ListOptions', 'string');
}
