// Synchronous files over rows that can only be stored asynchronously: an open file is held in memory, and a flush
// stores its changes.
//
// Invariants: a file has one holder. Flushed bytes survive a crash; other bytes are stored when the file is closed, if
// the worker lives long enough. A file that is opened again while it is being closed has all its bytes.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { ChunkedContent } from './chunked-content.ts';
import { closedError, type FileDirectory, removeOpenError, type SyncFile } from './file.ts';
import { CHUNK_BYTES, type FilePath, type FileRows } from './file-rows.ts';
import { MemoryBudget } from './memory-budget.ts';
import { SaveQueue } from './save-queue.ts';

/** The state of a file in use: open, or being opened or closed. */
type Held =
  | { readonly state: 'open'; readonly path: FilePath; readonly content: ChunkedContent | null }
  | { readonly state: 'closing'; readonly path: FilePath; readonly stored: Promise<void> };

export class RowFiles {
  readonly #rows: FileRows;
  readonly #budget: MemoryBudget;
  readonly #queue: SaveQueue;
  readonly #held = new Map<string, Held>();

  constructor(rows: FileRows, budget = new MemoryBudget()) {
    this.#rows = rows;
    this.#budget = budget;
    this.#queue = new SaveQueue(rows);
  }

  /** Returns the files of one directory. */
  directory(key: string): FileDirectory {
    return {
      isExact: true,
      open: (name) => this.#open({ key, name }),
      names: () => this.#names(key),
      remove: (name) => this.#remove({ key, name }),
    };
  }

  /** Removes all files of a directory, none of which may be open. */
  async removeAll(key: string): Promise<void> {
    await this.#untilClosedAreStored(key);
    const open = this.#heldOf(key)[0];
    if (open !== undefined) throw removeOpenError(open.path.name);
    await this.#rows.remove(key);
  }

  /** Lists the directories with files. */
  async keys(): Promise<string[]> {
    const held = [...this.#held.values()].map(({ path }) => path.key);
    return [...new Set([...(await this.#rows.keys()), ...held])];
  }

  /** Returns the sizes of a directory's files in bytes, by their names. */
  async sizes(key: string): Promise<ReadonlyMap<string, number>> {
    await this.#untilClosedAreStored(key);
    const sizes = new Map(await this.#rows.files(key));
    for (const held of this.#heldOf(key)) {
      if (held.state === 'open' && held.content !== null)
        sizes.set(held.path.name, held.content.sizeBytes);
    }
    return sizes;
  }

  /** Opens a file and loads its bytes. @throws STORAGE_LOCKED, MEMORY_FULL, IO */
  async #open(path: FilePath): Promise<SyncFile> {
    const id = idOf(path);
    for (let held = this.#held.get(id); held !== undefined; held = this.#held.get(id)) {
      if (held.state === 'open') {
        throw storageError('STORAGE_LOCKED', `open("${path.name}"): already open.`);
      }
      await held.stored;
    }
    this.#held.set(id, { state: 'open', path, content: null });
    try {
      const content = await this.#load(path);
      this.#held.set(id, { state: 'open', path, content });
      return new RowFile(path.name, content, this.#queue, () => this.#close(path, content));
    } catch (error) {
      this.#held.delete(id);
      throw error;
    }
  }

  async #load(path: FilePath): Promise<ChunkedContent> {
    const stored = (await this.#rows.files(path.key)).get(path.name);
    if (stored === undefined) return new ChunkedContent(path, null, this.#budget);
    const count = await this.#rows.chunkCount(path);
    this.#budget.take(count * CHUNK_BYTES, `open "${path.name}"`);
    const content = new ChunkedContent(path, stored, this.#budget);
    try {
      await this.#rows.load(path, (index, bytes) => content.load(index, bytes));
    } catch (error) {
      this.#budget.release(count * CHUNK_BYTES);
      throw error;
    }
    return content;
  }

  #close(path: FilePath, content: ChunkedContent): void {
    const id = idOf(path);
    const end = () => {
      content.free();
      this.#held.delete(id);
    };
    if (!content.hasChanges && !this.#queue.isStoring(content)) {
      end();
      return;
    }
    // Ignore a failure, which loses only bytes that were not flushed: the next opening finds the flushed bytes.
    const stored = this.#queue.save(content).then(end, end);
    this.#held.set(id, { state: 'closing', path, stored });
  }

  async #names(key: string): Promise<string[]> {
    await this.#untilClosedAreStored(key);
    const stored = await this.#rows.files(key);
    const held = this.#heldOf(key).map(({ path }) => path.name);
    return [...new Set([...stored.keys(), ...held])];
  }

  async #remove(path: FilePath): Promise<void> {
    const held = this.#held.get(idOf(path));
    if (held?.state === 'open') throw removeOpenError(path.name);
    await held?.stored;
    await this.#rows.remove(path.key, path.name);
  }

  /** Resolves when every file of the directory that was closed so far is stored. */
  async #untilClosedAreStored(key: string): Promise<void> {
    const held = this.#heldOf(key);
    await Promise.all(held.map((one) => (one.state === 'closing' ? one.stored : undefined)));
  }

  #heldOf(key: string): Held[] {
    return [...this.#held.values()].filter(({ path }) => path.key === key);
  }
}

function idOf({ key, name }: FilePath): string {
  return `${key}/${name}`;
}

class RowFile implements SyncFile {
  readonly #name: string;
  readonly #content: ChunkedContent;
  readonly #queue: SaveQueue;
  readonly #release: () => void;
  #isOpen = true;

  constructor(name: string, content: ChunkedContent, queue: SaveQueue, release: () => void) {
    this.#name = name;
    this.#content = content;
    this.#queue = queue;
    this.#release = release;
  }

  read(target: Uint8Array, offset: number): number {
    this.#mustBeOpen('read');
    return this.#content.read(target, offset);
  }

  write(bytes: Uint8Array, offset: number): void {
    this.#mustBeOpen('write');
    if (bytes.length > 0) this.#content.write(bytes, offset);
  }

  truncate(sizeBytes: number): void {
    this.#mustBeOpen('truncate');
    this.#content.resize(sizeBytes);
  }

  sizeBytes(): number {
    this.#mustBeOpen('size');
    return this.#content.sizeBytes;
  }

  flush(): Promise<void> {
    this.#mustBeOpen('flush');
    return this.#queue.save(this.#content);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#release();
  }

  #mustBeOpen(operation: string): void {
    if (!this.#isOpen) throw closedError(operation, this.#name);
  }
}
