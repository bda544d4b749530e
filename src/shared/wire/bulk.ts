// Packs the rows and entries of a bulk call into chunks: a chunk of rows is one JSON text, a chunk of entries one buffer. A
// few large values cross the connection in a fifth of the time of many small ones.
//
// Invariant: unpacking a chunk gives exactly the packed values. JSON cannot represent bytes, infinity and negative zero, so
// these are sent beside the text, each with its position. No assertion keeps this: the values would be packed twice; a
// property test unpacks them.

import {
  checkArray,
  checkBytes,
  checkFields,
  checkInteger,
  convertKey,
  type Entry,
  eachOf,
  type FieldCheck,
  malformed,
} from '../contract/arguments.ts';
import { type Binding, convertBinding, ownBytes } from '../contract/bindings.ts';
import { storageError } from '../contract/errors.ts';
import { VALUE_BYTES_MAX, VALUE_FRAME_BYTES_MAX } from '../contract/limits.ts';
import { encodeValue } from '../values/value.ts';

/** A chunk of rows of bindings. */
export interface RowChunk {
  readonly count: number;
  /** A JSON array in UTF-8 with the bindings of all rows, one row after the other. */
  readonly json: Uint8Array;
  /** The bindings that JSON cannot represent. The JSON array has null at their positions. */
  readonly odd: readonly (readonly [place: number, value: Binding])[];
}

/** A chunk of keys and serialized values. */
export interface EntryChunk {
  readonly keys: readonly string[];
  /** The position in the bytes at which each value ends. */
  readonly ends: readonly number[];
  readonly bytes: Uint8Array;
}

/** The most bytes of one bulk call, because both sides keep them in memory. */
export const BULK_BYTES_MAX = 128 * 1024 * 1024;

/** The values per slice. A page packs 8,192 values in a few milliseconds, even on a slow device. */
const SLICE_VALUES = 8192;
const SLICE_UNITS = 256 * 1024;
const CHUNKS_MAX = BULK_BYTES_MAX / 1024;
const ROWS_MAX = 2 ** 31 - 1;
/** The most bindings per row that are packed. SQLite has a lower limit, and reports it itself. */
const WIDTH_MAX = 32_766;

/** Packs items into chunks. */
export interface Packer<Item, Chunk> {
  /** The number of items packed so far. */
  readonly count: number;
  /** True if a chunk is complete. */
  readonly isFull: boolean;
  add(item: Item): void;
  /** Returns a chunk with the items since the last one; undefined if there are none. */
  take(): Chunk | undefined;
}

export class RowPacker implements Packer<unknown, RowChunk> {
  count = 0;
  /** The number of bindings per row, which the first row determines. */
  width = 0;
  #values: (string | number | null)[] = [];
  #odd: [number, Binding][] = [];
  #rows = 0;
  #units = 0;
  #bytes = 0;

  get isFull(): boolean {
    return (
      this.#values.length >= SLICE_VALUES ||
      this.#rows >= SLICE_VALUES ||
      this.#units >= SLICE_UNITS
    );
  }

  /** Packs a row. @throws INVALID_ARGUMENT, and errors of a binding's toString */
  add(row: unknown): void {
    const index = this.count;
    if (!Array.isArray(row)) {
      throw wrongRow(index, 'is not an array of bindings; pass arrays, such as [1, "a"].');
    }
    if (index === 0) this.width = row.length;
    if (row.length !== this.width || row.length > WIDTH_MAX) {
      throw wrongRow(
        index,
        `has ${row.length} bindings, and row 0 has ${this.width}; make them equal.`,
      );
    }
    for (let i = 0; i < row.length; i++) this.#addValue(row[i], index);
    this.#rows += 1;
    this.count += 1;
  }

  take(): RowChunk | undefined {
    if (this.#rows === 0) return undefined;
    const json = new TextEncoder().encode(JSON.stringify(this.#values));
    this.#bytes += json.byteLength;
    mustFit('execMany', this.#bytes);
    const chunk = { count: this.#rows, json, odd: this.#odd };
    this.#values = [];
    this.#odd = [];
    this.#rows = 0;
    this.#units = 0;
    return chunk;
  }

  #addValue(value: unknown, index: number): void {
    const binding = typeof value === 'string' ? value : bindingOf(value, index);
    if (typeof binding === 'string') {
      this.#units += binding.length;
      this.#values.push(binding);
    } else if (binding === null || (typeof binding === 'number' && isJson(binding))) {
      this.#values.push(binding);
    } else {
      this.#odd.push([this.#values.length, ownBytes(binding)]);
      this.#values.push(null);
      if (typeof binding === 'number') return;
      this.#units += binding.byteLength;
      this.#bytes += binding.byteLength;
    }
  }
}

export class EntryPacker implements Packer<unknown, EntryChunk> {
  count = 0;
  #keys: string[] = [];
  #values: Uint8Array[] = [];
  #units = 0;
  #bytes = 0;

  get isFull(): boolean {
    return this.#keys.length >= SLICE_VALUES / 8 || this.#units >= SLICE_UNITS;
  }

  /** Packs an entry. @throws INVALID_ARGUMENT, KEY_TOO_LARGE, VALUE_TOO_LARGE, DataCloneError */
  add(item: unknown): void {
    if (!Array.isArray(item) || item.length !== 2) {
      throw storageError(
        'INVALID_ARGUMENT',
        `putMany: entry ${this.count} is not a pair of key and value; pass a Map, an object or [key, value] arrays.`,
      );
    }
    const key = convertKey('putMany', item[0]);
    const value = encodeValue('putMany', key, item[1]);
    this.#keys.push(key);
    this.#values.push(value);
    this.#units += key.length + value.byteLength;
    this.count += 1;
  }

  take(): EntryChunk | undefined {
    if (this.#keys.length === 0) return undefined;
    const ends: number[] = [];
    let end = 0;
    for (const value of this.#values) ends.push((end += value.byteLength));
    const bytes = new Uint8Array(end);
    for (const [i, value] of this.#values.entries()) bytes.set(value, ends[i]! - value.byteLength);
    this.#bytes += this.#units;
    mustFit('putMany', this.#bytes);
    const chunk = { keys: this.#keys, ends, bytes };
    this.#keys = [];
    this.#values = [];
    this.#units = 0;
    return chunk;
  }
}

export const rowWidth: FieldCheck<number> = (name, value) =>
  checkInteger(name, value, 0, WIDTH_MAX);

export const rowChunks: FieldCheck<readonly RowChunk[]> = (name, value) =>
  eachOf(checkArray(name, value, CHUNKS_MAX), (chunk) => {
    const { count, json, odd } = checkFields('chunk', chunk);
    return {
      count: checkInteger('count', count, 0, ROWS_MAX),
      json: checkBytes('json', json),
      odd: eachOf(checkArray('odd', odd, ROWS_MAX), (pair) => {
        const [place, binding] = checkArray('odd', pair, 2);
        return [checkInteger('place', place, 0, ROWS_MAX), checkOdd(binding)] as const;
      }),
    };
  });

export const entryChunks: FieldCheck<readonly EntryChunk[]> = (name, value, operation) =>
  eachOf(checkArray(name, value, CHUNKS_MAX), (chunk) => {
    const { keys, ends, bytes } = checkFields('chunk', chunk);
    const checkedKeys = eachOf(checkArray('keys', keys, ROWS_MAX), (key) =>
      convertKey(operation, key),
    );
    const checked = checkBytes('bytes', bytes);
    let last = 0;
    const checkedEnds = eachOf(checkArray('ends', ends, ROWS_MAX), (end) => {
      const sizeMax = VALUE_BYTES_MAX + VALUE_FRAME_BYTES_MAX;
      last = checkInteger('end', end, last, Math.min(last + sizeMax, checked.byteLength));
      return last;
    });
    if (checkedEnds.length !== checkedKeys.length) throw malformed('ends', 'parallel to the keys');
    return { keys: checkedKeys, ends: checkedEnds, bytes: checked };
  });

/** Unpacks the rows of chunks, one at a time. Each row is valid until the next one is read. @throws INVALID_ARGUMENT */
export function* rowsIn(chunks: readonly RowChunk[], width: number): Generator<readonly Binding[]> {
  const row: Binding[] = new Array(width).fill(null);
  for (const { count, json, odd } of chunks) {
    const values = parseJson(json);
    if (!Array.isArray(values) || values.length !== count * width) {
      throw malformed('json', `an array of ${count} rows of ${width} bindings`);
    }
    for (const [place, value] of odd) {
      if (place >= values.length) throw malformed('place', 'within the rows');
      values[place] = value;
    }
    for (let at = 0, i = 0; i < count; i++) {
      for (let column = 0; column < width; column++, at++) row[column] = checkPlain(values[at]);
      yield row;
    }
  }
}

export function entriesIn(chunks: readonly EntryChunk[]): Entry[] {
  return chunks.flatMap(({ keys, ends, bytes }) =>
    keys.map((key, i) => [key, bytes.subarray(i === 0 ? 0 : ends[i - 1], ends[i])] as const),
  );
}

function parseJson(json: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(json));
  } catch {
    throw malformed('json', 'JSON');
  }
}

function checkPlain(value: unknown): Binding {
  if (typeof value === 'string' || typeof value === 'number' || value === null) return value;
  return checkOdd(value);
}

function checkOdd(value: unknown): Binding {
  if (typeof value === 'number' || value instanceof ArrayBuffer || ArrayBuffer.isView(value))
    return value;
  throw malformed('binding', 'a string, a number, null, or bytes');
}

function isJson(number: number): boolean {
  // SQLite stores NaN as NULL.
  return Number.isFinite(number) ? !Object.is(number, -0) : Number.isNaN(number);
}

function bindingOf(value: unknown, index: number): Binding {
  if (typeof value === 'bigint' || typeof value === 'symbol') {
    throw wrongRow(
      index,
      `has a ${typeof value}, which cannot be bound; bind Number(value) or String(value).`,
    );
  }
  return convertBinding(value);
}

function mustFit(operation: string, bytes: number): void {
  if (bytes <= BULK_BYTES_MAX) return;
  throw storageError(
    'MESSAGE_TOO_LARGE',
    `${operation}: more than ${BULK_BYTES_MAX} bytes in one call, which is one transaction; split it into several calls.`,
  );
}

function wrongRow(index: number, fact: string): Error {
  return storageError('INVALID_ARGUMENT', `execMany: row ${index} ${fact} Nothing was stored.`);
}
