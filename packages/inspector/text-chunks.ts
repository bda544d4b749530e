// Reads a file as text, in chunks.

import { fileBytes } from '@ctx-storage/core/contract';
import { FileFault } from './file-fault.ts';

/** The number of bytes that are read at once, which are parsed in a few milliseconds. */
const PART_BYTES = 256 * 1024;

export interface TextChunk {
  readonly text: string;
  readonly readBytes: number;
}

/**
 * Decodes a file as UTF-8, or as UTF-16 if it begins with that byte order mark.
 *
 * @throws FileFault with the line whose bytes are not text; INPUT_CHANGED; the reason of the signal
 */
export async function* textChunks(file: File, signal: AbortSignal): AsyncGenerator<TextChunk> {
  const [first, second] = await fileBytes(file.name, file.slice(0, 2));
  const encoding = first === 0xff && second === 0xfe ? 'utf-16le' : 'utf-8';
  const decoder = new TextDecoder(encoding, { fatal: true });
  let line = 1;
  for (let from = 0; from <= file.size; from += PART_BYTES) {
    signal.throwIfAborted();
    const to = Math.min(file.size, from + PART_BYTES);
    const bytes = await fileBytes(file.name, file.slice(from, to));
    const text = decodeChunk(decoder, bytes, to < file.size, () => {
      const readable = new TextDecoder(encoding).decode(bytes);
      const before = readable.slice(0, readable.indexOf('\uFFFD'));
      return new FileFault(
        file.name,
        line + newlinesIn(before),
        'this is not text in UTF-8; save the file in that encoding',
      );
    });
    if (text !== '') yield { text, readBytes: to };
    line += newlinesIn(text);
  }
}

function decodeChunk(
  decoder: TextDecoder,
  bytes: Uint8Array,
  stream: boolean,
  makeFault: () => FileFault,
): string {
  try {
    return decoder.decode(bytes, { stream });
  } catch {
    throw makeFault();
  }
}

export function newlinesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
