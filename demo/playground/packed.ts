// Compresses bytes for a link or a file, and writes them as text for a link. Unpacking any bytes takes bounded memory.

const DEFLATE = 'deflate-raw';

export function pack(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream(DEFLATE));
  return bytesOf(stream, Number.POSITIVE_INFINITY);
}

/**
 * Decompresses the bytes, but stops after one byte more than `bytesMax`, because a few bytes can unpack to gigabytes.
 * @throws TypeError if they are damaged
 */
export function unpack(
  packed: Uint8Array<ArrayBuffer>,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream(DEFLATE));
  return bytesOf(stream, bytesMax + 1);
}

async function bytesOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const taken = part.value.subarray(0, bytesMax - size);
    parts.push(taken);
    size += taken.length;
    if (size < bytesMax) continue;
    await reader.cancel();
    break;
  }
  return joined(parts);
}

export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Encodes the bytes in the alphabet of base64url. */
export function toText(bytes: Uint8Array): string {
  const digits = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return digits.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Decodes a text that `toText` has made. @throws DOMException for another alphabet */
export function fromText(text: string): Uint8Array<ArrayBuffer> {
  const digits = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(digits, (char) => char.charCodeAt(0));
}
