// Defines the interfaces through which the codecs of errors and host objects write and read nested values, without access
// to the rest of the value.

import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';

export interface ValueWriter {
  readonly out: ByteWriter;
  writeValue(value: unknown): void;
  /** Writes a plain object with these properties. */
  writeProperties(entries: readonly (readonly [name: string, value: unknown])[]): void;
}

export interface ValueReader {
  readonly input: ByteReader;
  readValue(): unknown;
}
