// Reads a file that a user has chosen. Other programs may change, move or delete the file before it is read.

import { storageError } from './errors.ts';

/** Returns the bytes of the file. @throws INPUT_CHANGED if the bytes that were chosen can no longer be read */
export async function fileBytes(operation: string, file: Blob): Promise<Uint8Array<ArrayBuffer>> {
  let bytes: ArrayBuffer;
  try {
    bytes = await file.arrayBuffer();
  } catch (cause) {
    throw fileChangedError(operation, file, String(cause), cause);
  }
  const { byteLength } = bytes;
  if (byteLength === file.size) return new Uint8Array(bytes);
  throw fileChangedError(
    operation,
    file,
    `It had ${file.size} bytes, and ${byteLength} could be read.`,
  );
}

function fileChangedError(operation: string, file: Blob, fact: string, cause?: unknown): Error {
  const { name } = file as Partial<File>;
  return storageError(
    'INPUT_CHANGED',
    `${operation}: the file${name ? ` ${JSON.stringify(name)}` : ''} was changed, moved or deleted after it was ` +
      `chosen, or may not be read any more: ${fact} Choose it again.`,
    cause === undefined ? undefined : { cause },
  );
}

/** Copies the bytes of a file. @throws INVALID_ARGUMENT, INPUT_CHANGED */
export function convertBinary(
  operation: string,
  value: unknown,
): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
  if (value instanceof Blob) return fileBytes(operation, value);
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  }
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: the file must be an ArrayBuffer, a view of one, or a Blob.`,
  );
}
