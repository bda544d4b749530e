// Locks a folder for one process, with a lock file that names its holder.
//
// Node offers no lock of the operating system. A dead holder is recognised by its process id and start time
// where these mean the same for both processes (one kernel, one PID namespace), by its socket in another
// namespace (containers that share a folder), and by the start of the kernel when that has ended. A holder
// that cannot be checked counts as alive, and the error names the way out.
//
// Invariants: the lock file is complete from the moment it exists, because it is a link to a written
// file. Only its holder removes it. The lock of a dead holder is replaced by one process, which first
// takes a second lock on that very file; a process that comes later finds a different file.

import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { PRIVATE } from './node-file.ts';
import { isListening, listenIn } from './node-life-socket.ts';
import { isOfOneKernel, isRunning, originOf, startOf } from './node-process.ts';

const FILE = 'host.lock';

interface Holder {
  readonly pid: number;
  readonly machine: string;
  /** Start of the process, from `startOf`. */
  readonly start: string | null;
  /** The start of the kernel in which the process id is unique; null if the system does not tell. */
  readonly boot: string | null;
  readonly namespaces: string | null;
  /** The name of the socket on which the process listens; null if there is none. */
  readonly socket: string | null;
  /** A text that is unique to each lock. */
  readonly token: string;
}

/** Locks the folder; the result releases it. @throws STORAGE_LOCKED, or the file system's error */
export async function lockFolder(path: string): Promise<() => void> {
  const { pid } = process;
  const token = randomUUID();
  const name = `host.${token}.socket`;
  const silence = await listenIn(path, name);
  const socket = silence === undefined ? null : name;
  const identity = { pid, machine: hostname(), start: startOf(pid), ...originOf() };
  const own: Holder = { ...identity, socket, token };
  const file = join(path, FILE);
  let holder: Holder | undefined;
  try {
    holder = await takeLock(file, own);
  } catch (error) {
    silence?.();
    throw error;
  }
  if (holder !== undefined) {
    silence?.();
    throw storageError(
      'STORAGE_LOCKED',
      `"${path}" is in use by process ${holder.pid} on ${holder.machine}. Close it there. If you are ` +
        `sure that it has ended, and with it its container or machine, remove ${FILE} by hand.`,
    );
  }
  return () => {
    release(file, own);
    silence?.();
  };
}

/** Takes the lock, or returns its holder if that is alive. */
async function takeLock(file: string, own: Holder): Promise<Holder | undefined> {
  for (;;) {
    if (create(file, own)) return undefined;
    const found = read(file);
    if (found === undefined) continue; // The holder has just released the lock.
    if (await isAlive(dirname(file), found, own)) return found;
    // Of all processes that see this file, only the one with the lock on it may replace it.
    const claim = `${file}.${found.token}`;
    const other = await takeLock(claim, own);
    if (other !== undefined) return other;
    const isThere = read(file)?.token === found.token;
    if (isThere) write(file, own, renameSync);
    release(claim, own);
    if (!isThere) continue;
    if (found.socket !== null) rmSync(join(dirname(file), found.socket), { force: true });
    return undefined;
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
    writeFileSync(written, JSON.stringify(own), { flag: 'wx', mode: PRIVATE.file });
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
    return { ...UNKNOWN_HOLDER, ...holder };
  } catch {
    return UNKNOWN_HOLDER; // Version 0.1 could be killed while it wrote the file.
  }
}

/** The holder that is assumed if the file does not name one. */
const UNKNOWN_HOLDER: Holder = {
  pid: 0,
  machine: hostname(),
  start: null,
  boot: null,
  namespaces: null,
  socket: null,
  token: 'old',
};

async function isAlive(folder: string, holder: Holder, own: Holder): Promise<boolean> {
  const { pid, machine, start, boot, namespaces, socket } = holder;
  if (boot === null || own.boot === null) {
    return machine !== own.machine || (pid > 0 && isRunning(pid, start));
  }
  // The holder's kernel has ended, unless several machines can use the folder at once.
  if (boot !== own.boot) return !isOfOneKernel(folder);
  if (namespaces !== null && namespaces === own.namespaces) return isRunning(pid, start);
  return socket === null || isListening(folder, socket);
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
