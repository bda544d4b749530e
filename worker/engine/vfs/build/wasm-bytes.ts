// Reads and writes the binary format of WebAssembly: numbers, names, sections.

/** A range of bytes; the end is excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Section extends Span {
  readonly id: number;
}

/** Returns the section with this id. @throws Error when the module has no such section */
export function section(sections: readonly Section[], id: number): Section {
  const found = sections.find((candidate) => candidate.id === id);
  if (!found) throw new Error(`Instrumenting sqlite3.wasm: section ${id} is missing.`);
  return found;
}

/** Reads a module from position `at`, which every read advances. */
export class Reader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new Error('Instrumenting sqlite3.wasm: the file is cut off.');
    return byte;
  }

  /** An unsigned LEB128 number. */
  unsigned(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  skipName(): void {
    const length = this.unsigned();
    this.at += length;
  }

  /** Skips the minimum and maximum size of a memory or table. */
  skipLimits(): void {
    const flags = this.byte();
    this.unsigned();
    if (flags & 1) this.unsigned();
  }
}

/** Encodes a number as unsigned LEB128. */
export function unsigned(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; ) {
    const low = rest & 0x7f;
    rest >>>= 7;
    if (rest === 0) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

/** Encodes a number as signed LEB128. */
export function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; ) {
    const low = rest & 0x7f;
    rest >>= 7;
    const done = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0);
    if (done) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

export function concat(
  parts: readonly (Uint8Array | readonly number[])[],
): Uint8Array<ArrayBuffer> {
  const result = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
