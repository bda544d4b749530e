// A document's character encoding: between its bytes and text.
//
// The platform decodes every encoding but encodes only UTF-8. For others, the bytes of a character are found by decoding
// all sequences of one and two bytes, once. A character without bytes becomes a reference, `&#8364;`, as in workerd.

import { byteText } from './byte-queue.ts';

const encoder = new TextEncoder();

export class Charset {
  readonly #name: string;
  /** Of an encoding other than UTF-8: each character's bytes. */
  #bytesOf: ReadonlyMap<string, readonly number[]> | undefined;

  /** @throws TypeError */
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
    return whole(this.decoder(), bytes);
  }

  /** For text that comes in parts. */
  decoder(): TextDecoder {
    return new TextDecoder(this.#name, { ignoreBOM: true });
  }

  encode(text: string): Uint8Array<ArrayBuffer> {
    if (this.#name === 'utf-8') return encoder.encode(text);
    const bytesOf = this.#table();
    const bytes: number[] = [];
    for (const character of text) {
      const code = character.codePointAt(0)!;
      bytes.push(...(code < 0x80 ? [code] : (bytesOf.get(character) ?? reference(code))));
    }
    return new Uint8Array(bytes);
  }

  /** The bytes of the text as characters, one each. */
  byteTextOf(text: string): string {
    return byteText(this.encode(text));
  }

  #table(): ReadonlyMap<string, readonly number[]> {
    this.#bytesOf ??= bytesByCharacter(this.decoder());
    return this.#bytesOf;
  }
}

/** As a stream of one part: otherwise Node 20 reads windows-1252 as ISO-8859-1. */
function whole(decoder: TextDecoder, bytes: Uint8Array<ArrayBuffer>): string {
  return decoder.decode(bytes, { stream: true }) + decoder.decode();
}

function reference(code: number): Uint8Array {
  return encoder.encode(`&#${code};`);
}

function bytesByCharacter(decoder: TextDecoder): Map<string, readonly number[]> {
  const found = new Map<string, readonly number[]>();
  const note = (...bytes: readonly number[]) => {
    const text = whole(decoder, new Uint8Array(bytes));
    const isOne = text.length === (text.codePointAt(0)! > 0xffff ? 2 : 1);
    if (isOne && text !== '\ufffd' && !found.has(text)) found.set(text, bytes);
  };
  for (let first = 0x80; first <= 0xff; first++) note(first);
  for (let first = 0x81; first <= 0xfe; first++) {
    for (let second = 0x40; second <= 0xfe; second++) note(first, second);
  }
  return found;
}
