// Encodes text as UTF-8, with a lone surrogate as three bytes (WTF-8), as workerd stores it. TextEncoder would replace lone
// surrogates, so that different keys would become equal.

const encoder = new TextEncoder();

/** Returns the number of bytes that the text takes in storage. A lone surrogate takes three. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      bytes += 1;
      continue;
    }
    bytes += 2;
    if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(i + 1))) i += 1;
  }
  return bytes;
}

/** Encodes the text as it is stored. */
export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  if (text.isWellFormed()) return encoder.encode(text);
  const bytes = new Uint8Array(utf8Bytes(text));
  writeWtf8(text, bytes);
  return bytes;
}

/** Writes the text into `target`, with lone surrogates as three bytes each. Returns the number of bytes written. */
export function writeWtf8(text: string, target: Uint8Array): number {
  let at = 0;
  for (const character of text) {
    const point = character.codePointAt(0)!;
    if (point < 0x80) {
      target[at++] = point;
    } else if (point < 0x800) {
      target[at++] = 0xc0 | (point >> 6);
      target[at++] = 0x80 | (point & 0x3f);
    } else if (point < 0x10000) {
      target[at++] = 0xe0 | (point >> 12);
      target[at++] = 0x80 | ((point >> 6) & 0x3f);
      target[at++] = 0x80 | (point & 0x3f);
    } else {
      target[at++] = 0xf0 | (point >> 18);
      target[at++] = 0x80 | ((point >> 12) & 0x3f);
      target[at++] = 0x80 | ((point >> 6) & 0x3f);
      target[at++] = 0x80 | (point & 0x3f);
    }
  }
  return at;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
