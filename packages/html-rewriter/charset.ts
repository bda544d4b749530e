// The character encoding of a document: it decodes bytes to text, and encodes text to bytes.
//
// `TextDecoder` decodes every encoding, but `TextEncoder` encodes only UTF-8. For other encodings, all sequences of one
// and two bytes are decoded once, which gives the bytes of each character. A character that the encoding lacks is
// written as a reference such as `&#8364;`, as in workerd.

import { byteText } from './byte-queue.ts';

const encoder = new TextEncoder();

export class Charset {
  readonly #name: string;
  /** The bytes of each character in an encoding other than UTF-8. */
  #bytesOf: ReadonlyMap<string, readonly number[]> | undefined;

  /** @throws TypeError if there is no such encoding, or if it is not a superset of ASCII */
  constructor(label: string) {
    try {
      this.#name = new TextDecoder(label).encoding;
    } catch (cause) {
      throw new TypeError('Parser error: Unknown character encoding has been provided.', { cause });
    }
    if (/^utf-16|^iso-2022/.test(this.#name)) {
      throw new TypeError('Parser error: Expected ASCII-compatible encoding.');
    }
  }

  decode(bytes: Uint8Array<ArrayBuffer>): string {
    return decodeAll(this.decoder(), bytes);
  }

  /** Returns a decoder for text that arrives in parts. */
  decoder(): TextDecoder {
    return new TextDecoder(this.#name, { ignoreBOM: true });
  }

  encode(text: string): Uint8Array<ArrayBuffer> {
    if (this.#name === 'utf-8') return encoder.encode(text);
    const bytesOf = this.#encodingTable();
    const bytes: number[] = [];
    for (const character of text) {
      const code = character.codePointAt(0)!;
      bytes.push(...(code < 0x80 ? [code] : (bytesOf.get(character) ?? characterReference(code))));
    }
    return new Uint8Array(bytes);
  }

  /** Encodes the text, and returns one character for each byte. */
  byteTextOf(text: string): string {
    return byteText(this.encode(text));
  }

  #encodingTable(): ReadonlyMap<string, readonly number[]> {
    this.#bytesOf ??= bytesByCharacter(this.decoder());
    return this.#bytesOf;
  }
}

/** Decodes bytes as a stream of one part. Without a stream, Node 20 reads windows-1252 as ISO-8859-1. */
function decodeAll(decoder: TextDecoder, bytes: Uint8Array<ArrayBuffer>): string {
  return decoder.decode(bytes, { stream: true }) + decoder.decode();
}

function characterReference(code: number): Uint8Array {
  return encoder.encode(`&#${code};`);
}

function bytesByCharacter(decoder: TextDecoder): Map<string, readonly number[]> {
  const table = new Map<string, readonly number[]>();
  const tryBytes = (...bytes: readonly number[]) => {
    const text = decodeAll(decoder, new Uint8Array(bytes));
    const isOneCharacter = text.length === (text.codePointAt(0)! > 0xffff ? 2 : 1);
    if (isOneCharacter && text !== '\ufffd' && !table.has(text)) table.set(text, bytes);
  };
  for (let first = 0x80; first <= 0xff; first++) tryBytes(first);
  for (let first = 0x81; first <= 0xfe; first++) {
    for (let second = 0x40; second <= 0xfe; second++) tryBytes(first, second);
  }
  return table;
}
