// Temporary files: they are held in memory while they are small, and are moved to a directory of the medium when they
// grow.
//
// Opening a file is asynchronous and a write is not. So the move begins long before memory is full, and writes go to
// memory until the files are open; then the contents are copied within one turn of the event loop.
//
// Invariant: the files take at most `most` bytes of memory, and a write that needs more is refused. Nothing is made
// durable.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { closedError, type FileDirectory, removeOpenError, type SyncFile } from './file.ts';
import { FileContent } from './memory-file.ts';

/** Bytes in memory from which on the files are moved, and maximum of bytes in memory until they have moved. */
export const SCRATCH_BYTES = { moved: 8 << 20, most: 64 << 20 } as const;

/** A temporary file, whose content is in memory or in an open file of the medium. */
interface Scratch {
  content: FileContent | SyncFile;
  isOpen: boolean;
}

export class ScratchDirectory implements FileDirectory {
  readonly #openDirectory: () => Promise<FileDirectory>;
  readonly #remove: () => Promise<void>;
  readonly #bounds: { readonly moved: number; readonly most: number };
  readonly #files = new Map<string, Scratch>();
  #moving: Promise<FileDirectory> | undefined;
  #hasEnded = false;

  /** `openDirectory` opens the directory for large files; `remove` removes it. */
  constructor(
    openDirectory: () => Promise<FileDirectory>,
    remove: () => Promise<void>,
    bounds: { readonly moved: number; readonly most: number } = SCRATCH_BYTES,
  ) {
    this.#openDirectory = openDirectory;
    this.#remove = remove;
    this.#bounds = bounds;
  }

  /** True once the files have been, or are being, moved to the medium. */
  get isMoved(): boolean {
    return this.#moving !== undefined;
  }

  /** Size of the files in memory, in bytes. */
  get heldBytes(): number {
    let held = 0;
    for (const { content } of this.#files.values()) {
      if (content instanceof FileContent) held += content.size;
    }
    return held;
  }

  async open(name: string): Promise<SyncFile> {
    const known = this.#files.get(name);
    if (known?.isOpen) throw storageError('STORAGE_LOCKED', `open("${name}"): already open.`);
    const file: Scratch = known ?? { content: new FileContent(), isOpen: true };
    file.isOpen = true;
    this.#files.set(name, file);
    if (this.#moving !== undefined) await this.#move(this.#moving, name, file);
    return this.#openedFile(name, file);
  }

  async names(): Promise<string[]> {
    return [...this.#files.keys()];
  }

  async remove(name: string): Promise<void> {
    const file = this.#files.get(name);
    if (file?.isOpen) throw removeOpenError(name);
    this.#files.delete(name);
    if (file === undefined || file.content instanceof FileContent) return;
    file.content.close();
    await (await this.#moving)?.remove(name);
  }

  /** Removes all files. None of them may be in use. @throws IO */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#moving?.catch(() => {});
    for (const { content } of this.#files.values()) {
      if (!(content instanceof FileContent)) content.close();
    }
    this.#files.clear();
    if (this.#moving !== undefined) await this.#remove();
  }

  #openedFile(name: string, file: Scratch): SyncFile {
    let isOpen = true;
    const content = (operation: string) => {
      if (!isOpen) throw closedError(operation, name);
      return file.content;
    };
    return {
      read: (target, offset) => content('read').read(target, offset),
      write: (bytes, offset) => {
        if (bytes.length === 0) return;
        this.#reserve(content('write'), offset + bytes.length);
        file.content.write(bytes, offset);
      },
      truncate: (sizeBytes) => {
        const held = content('truncate');
        this.#reserve(held, sizeBytes);
        if (held instanceof FileContent) held.resize(sizeBytes);
        else held.truncate(sizeBytes);
      },
      sizeBytes: () => {
        const held = content('size');
        return held instanceof FileContent ? held.size : held.sizeBytes();
      },
      flush: () => void content('flush'),
      close: () => {
        if (isOpen) file.isOpen = false;
        isOpen = false;
      },
    };
  }

  /** Makes sure that the content can grow to this size. @throws MEMORY_FULL if it cannot now */
  #reserve(content: FileContent | SyncFile, sizeBytes: number): void {
    if (!(content instanceof FileContent) || sizeBytes <= content.size) return;
    const held = this.heldBytes + sizeBytes - content.size;
    if (held > this.#bounds.moved) this.#moveAll();
    if (held <= this.#bounds.most) return;
    throw storageError(
      'MEMORY_FULL',
      `write: ${held} bytes do not fit in memory, where at most ${this.#bounds.most} are kept until the files of the ` +
        'branch are on the disk; write in smaller transactions, or again.',
    );
  }

  #moveAll(): void {
    if (this.#moving !== undefined) return;
    const moving = this.#openDirectory();
    this.#moving = moving;
    const moved = Promise.all(
      [...this.#files].map(([name, file]) => this.#move(moving, name, file)),
    );
    // If the move fails, the files stay in memory, where larger writes are refused.
    moved.catch(() => {
      if (this.#moving === moving) this.#moving = undefined;
    });
  }

  async #move(moving: Promise<FileDirectory>, name: string, file: Scratch): Promise<void> {
    if (!(file.content instanceof FileContent)) return;
    const target = await (await moving).open(name);
    const held = file.content;
    if (!(held instanceof FileContent) || this.#hasEnded || this.#files.get(name) !== file) {
      target.close();
      return;
    }
    try {
      target.truncate(0);
      const part = new Uint8Array(1 << 20);
      for (let at = 0; at < held.size; at += part.length) {
        target.write(part.subarray(0, held.read(part, at)), at);
      }
    } catch (error) {
      target.close();
      throw error;
    }
    file.content = target;
  }
}
