// One process at a time for a folder of Node's file system: a file that names its holder.
//
// Node has no lock of the operating system to offer. A holder that died is recognised by its process
// id and start; a folder shared by two machines cannot be, and says so in its error.
//
// Keeps true: the file is complete from the moment it exists (a link to a written file), and a
// file is removed by its holder only. What a dead holder left is replaced by one process, which
// holds a lock of its own on exactly that file while it does: whoever comes late finds another file.

import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { storageError } from '../../src/contract/errors.ts';
import { isRunning, startOf } from './node-process.ts';

const FILE = 'host.lock';

interface Holder {
  readonly pid: number;
  readonly machine: string;
  /** Of the process, as `startOf`. */
  readonly start: string | null;
  /** No two locks have the same. */
  readonly token: string;
}

/** Takes the folder. The result lets it go. @throws STORAGE_LOCKED, and what the file system throws */
export function lockFolder(path: string): () => void {
  const { pid } = process;
  const own = { pid, machine: hostname(), start: startOf(pid), token: randomUUID() };
  const file = join(path, FILE);
  const holder = take(file, own);
  if (holder !== undefined) {
    throw storageError(
      'STORAGE_LOCKED',
      `"${path}" is in use by process ${holder.pid} on ${holder.machine}; close it there, or remove ` +
        `${FILE} when that machine is gone.`,
    );
  }
  return () => letGo(file, own);
}

/** Makes the file ours; the holder that runs, when there is one. */
function take(file: string, own: Holder): Holder | undefined {
  for (;;) {
    if (create(file, own)) return undefined;
    const found = read(file);
    if (found === undefined) continue; // its holder has just let it go
    if (isAlive(found)) return found;
    // Of all that see this file only who holds the lock on it may replace it.
    const claim = `${file}.${found.token}`;
    const other = take(claim, own);
    if (other !== undefined) return other;
    const isThere = read(file)?.token === found.token;
    if (isThere) write(file, own, renameSync);
    letGo(claim, own);
    if (isThere) return undefined;
  }
}

function letGo(file: string, own: Holder): void {
  if (read(file)?.token === own.token) rmSync(file, { force: true });
}

/** False when the file exists. */
function create(file: string, own: Holder): boolean {
  try {
    write(file, own, linkSync);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Puts a written file into its place, by a step that is not seen half done. */
function write(file: string, own: Holder, place: (from: string, to: string) => void): void {
  const written = `${file}.${randomUUID()}.new`;
  try {
    writeFileSync(written, JSON.stringify(own), { flag: 'wx' });
    place(written, file);
  } finally {
    rmSync(written, { force: true });
  }
}

function read(file: string): Holder | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    const holder = JSON.parse(text) as Holder;
    return { ...NOBODY, ...holder };
  } catch {
    return NOBODY; // version 0.1 could be killed while it wrote
  }
}

/** Of a file that does not say whose it is. */
const NOBODY: Holder = { pid: 0, machine: hostname(), start: null, token: 'old' };

function isAlive({ pid, machine, start }: Holder): boolean {
  return machine !== hostname() || (pid > 0 && isRunning(pid, start));
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
