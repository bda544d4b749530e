// Writes numbers, sizes, times, errors and stored values as the inspector shows them.

import { isStorageError } from '@ctx-storage/core/errors';

const count = new Intl.NumberFormat('en');
const oneDigit = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/** Returns a number with its noun: "1 row", "2,000 rows". */
export function countText(value: number, noun: string): string {
  return `${count.format(value)} ${noun}${value === 1 ? '' : 's'}`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${oneDigit.format(bytes / 1024)} KiB`;
  return `${oneDigit.format(bytes / 1024 ** 2)} MiB`;
}

export function durationText(durationMs: number): string {
  return durationMs < 1000
    ? `${oneDigit.format(durationMs)} ms`
    : `${oneDigit.format(durationMs / 1000)} s`;
}

export function timeText(time: number | Date): string {
  return moment.format(time);
}

/** Returns the message of an error, with its code if it has one. */
export function errorText(error: unknown): string {
  if (isStorageError(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

/** Returns the type of a stored value: "Map(3)", "string", "Uint8Array(16)". */
export function typeText(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  const type = Object.prototype.toString.call(value).slice(8, -1);
  if (value instanceof Map || value instanceof Set) return `${type}(${value.size})`;
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value))
    return `${type}(${value.byteLength})`;
  return Array.isArray(value) ? `Array(${value.length})` : type;
}

const TEXT_LENGTH_MAX = 200;
const BYTES_MAX = 16;

/** Returns a value without members as one line of text, which is cut if it is long. */
export function leafText(value: unknown): string {
  if (typeof value === 'string') return cut(JSON.stringify(value));
  if (typeof value === 'bigint') return `${value}n`;
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  }
  if (value instanceof RegExp) return cut(String(value));
  if (value instanceof Error) return cut(`${value.name}: ${value.message}`);
  if (value instanceof ArrayBuffer) return hexText(new Uint8Array(value));
  if (ArrayBuffer.isView(value)) {
    return hexText(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
  return Object.is(value, -0) ? '-0' : cut(String(value));
}

function hexText(bytes: Uint8Array): string {
  const shown = Array.from(bytes.subarray(0, BYTES_MAX), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join(' ');
  return bytes.length > BYTES_MAX ? `${shown} …` : shown;
}

function cut(text: string): string {
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text;
}
