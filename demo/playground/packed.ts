// Bytes of a link or a file: compressed, and for a link as text. Unpacking is bounded, whatever the bytes are.

const DEFLATE = 'deflate-raw';

export function pack(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream(DEFLATE));
  return bytesOf(stream, Number.POSITIVE_INFINITY);
}

/** At most one byte more than `bytesMax`: a small text can unpack to gigabytes. @throws TypeError if it is damaged */
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

/** In the alphabet of base64url. */
export function toText(bytes: Uint8Array): string {
  const digits = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return digits.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** @throws DOMException for another alphabet */
export function fromText(text: string): Uint8Array<ArrayBuffer> {
  const digits = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(digits, (char) => char.charCodeAt(0));
}
