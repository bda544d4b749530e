// Encodes the author of a commit for the commit's record: the kind, the method, the connection and the label.
//
// Invariant: the length is a multiple of four and at most `ANNOTATION_BYTES_MAX`, because the words of the pages
// follow. Callers refuse text that is too long before; only the name of a method is shortened here. Layout:
// docs/commit-log-format.md.

import { assert } from '../../../src/shared/contract/invariant.ts';
import { LABEL_BYTES_MAX, METHOD_BYTES_MAX } from '../../../src/shared/contract/limits.ts';
import { COMMIT_KINDS, type CommitAuthor } from '../../../src/shared/contract/storage.ts';
import { Checksum, wordsOf } from './checksum.ts';
import { ANNOTATION_LENGTH } from './record.ts';

/** Offsets of the annotation's fields, in bytes. */
const ANNOTATION = {
  sum: 0,
  length: ANNOTATION_LENGTH,
  kind: 6,
  connection: 7,
  method: 8,
  label: 10,
} as const;
const HEADER_BYTES = 12;
/** Seeds the checksum of an annotation; it is the same in all objects. */
const SEED = 0x434c4259;
/** Maximum length of the name of a connection, in bytes. */
const CONNECTION_BYTES_MAX = 64;
export const ANNOTATION_BYTES_MAX =
  HEADER_BYTES + CONNECTION_BYTES_MAX + METHOD_BYTES_MAX + LABEL_BYTES_MAX;

/** An author and its encoded bytes: encoded once, then used by all commits of this author. */
export interface Annotation {
  readonly by: CommitAuthor;
  readonly bytes: Uint8Array;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function annotationOf(author: CommitAuthor): Annotation {
  const { kind, method, connection, label } = author;
  const name = method === undefined ? undefined : cut(method, METHOD_BYTES_MAX);
  const texts = [connection, name, label].map((text = '') => encoder.encode(text));
  const [connectionBytes, methodBytes, labelBytes] = texts as [Uint8Array, Uint8Array, Uint8Array];
  const length = (HEADER_BYTES + texts.reduce((sum, text) => sum + text.length, 0) + 3) & ~3;
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  view.setUint16(ANNOTATION.length, length, true);
  view.setUint8(ANNOTATION.kind, COMMIT_KINDS.indexOf(kind) + 1);
  view.setUint8(ANNOTATION.connection, connectionBytes.length);
  view.setUint16(ANNOTATION.method, methodBytes.length, true);
  view.setUint16(ANNOTATION.label, labelBytes.length, true);
  let at = HEADER_BYTES;
  for (const text of texts) {
    bytes.set(text, at);
    at += text.length;
  }
  view.setUint32(ANNOTATION.sum, sumOf(bytes), true);
  const isSmall =
    connectionBytes.length <= CONNECTION_BYTES_MAX && labelBytes.length <= LABEL_BYTES_MAX;
  assert(isSmall, 'an annotation is too long');
  return { by: name === undefined ? author : { ...author, method: name }, bytes };
}

/** Decodes the author of an annotation; returns null if the bytes are damaged. */
export function authorIn(bytes: Uint8Array): CommitAuthor | null {
  if (bytes.length < HEADER_BYTES || bytes.length % 4 !== 0) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (view.getUint32(ANNOTATION.sum, true) !== sumOf(bytes)) return null;
  const kind = COMMIT_KINDS[view.getUint8(ANNOTATION.kind) - 1];
  if (kind === undefined) return null;
  let at = HEADER_BYTES;
  const text = (size: number) => {
    at += size;
    return decoder.decode(bytes.subarray(at - size, at));
  };
  const connection = text(view.getUint8(ANNOTATION.connection));
  const method = text(view.getUint16(ANNOTATION.method, true));
  const label = text(view.getUint16(ANNOTATION.label, true));
  return {
    kind,
    ...(method !== '' && { method }),
    ...(connection !== '' && { connection }),
    ...(label !== '' && { label }),
  };
}

function sumOf(bytes: Uint8Array): number {
  const words = wordsOf(bytes);
  return new Checksum(SEED).ofRecord(words, 1, words.length) % 2 ** 32;
}

/** Returns the longest beginning of the text that has at most `bytesMax` bytes. */
function cut(text: string, bytesMax: number): string {
  const bytes = encoder.encode(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return decoder.decode(bytes.subarray(0, end));
}
