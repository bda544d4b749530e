// Reads the bytes of one value from the front, and checks every read against the end.
//
// The bytes may be a view of memory that changes later (the heap of WebAssembly), so results are copies.
// Memory for a claimed length is allocated only once that many bytes are known to follow.

import { type StorageError, storageError } from '../contract/errors.ts';
import { VALUE_BYTES_MAX } from '../contract/limits.ts';
import { nodeBuffer } from './node-buffer.ts';
import { TAG } from './wire.ts';

/** Strings up to this length are looked up in a cache of earlier strings. Most keys are shorter. */
const CACHED_STRING_MAX = 24;
const CACHE_SLOTS = 1024;

/** From this length on, TextDecoder is faster than the loop (measured in V8). */
const LONG_STRING = 64;

/** Characters per call of String.fromCharCode; the stack bounds its arguments. */
const CHUNK = 4096;

const cache: string[] = new Array(CACHE_SLOTS).fill('');
/** Matches a character that is not Latin-1. */
const WIDE = /[^\0-\xff]/;

const windows1252Decoder = new TextDecoder('windows-1252');
const utf16Decoder = new TextDecoder('utf-16le', { ignoreBOM: true });
const utf8Decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Makes the error for bytes that are not a value. `fact` describes the bytes. */
export function corruptValueError(fact: string, options?: ErrorOptions): StorageError {
  return storageError('CORRUPT', `The stored value cannot be read: ${fact}.`, options);
}

export class ByteReader {
  readonly #bytes: Uint8Array;
  /**
   * The view is created for the first number that needs it, because creating a view takes as long as reading a small
   * value.
   */
  #view: DataView | undefined;
  readonly #end: number;
  #at = 0;

  constructor(bytes: Uint8Array) {
    // Subclasses change the behaviour of `slice` (Buffer's does not copy).
    const isPlain = Object.getPrototypeOf(bytes) === Uint8Array.prototype;
    this.#bytes = isPlain
      ? bytes
      : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#end = bytes.length;
  }

  /** The number of bytes that were read. */
  get position(): number {
    return this.#at;
  }

  byte(): number {
    if (this.#at >= this.#end) throw corruptValueError('it ends too early');
    return this.#bytes[this.#at++]!;
  }

  /** Skips padding and returns the next byte without consuming it; undefined at the end. */
  peekTag(): number | undefined {
    while (this.#at < this.#end && this.#bytes[this.#at] === TAG.padding) this.#at++;
    return this.#bytes[this.#at];
  }

  tag(): number {
    let tag = this.byte();
    while (tag === TAG.padding) tag = this.byte();
    return tag;
  }

  varint(): number {
    let byte = this.byte();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let scale = 128; scale < 2 ** 49; scale *= 128) {
      byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw corruptValueError('a number of more than 49 bits');
  }

  int32(): number {
    const zigzag = this.varint();
    return (zigzag >>> 1) ^ -(zigzag & 1);
  }

  double(): number {
    const at = this.#take(8);
    return this.#numbers().getFloat64(at, true);
  }

  bigint(): bigint {
    const field = this.varint();
    const length = Math.floor(field / 2);
    // A larger bigint is refused, because an engine needs much more memory to construct one than its bytes take.
    if (length > VALUE_BYTES_MAX) {
      throw corruptValueError(`a bigint of ${length} bytes, at most ${VALUE_BYTES_MAX}`);
    }
    const at = this.#take(length);
    let magnitude: bigint;
    if (length === 8) {
      magnitude = this.#numbers().getBigUint64(at, true);
    } else {
      // Parsing hexadecimal digits is linear in the length; shifting would be quadratic.
      let hex = '0x0';
      for (let i = at + length - 1; i >= at; i--) {
        hex += this.#bytes[i]!.toString(16).padStart(2, '0');
      }
      magnitude = BigInt(hex);
    }
    return field % 2 === 1 ? -magnitude : magnitude;
  }

  /** Reads a string with its tag. */
  taggedString(): string {
    const tag = this.tag();
    switch (tag) {
      case TAG.oneByteString:
        return this.oneByteString();
      case TAG.twoByteString:
        return this.twoByteString();
      case TAG.utf8String:
        return this.utf8();
      default:
        throw corruptValueError(`byte ${tag} in place of a string`);
    }
  }

  oneByteString(): string {
    const length = this.varint();
    const at = this.#take(length);
    return length <= CACHED_STRING_MAX
      ? cachedString(this.#bytes, at, length)
      : latin1(this.#bytes, at, length);
  }

  twoByteString(): string {
    const length = this.varint();
    if (length % 2 === 1) throw corruptValueError('half a character');
    const at = this.#take(length);
    const buffer = length < LONG_STRING ? undefined : nodeBuffer(this.#bytes, at, length);
    if (buffer !== undefined) return buffer.ucs2Slice(0, length);
    const text = utf16Decoder.decode(this.#bytes.subarray(at, at + length));
    // Strings may contain lone surrogates, which the decoder replaces by U+FFFD.
    return text.includes('\ufffd') ? utf16(this.#bytes.slice(at, at + length)) : text;
  }

  /** Reads a length and UTF-8. Invalid bytes become U+FFFD. */
  utf8(): string {
    const length = this.varint();
    const at = this.#take(length);
    return utf8Decoder.decode(this.#bytes.subarray(at, at + length));
  }

  copy(length: number): Uint8Array<ArrayBuffer> {
    const at = this.#take(length);
    return this.#bytes.slice(at, at + length);
  }

  #numbers(): DataView {
    if (this.#view === undefined) {
      const { buffer, byteOffset, byteLength } = this.#bytes;
      this.#view = new DataView(buffer, byteOffset, byteLength);
    }
    return this.#view;
  }

  #take(length: number): number {
    const at = this.#at;
    if (length > this.#end - at) throw corruptValueError('it ends too early');
    this.#at = at + length;
    return at;
  }
}

/** Returns a cached string if the same bytes were read before. Most keys repeat. */
function cachedString(bytes: Uint8Array, at: number, length: number): string {
  if (length === 0) return '';
  let hash = length;
  for (let i = at; i < at + length; i++) hash = (hash * 31 + bytes[i]!) | 0;
  const slot = (hash ^ (hash >>> 15)) & (CACHE_SLOTS - 1);
  const known = cache[slot]!;
  if (known.length === length) {
    let i = 0;
    while (i < length && known.charCodeAt(i) === bytes[at + i]) i++;
    if (i === length) return known;
  }
  const text = String.fromCharCode.apply(
    null,
    bytes.subarray(at, at + length) as unknown as number[],
  );
  cache[slot] = text;
  return text;
}

function latin1(bytes: Uint8Array, at: number, length: number): string {
  const part = bytes.subarray(at, at + length);
  if (length >= LONG_STRING) {
    const buffer = nodeBuffer(bytes, at, length);
    if (buffer !== undefined) return buffer.latin1Slice(0, length);
    // Windows-1252 differs from Latin-1 only in the controls 80 to 9F, most of which it maps to wider characters.
    const text = windows1252Decoder.decode(part);
    if (!WIDE.test(text)) return text;
  }
  return fromUnits(part);
}

function utf16(bytes: Uint8Array<ArrayBuffer>): string {
  return fromUnits(new Uint16Array(bytes.buffer));
}

function fromUnits(units: Uint8Array | Uint16Array): string {
  let text = '';
  for (let i = 0; i < units.length; i += CHUNK) {
    text += String.fromCharCode.apply(null, units.subarray(i, i + CHUNK) as unknown as number[]);
  }
  return text;
}
