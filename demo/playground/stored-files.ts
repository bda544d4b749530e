// Reads the files of a playground's objects from the origin private file system.
//
// Invariant: all returned files are of one moment. A worker may write them during the reading, so a file whose size or
// time has changed makes all of them be read again.

import { classOfKey, isFileName, type ObjectFiles } from './shared-data.ts';

/** How often files that keep changing are read before giving up. */
const READS_MAX = 5;

/** Reads the files of each object, by the name of its folder. @throws Error that says what the visitor can do */
export async function readStoredFiles(directory: string): Promise<Map<string, ObjectFiles>> {
  const root = await (await navigator.storage.getDirectory()).getDirectoryHandle(directory);
  for (let count = 0; count < READS_MAX; count += 1) {
    const before = await stampOf(root);
    const read = await readAll(root).catch((error: unknown) => {
      // A file changed while it was read, or a folder was removed.
      if (error instanceof DOMException) return null;
      throw error;
    });
    if (read !== null && (await stampOf(root)) === before) return read;
  }
  throw new Error('The data changes while it is read. Stop the code, and share again.');
}

async function* filesIn(
  root: FileSystemDirectoryHandle,
): AsyncGenerator<readonly [string, string, File]> {
  for await (const [key, folder] of root.entries()) {
    if (folder.kind !== 'directory' || classOfKey(key) === null) continue;
    for await (const [name, handle] of folder.entries()) {
      if (handle.kind === 'file' && isFileName(name)) yield [key, name, await handle.getFile()];
    }
  }
}

async function stampOf(root: FileSystemDirectoryHandle): Promise<string> {
  const stamps: string[] = [];
  for await (const [key, name, { size, lastModified }] of filesIn(root)) {
    stamps.push(`${key}/${name} ${size} ${lastModified}`);
  }
  return stamps.sort().join('\n');
}

async function readAll(root: FileSystemDirectoryHandle): Promise<Map<string, ObjectFiles>> {
  const objects = new Map<string, Map<string, Uint8Array<ArrayBuffer>>>();
  for await (const [key, name, file] of filesIn(root)) {
    const files = objects.get(key) ?? new Map();
    objects.set(key, files.set(name, new Uint8Array(await file.arrayBuffer())));
  }
  return objects;
}
