// The bytes of a stream from the first that is still needed, by their positions in the stream.
//
// Invariant: adding and dropping take time in proportion to the bytes, however small the chunks are.

/** A part of the stream. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export class ByteQueue {
  #bytes = new Uint8Array(1024);
  /** The bytes that are there, for searches. */
  #present = this.#bytes.subarray(0, 0);
  /** The position in the stream of the first byte of the array. */
  #base = 0;
  /** Bytes before it are dropped. */
  #start = 0;
  #end = 0;

  /** The position after the last byte. */
  get end(): number {
    return this.#end;
  }

  get byteCount(): number {
    return this.#end - this.#start;
  }

  add(chunk: Uint8Array): void {
    this.#makeRoom(chunk.byteLength);
    this.#bytes.set(chunk, this.#end - this.#base);
    this.#end += chunk.byteLength;
    this.#present = this.#bytes.subarray(0, this.#end - this.#base);
  }

  dropBefore(position: number): void {
    this.#start = position;
  }

  byteAt(position: number): number {
    return this.#bytes[position - this.#base]!;
  }

  /** The position of the next such byte; `end` if there is none. */
  find(byte: number, from: number): number {
    const index = this.#present.indexOf(byte, from - this.#base);
    return index < 0 ? this.#end : index + this.#base;
  }

  /** A view, which holds until bytes are added. */
  view({ start, end }: Range): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(start - this.#base, end - this.#base);
  }

  /** A copy. */
  slice({ start, end }: Range): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(start - this.#base, end - this.#base);
  }

  #makeRoom(byteCount: number): void {
    if (this.#end - this.#base + byteCount <= this.#bytes.byteLength) return;
    const kept = this.view({ start: this.#start, end: this.#end });
    // Room for as many bytes again as are moved: each byte is moved a bounded number of times.
    const needed = 2 * kept.byteLength + byteCount;
    const bytes = needed > this.#bytes.byteLength ? new Uint8Array(needed + 1024) : this.#bytes;
    bytes.set(kept);
    this.#bytes = bytes;
    this.#base = this.#start;
  }
}

/** The bytes as characters, one each: how names and values are compared. */
export function byteText(bytes: Uint8Array): string {
  let text = '';
  for (let start = 0; start < bytes.byteLength; start += 4096) {
    text += String.fromCharCode(...bytes.subarray(start, start + 4096));
  }
  return text;
}

/** With the letters of ASCII in lower case, and no others. */
export function lowerCased(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text;
}
