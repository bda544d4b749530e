// Holds the bytes of a stream that are still needed. They are found by their positions in the whole stream.
//
// Invariant: adding and dropping take time in proportion to the number of bytes, even if each chunk is one byte.

/** A range of positions in the stream; `end` is the position after its last byte. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export class ByteQueue {
  #bytes = new Uint8Array(1024);
  /** A view of the array that ends with the last byte of the stream, so that searches stop there. */
  #searchable = this.#bytes.subarray(0, 0);
  /** The position in the stream of the array's first byte. */
  #arrayStart = 0;
  /** The position of the first byte that is still needed. */
  #firstNeeded = 0;
  #end = 0;

  /** The position after the last byte. */
  get end(): number {
    return this.#end;
  }

  get byteCount(): number {
    return this.#end - this.#firstNeeded;
  }

  add(chunk: Uint8Array): void {
    this.#makeRoom(chunk.byteLength);
    this.#bytes.set(chunk, this.#end - this.#arrayStart);
    this.#end += chunk.byteLength;
    this.#searchable = this.#bytes.subarray(0, this.#end - this.#arrayStart);
  }

  dropBefore(position: number): void {
    this.#firstNeeded = position;
  }

  byteAt(position: number): number {
    return this.#bytes[position - this.#arrayStart]!;
  }

  /** Returns the position of the next byte with this value, or `end` if there is none. */
  find(byte: number, from: number): number {
    const index = this.#searchable.indexOf(byte, from - this.#arrayStart);
    return index < 0 ? this.#end : index + this.#arrayStart;
  }

  /** Returns the bytes of a range without a copy. The view is valid until bytes are added. */
  view({ start, end }: Range): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(start - this.#arrayStart, end - this.#arrayStart);
  }

  /** Returns a copy of the bytes of a range. */
  slice({ start, end }: Range): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(start - this.#arrayStart, end - this.#arrayStart);
  }

  #makeRoom(byteCount: number): void {
    if (this.#end - this.#arrayStart + byteCount <= this.#bytes.byteLength) return;
    const needed = this.view({ start: this.#firstNeeded, end: this.#end });
    // The new array has room for as many bytes again as are moved, so each byte is moved only a few times.
    const newLength = 2 * needed.byteLength + byteCount;
    const bytes =
      newLength > this.#bytes.byteLength ? new Uint8Array(newLength + 1024) : this.#bytes;
    bytes.set(needed);
    this.#bytes = bytes;
    this.#arrayStart = this.#firstNeeded;
  }
}

/** Returns a text with one character for each byte. Names and values are compared in this form. */
export function byteText(bytes: Uint8Array): string {
  let text = '';
  for (let start = 0; start < bytes.byteLength; start += 4096) {
    text += String.fromCharCode(...bytes.subarray(start, start + 4096));
  }
  return text;
}

/** Returns the text with its ASCII letters in lower case. Other letters stay as they are. */
export function lowerCased(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text;
}
