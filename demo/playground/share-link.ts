// Code as the hash of an address, compressed; and back. The content of a link is checked, not
// trusted.
//
// Invariant: a link's code is small enough to be shown at once, before anybody has clicked.

export interface SharedCode {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
}

const PREFIX = '#code=';

/** The name of shared code that has none of its own. */
export const UNNAMED = 'Shared code';

/** Longest code that a link may unpack to, in characters: a small link can unpack to gigabytes. */
const CODE_CHARS_MAX = 200_000;
/** Each file has a tab of its own on screen. */
const FILES_MAX = 50;
const NAME_CHARS_MAX = 80;
const FILE_NAME = /^[\w-]+(?:\/[\w-]+)*\.[jt]s$/;

/** The problem with the name of a file, or null. */
export function nameProblem(name: string): string | null {
  if (name.length > NAME_CHARS_MAX) return `A file's name has at most ${NAME_CHARS_MAX} letters.`;
  return FILE_NAME.test(name) ? null : 'A file has a name such as words.ts or lib/words.ts.';
}

export const hasSharedCode = (hash: string): boolean => hash.startsWith(PREFIX);

/** @throws Error if the code is more than a link may carry */
export async function toHash({ name, files }: SharedCode): Promise<string> {
  const text = JSON.stringify({ name, files });
  const tooMuch = excess(text.length, Object.keys(files).length);
  if (tooMuch !== null) throw new Error(`A link carries ${tooMuch}.`);
  const bytes = new TextEncoder().encode(text);
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  const digits = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(''));
  return PREFIX + digits.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** @throws Error that names the problem with the link */
export async function fromHash(hash: string): Promise<SharedCode> {
  let text: string;
  let parsed: unknown;
  try {
    text = await unpack(hash.slice(PREFIX.length));
    parsed = text.length > CODE_CHARS_MAX ? null : JSON.parse(text);
  } catch (cause) {
    throw new Error('The link is damaged: the code in it cannot be read.', { cause });
  }
  const { name, files } = (parsed ?? {}) as Partial<SharedCode>;
  const paths = Object.keys(files ?? {});
  const tooMuch = excess(text.length, paths.length);
  if (tooMuch !== null) throw new Error(`The link is refused: it may carry ${tooMuch}.`);
  const wrong = paths.map(nameProblem).find((problem) => problem !== null);
  if (wrong !== undefined) throw new Error(`The link is refused. ${wrong}`);
  const isCode =
    typeof files === 'object' &&
    paths.length > 0 &&
    Object.values(files).every((text) => typeof text === 'string');
  if (!isCode) throw new Error('The link has no code in it.');
  return { name: typeof name === 'string' ? name.slice(0, NAME_CHARS_MAX) : UNNAMED, files };
}

/** The limit that the code exceeds, in words, or null. */
function excess(chars: number, fileCount: number): string | null {
  if (chars > CODE_CHARS_MAX) return `at most ${CODE_CHARS_MAX} letters of code`;
  return fileCount > FILES_MAX ? `at most ${FILES_MAX} files` : null;
}

/** The text, or its start if it is too long. */
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
      break;
    }
  }
  return unpacked;
}
