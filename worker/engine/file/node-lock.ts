// Locks a folder for one process, with a lock file that names its holder.
//
// Node offers no lock of the operating system. A dead holder is recognised by its process id and
// start time. A holder on another machine cannot be checked, so the error says what to do.
//
// Invariants: the lock file is complete from the moment it exists, because it is a link to a written
// file. Only its holder removes it. The lock of a dead holder is replaced by one process, which first
// takes a second lock on that very file; a process that comes later finds a different file.

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
  /** Start of the process, from `startOf`. */
  readonly start: string | null;
  /** Unique to each lock. */
  readonly token: string;
}

/** Locks the folder; the result releases it. @throws STORAGE_LOCKED, or what the file system throws */
export function lockFolder(path: string): () => void {
  const { pid } = process;
  const own = { pid, machine: hostname(), start: startOf(pid), token: randomUUID() };
  const file = join(path, FILE);
  const holder = take(file, own);
  if (holder !== undefined) {
    throw storageError(
      'STORAGE_LOCKED',
      `"${path}" is in use by process ${holder.pid} on ${holder.machine}. Close it there, or remove ` +
        `${FILE} if that machine no longer exists.`,
    );
  }
  return () => release(file, own);
}

/** Takes the lock; returns the holder if it is alive. */
function take(file: string, own: Holder): Holder | undefined {
  for (;;) {
    if (create(file, own)) return undefined;
    const found = read(file);
    if (found === undefined) continue; // its holder has just released it
    if (isAlive(found)) return found;
    // Of all processes that see this file, only the one with the lock on it may replace it.
    const claim = `${file}.${found.token}`;
    const other = take(claim, own);
    if (other !== undefined) return other;
    const isThere = read(file)?.token === found.token;
    if (isThere) write(file, own, renameSync);
    release(claim, own);
    if (isThere) return undefined;
  }
}

function release(file: string, own: Holder): void {
  if (read(file)?.token === own.token) rmSync(file, { force: true });
}

/** Creates the lock file; false if it exists. */
function create(file: string, own: Holder): boolean {
  try {
    write(file, own, linkSync);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Writes a file under another name, then links or renames it into place atomically. */
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
    return NOBODY; // version 0.1 could be killed during the write
  }
}

/** The holder of a file that does not name one. */
const NOBODY: Holder = { pid: 0, machine: hostname(), start: null, token: 'old' };

function isAlive({ pid, machine, start }: Holder): boolean {
  return machine !== hostname() || (pid > 0 && isRunning(pid, start));
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
