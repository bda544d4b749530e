// Compresses code, on request with its stored data, to the hash of an address or to a file, and reads it back. The
// content that is read is checked, because anybody can make a link.
//
// Invariant: a link's code is small enough to be shown at once, before anybody has clicked.

import { fromText, pack, toText, unpack } from './packed.ts';
import { damaged, unpackData } from './shared-data.ts';

export interface SharedCode {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** The stored objects, packed by `packData` and written as text by `toText`; null if there are none. */
  readonly data: string | null;
}

const PREFIX = '#code=';
const DATA = '&data=';

/** The name that shared code without a name gets. */
export const UNNAMED = 'Shared code';

/**
 * How long a link with data may be. A GitHub issue may have 65,536 characters; browsers open longer addresses (Safari
 * some 80,000).
 */
export const LINK_CHARS_MAX = 60_000;
/** How large a file may be to be opened. */
export const FILE_BYTES_MAX = 8 * 1024 * 1024;
/**
 * How many characters of code a link may unpack to. The limit is needed because a short link can unpack to gigabytes.
 */
const CODE_CHARS_MAX = 200_000;
/** The limit in bytes: in UTF-8 each character takes three bytes at most. */
const CODE_BYTES_MAX = 3 * CODE_CHARS_MAX;
/** How many files a link may have, because each gets a tab on screen. */
const FILES_MAX = 50;
const NAME_CHARS_MAX = 80;
const FILE_NAME = /^[\w-]+(?:\/[\w-]+)*\.[jt]s$/;

/** Returns the problem with the name of a file, or null. */
export function nameProblem(name: string): string | null {
  if (name.length > NAME_CHARS_MAX) return `A file's name has at most ${NAME_CHARS_MAX} letters.`;
  return FILE_NAME.test(name) ? null : 'A file has a name such as words.ts or lib/words.ts.';
}

export const hasSharedCode = (hash: string): boolean => hash.startsWith(PREFIX);

/** Returns the hash of a link, which is also the content of a file. @throws Error if the code exceeds a limit */
export async function toHash({ name, files, data }: SharedCode): Promise<string> {
  const text = JSON.stringify({ name, files });
  const tooMuch = excess(text.length, Object.keys(files).length);
  if (tooMuch !== null) throw new Error(`A link carries ${tooMuch}.`);
  const code = toText(await pack(new TextEncoder().encode(text)));
  return PREFIX + code + (data === null ? '' : DATA + data);
}

/** Reads the hash of a link, or the content of a file. @throws Error that names the problem with the link */
export async function fromHash(hash: string): Promise<SharedCode> {
  if (hash.length > FILE_BYTES_MAX) throw new Error('The link is refused: it is too long.');
  const [packed, data = null] = hash.slice(PREFIX.length).split(DATA);
  let text: string;
  let parsed: unknown;
  try {
    text = new TextDecoder().decode(await unpack(fromText(packed!), CODE_BYTES_MAX));
    parsed = text.length > CODE_CHARS_MAX ? null : JSON.parse(text);
  } catch (cause) {
    const text =
      'The link is damaged: the code in it cannot be read. Ask for the whole link again.';
    throw new Error(text, { cause });
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
  if (data !== null) await unpackText(data);
  const shown = typeof name === 'string' ? name.slice(0, NAME_CHARS_MAX) : UNNAMED;
  return { name: shown, files, data };
}

/** Reads the objects in the data of a link. @throws Error that names the problem */
export async function unpackText(data: string): ReturnType<typeof unpackData> {
  let packed: Uint8Array<ArrayBuffer>;
  try {
    packed = fromText(data);
  } catch (cause) {
    throw damaged(cause);
  }
  return unpackData(packed);
}

/** Returns a description of the limit that the code exceeds, or null. */
function excess(chars: number, fileCount: number): string | null {
  if (chars > CODE_CHARS_MAX) return `at most ${CODE_CHARS_MAX} letters of code`;
  return fileCount > FILES_MAX ? `at most ${FILES_MAX} files` : null;
}
