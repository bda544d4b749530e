// Writes bytes, and the scalars of the wire format, into one growing buffer.
//
// The buffer is reused for the next value and never leaves this file: `take` copies the written bytes.

import { storageError } from '../contract/errors.ts';
import { VALUE_BYTES_MAX } from '../contract/limits.ts';
import { nodeBuffer } from './node-buffer.ts';
import { TAG } from './wire.ts';

const INITIAL_BYTES = 16 * 1024;

/** A buffer that has grown beyond this size, for one large value, is not reused. */
const KEPT_BYTES_MAX = 1024 * 1024;

/** From this length on, copying by TextEncoder is faster than a loop (measured in V8). */
const LONG_STRING = 64;

/** Integers of 31 bits are written as integers, larger numbers as doubles, as in V8. */
const INT_MIN = -(2 ** 30);
const INT_MAX = 2 ** 30 - 1;

/** Matches a character that is not Latin-1. */
const WIDE = /[^\0-\xff]/;

const encoder = new TextEncoder();

export class ByteWriter {
  #bytes = new Uint8Array(INITIAL_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  /** Returns a copy of the bytes written since the last `clear`. */
  take(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > KEPT_BYTES_MAX) this.#replace(new Uint8Array(INITIAL_BYTES));
  }

  byte(value: number): void {
    if (this.#length === this.#bytes.length) this.#grow(1);
    this.#bytes[this.#length++] = value;
  }

  /** Writes a whole number from 0 to 2^53. */
  varint(value: number): void {
    this.#reserve(8);
    const bytes = this.#bytes;
    while (value > 0x7f) {
      bytes[this.#length++] = (value & 0x7f) | 0x80;
      value = value > 0x7fffffff ? Math.floor(value / 128) : value >>> 7;
    }
    bytes[this.#length++] = value;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  /** Writes a number with its tag. */
  number(value: number): void {
    this.#reserve(9);
    const bytes = this.#bytes;
    if (
      (value | 0) === value &&
      value >= INT_MIN &&
      value <= INT_MAX &&
      (value !== 0 || 1 / value > 0)
    ) {
      bytes[this.#length++] = TAG.int32;
      const zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
      if (zigzag > 0x7f) this.varint(zigzag);
      else bytes[this.#length++] = zigzag;
    } else {
      bytes[this.#length] = TAG.double;
      this.#view.setFloat64(this.#length + 1, value, true);
      this.#length += 9;
    }
  }

  /** Writes the sign and length, then the magnitude in whole 64-bit words, low word first. */
  bigint(value: bigint): void {
    const sign = value < 0n ? 1 : 0;
    const magnitude = sign ? -value : value;
    if (magnitude === 0n) {
      this.varint(0);
    } else if (BigInt.asUintN(64, magnitude) === magnitude) {
      this.varint((8 << 1) | sign);
      this.#reserve(8);
      this.#view.setBigUint64(this.#length, magnitude, true);
      this.#length += 8;
    } else {
      // Formatting as hexadecimal is linear in the length; shifting the value would be quadratic.
      const hex = magnitude.toString(16);
      const words = Math.ceil(hex.length / 16);
      if (words * 8 > VALUE_BYTES_MAX) {
        throw storageError(
          'VALUE_TOO_LARGE',
          `A bigint of ${words * 8} bytes cannot be stored, at most ${VALUE_BYTES_MAX}; split it, or ` +
            'store its digits as a string.',
        );
      }
      this.varint(((words * 8) << 1) | sign);
      this.#reserve(words * 8);
      for (let end = hex.length; end > 0; end -= 16) {
        const word = BigInt(`0x${hex.slice(Math.max(0, end - 16), end)}`);
        this.#view.setBigUint64(this.#length, word, true);
        this.#length += 8;
      }
    }
  }

  /** Writes a string with its tag: one byte per character if all are Latin-1, else UTF-16. */
  string(text: string): void {
    const length = text.length;
    this.#reserve(length + 8);
    if (length >= LONG_STRING) {
      // This test comes first, because engines know for most strings that all characters are Latin-1.
      if (WIDE.test(text)) this.#twoByteString(text);
      else if (!this.#longAscii(text)) this.#longLatin1(text);
      return;
    }
    const bytes = this.#bytes;
    let at = this.#length + 2;
    let union = 0;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      union |= unit;
      bytes[at++] = unit;
    }
    if (union > 0xff) {
      this.#twoByteString(text);
      return;
    }
    bytes[this.#length] = TAG.oneByteString;
    bytes[this.#length + 1] = length;
    this.#length = at;
  }

  /** Writes a length and UTF-8, as workerd writes the strings of its host objects. */
  utf8(text: string): void {
    this.rawWithLength(encoder.encode(text));
  }

  rawWithLength(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.raw(bytes);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #longAscii(text: string): boolean {
    const start = this.#length;
    this.byte(TAG.oneByteString);
    this.varint(text.length);
    this.#reserve(text.length);
    const target = this.#bytes.subarray(this.#length, this.#length + text.length);
    if (encoder.encodeInto(text, target).read === text.length) {
      this.#length += text.length;
      return true;
    }
    this.#length = start;
    return false;
  }

  #longLatin1(text: string): void {
    this.byte(TAG.oneByteString);
    this.varint(text.length);
    this.#reserve(text.length);
    const bytes = this.#bytes;
    const buffer = nodeBuffer(bytes, this.#length, text.length);
    if (buffer !== undefined) {
      this.#length += buffer.latin1Write(text, 0, text.length);
      return;
    }
    let at = this.#length;
    let i = 0;
    // Four characters are written per step, which takes 0.8 of the time of a plain loop for a long string.
    for (const four = text.length - 3; i < four; i += 4, at += 4) {
      bytes[at] = text.charCodeAt(i);
      bytes[at + 1] = text.charCodeAt(i + 1);
      bytes[at + 2] = text.charCodeAt(i + 2);
      bytes[at + 3] = text.charCodeAt(i + 3);
    }
    for (; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
    this.#length = at;
  }

  #twoByteString(text: string): void {
    const byteLength = text.length * 2;
    if ((this.#length + 1 + varintBytes(byteLength)) % 2 === 1) this.byte(TAG.padding);
    this.byte(TAG.twoByteString);
    this.varint(byteLength);
    this.#reserve(byteLength);
    const buffer =
      text.length < LONG_STRING ? undefined : nodeBuffer(this.#bytes, this.#length, byteLength);
    if (buffer !== undefined) {
      this.#length += buffer.ucs2Write(text, 0, byteLength);
      return;
    }
    const units = new Uint16Array(this.#bytes.buffer, this.#length, text.length);
    let i = 0;
    for (const four = units.length - 3; i < four; i += 4) {
      units[i] = text.charCodeAt(i);
      units[i + 1] = text.charCodeAt(i + 1);
      units[i + 2] = text.charCodeAt(i + 2);
      units[i + 3] = text.charCodeAt(i + 3);
    }
    for (; i < units.length; i++) units[i] = text.charCodeAt(i);
    this.#length += byteLength;
  }

  #reserve(count: number): void {
    if (this.#length + count > this.#bytes.length) this.#grow(count);
  }

  #grow(count: number): void {
    const bytes = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + count));
    bytes.set(this.#bytes.subarray(0, this.#length));
    this.#replace(bytes);
  }

  #replace(bytes: Uint8Array<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}

function varintBytes(value: number): number {
  let count = 1;
  for (; value > 0x7f; value = Math.floor(value / 128)) count++;
  return count;
}
