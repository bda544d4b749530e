// The catalog in a file of Node's file system: a line of JSON for each change; an object's last line
// counts.
//
// Invariant: a line is durable when `add` resolves. A line torn by a crash or a full disk is ignored
// and harms no other. Obsolete lines are dropped when the file is opened, and when they make up most
// of it; then the whole file is replaced. On a full disk it stays as it is, and can be read.
// No assertion keeps this: all of it is about the disk, whose damage and lack of space are no defects.

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { isDiskFull } from '../../engine/file/file.ts';
import { nodeFileError, PRIVATE } from '../../engine/file/node-file.ts';
import { asLeaving, type CatalogEntry, isKnown, MemoryCatalog, withName } from './catalog.ts';

type Change = CatalogEntry | { readonly removed: string } | { readonly format: number };

/** The format of the lines, which the first line names. Files of earlier versions have no such line. */
const FORMAT = 1;

/** Minimum number of obsolete lines for which a new file is written. */
const OBSOLETE_MIN = 1000;

export class NodeCatalog extends MemoryCatalog {
  readonly #path: string;
  #descriptor: number | undefined;
  #lines = 0;

  /**
   * Opens the catalog in this file, or creates the file. @throws IO, FORMAT_TOO_NEW, PATH_CONFLICT, NOT_WRITABLE;
   * DISK_FULL only if there is no file yet
   */
  constructor(path: string) {
    super();
    this.#path = path;
    attempt('open', () => {
      const exists = existsSync(path);
      if (exists) for (const line of readFileSync(path, 'utf8').split('\n')) this.#read(line);
      try {
        this.#replace();
      } catch (cause) {
        if (!exists || !isDiskFull(nodeFileError('open', cause))) throw cause;
        // The obsolete lines stay. Every line can be read, and the next start tries again.
        this.#descriptor = openSync(path, 'a', PRIVATE.file);
      }
    });
  }

  override async add(entry: CatalogEntry): Promise<boolean> {
    const known = this.entries.get(entry.key);
    if (isKnown(entry, known)) return known?.isStored === true;
    this.#append(withName(entry, known));
    attempt('flush', () => fsyncSync(this.#descriptor!));
    const wasStored = await super.add(entry);
    this.#compact();
    return wasStored;
  }

  override async build(entries: readonly CatalogEntry[]): Promise<void> {
    await super.build(entries);
    attempt('write', () => this.#replace());
  }

  override async stored(key: string): Promise<void> {
    const known = this.entries.get(key);
    if (known === undefined || known.isStored) return;
    this.#append({ ...known, isStored: true });
    await super.stored(key);
    this.#compact();
  }

  override async leaving(key: string): Promise<void> {
    const known = this.entries.get(key);
    if (known === undefined) return;
    this.#append(asLeaving(known));
    attempt('flush', () => fsyncSync(this.#descriptor!));
    await super.leaving(key);
    this.#compact();
  }

  override async rest(key: string, wakeMs: number | null): Promise<void> {
    const known = this.entries.get(key);
    if (known === undefined || known.wakeMs === wakeMs) return;
    this.#append({ ...known, wakeMs });
    await super.rest(key, wakeMs);
    this.#compact();
  }

  override async remove(key: string): Promise<void> {
    if (!this.entries.has(key)) return;
    this.#append({ removed: key });
    await super.remove(key);
    this.#compact();
  }

  override close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #read(line: string): void {
    const change = parse(line);
    if (change === undefined) return;
    if ('format' in change) mustBeKnown(change.format);
    else if ('removed' in change) this.entries.delete(change.removed);
    else this.entries.set(change.key, change);
  }

  // Begin and end with a line feed, so that a line torn by a crash, before or after this one, does not join this line.
  #append(change: Change): void {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) throw storageError('IO', 'The catalog of objects is closed.');
    attempt('write', () => writeFileSync(descriptor, `\n${JSON.stringify(change)}\n`));
    this.#lines += 1;
  }

  #compact(): void {
    if (this.#lines <= 2 * this.entries.size + OBSOLETE_MIN) return;
    try {
      this.#replace();
    } catch {
      // The change itself is written; a full disk may have room for a new file later.
      this.#lines = this.entries.size;
    }
  }

  #replace(): void {
    const fresh = `${this.#path}.new`;
    const changes: Change[] = [{ format: FORMAT }, ...this.entries.values()];
    const lines = changes.map((change) => `${JSON.stringify(change)}\n`);
    rmSync(fresh, { force: true }); // A crash may have left the new file behind.
    const descriptor = openSync(fresh, 'a', PRIVATE.file);
    try {
      writeFileSync(descriptor, lines.join(''));
      fsyncSync(descriptor);
      renameSync(fresh, this.#path);
    } catch (error) {
      closeSync(descriptor);
      rmSync(fresh, { force: true });
      throw error;
    }
    this.close();
    this.#descriptor = descriptor;
    this.#lines = lines.length;
    flushFolder(dirname(this.#path));
  }
}

/** Makes the new name of a file durable. Windows does so by itself, and refuses to open a folder. */
function flushFolder(path: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function parse(line: string): Change | undefined {
  try {
    const change: unknown = JSON.parse(line);
    if (typeof change === 'object' && change !== null) return change as Change;
  } catch {} // A torn line was never confirmed, so it is ignored.
  return undefined;
}

function mustBeKnown(format: number): void {
  if (format <= FORMAT) return;
  throw storageError(
    'FORMAT_TOO_NEW',
    `The catalog of objects has format ${format}; this code reads formats up to ${FORMAT}. Update the package.`,
  );
}

function attempt<T>(operation: string, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    throw nodeFileError(`The catalog of objects, ${operation}`, cause);
  }
}
