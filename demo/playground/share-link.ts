// Code as the hash of an address, compressed; and back. What a link carries is checked, not trusted.

export interface SharedCode {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
}

const PREFIX = '#code=';

/** Longest code that a link may unpack to, in characters: a small link can unpack to gigabytes. */
const CODE_CHARS_MAX = 500_000;

export const hasSharedCode = (hash: string): boolean => hash.startsWith(PREFIX);

export async function toHash({ name, files }: SharedCode): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify({ name, files }));
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  const text = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(''));
  return PREFIX + text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** @throws Error that says what is wrong with the link */
export async function fromHash(hash: string): Promise<SharedCode> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(await unpack(hash.slice(PREFIX.length)));
  } catch (cause) {
    throw new Error('The link is damaged: the code in it cannot be read.', { cause });
  }
  const { name, files } = (parsed ?? {}) as Partial<SharedCode>;
  const isCode =
    typeof files === 'object' &&
    files !== null &&
    Object.keys(files).length > 0 &&
    Object.values(files).every((text) => typeof text === 'string');
  if (!isCode) throw new Error('The link has no code in it.');
  return { name: typeof name === 'string' ? name.slice(0, 80) : 'Shared code', files };
}

async function unpack(text: string): Promise<string> {
  const packed = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
    char.charCodeAt(0),
  );
  const stream = new Blob([packed])
    .stream()
    .pipeThrough(new DecompressionStream('deflate-raw'))
    .pipeThrough(new TextDecoderStream());
  let unpacked = '';
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    unpacked += part.value;
    if (unpacked.length > CODE_CHARS_MAX) {
      await reader.cancel();
      throw new RangeError(`more than ${CODE_CHARS_MAX} characters`);
    }
  }
  return unpacked;
}
