// Holds the bytes of a file in memory, in chunks, and remembers which chunks are not stored yet.
//
// Invariants: a chunk of zeros takes no memory; bytes after the end of the file are zeros. A write for which there is
// no memory changes nothing. A write of bytes that are already there changes nothing either, so that they are not
// stored again on a full disk.

import { CHUNK_BYTES, type ChunkChange, type FileChange, type FilePath } from './file-rows.ts';
import type { MemoryBudget } from './memory-budget.ts';

export class ChunkedContent {
  readonly #path: FilePath;
  readonly #budget: MemoryBudget;
  /** The chunks by index. A loaded chunk lacks its trailing zeros until it is written. */
  readonly #chunks = new Map<number, Uint8Array>();
  readonly #changed = new Set<number>();
  /** Index from which on stored chunks must be removed; null if none must be. */
  #cutAt: number | null = null;
  #isSizeChanged: boolean;
  #sizeBytes: number;

  /** `sizeBytes` is the stored size; null for a new file. */
  constructor(path: FilePath, sizeBytes: number | null, budget: MemoryBudget) {
    this.#path = path;
    this.#budget = budget;
    this.#sizeBytes = sizeBytes ?? 0;
    this.#isSizeChanged = sizeBytes === null;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Adds a stored chunk; the caller has taken its memory from the budget. */
  load(index: number, bytes: Uint8Array): void {
    this.#chunks.set(index, bytes);
  }

  read(target: Uint8Array, offset: number): number {
    const count = Math.max(0, Math.min(target.length, this.#sizeBytes - offset));
    for (let done = 0; done < count; ) {
      const { index, start, length } = pieceInChunk(offset + done, count - done);
      const chunk = this.#chunks.get(index);
      const stored = Math.max(0, Math.min(length, (chunk?.length ?? 0) - start));
      if (stored > 0) target.set(chunk!.subarray(start, start + stored), done);
      if (stored < length) target.fill(0, done + stored, done + length);
      done += length;
    }
    return count;
  }

  /** Writes bytes. @throws MEMORY_FULL: then nothing has changed */
  write(bytes: Uint8Array, offset: number): void {
    this.#budget.take(this.#newChunks(bytes, offset) * CHUNK_BYTES, `write "${this.#path.name}"`);
    for (let done = 0; done < bytes.length; ) {
      const { index, start, length } = pieceInChunk(offset + done, bytes.length - done);
      const piece = bytes.subarray(done, done + length);
      if (!hasBytes(this.#chunks.get(index), start, piece)) {
        this.#wholeChunk(index).set(piece, start);
        this.#changed.add(index);
      }
      done += length;
    }
    if (offset + bytes.length > this.#sizeBytes) this.#setSize(offset + bytes.length);
  }

  resize(sizeBytes: number): void {
    if (sizeBytes < this.#sizeBytes) this.#cut(sizeBytes);
    if (sizeBytes !== this.#sizeBytes) this.#setSize(sizeBytes);
  }

  /** True if a change is not stored yet. */
  get hasChanges(): boolean {
    return this.#isSizeChanged || this.#cutAt !== null || this.#changed.size > 0;
  }

  /** Returns all changes that are not stored yet, for storing them now; null if there are none. */
  takeChange(): FileChange | null {
    if (!this.hasChanges) return null;
    const chunks = [...this.#changed].map(
      (index): ChunkChange => [index, withoutLastZeros(this.#chunks.get(index))],
    );
    const sizeBytes = this.#isSizeChanged ? this.#sizeBytes : null;
    const change = { path: this.#path, cutAt: this.#cutAt, chunks, sizeBytes };
    this.#changed.clear();
    this.#cutAt = null;
    this.#isSizeChanged = false;
    return change;
  }

  /** Marks a change that could not be stored as not stored again. */
  putBack({ chunks, cutAt, sizeBytes }: FileChange): void {
    for (const [index] of chunks) this.#changed.add(index);
    if (cutAt !== null) this.#cutAt = Math.min(cutAt, this.#cutAt ?? cutAt);
    if (sizeBytes !== null) this.#isSizeChanged = true;
  }

  /** Returns the memory of the content to the budget; the content must not be used afterwards. */
  free(): void {
    this.#budget.release(this.#chunks.size * CHUNK_BYTES);
    this.#chunks.clear();
  }

  #setSize(sizeBytes: number): void {
    this.#sizeBytes = sizeBytes;
    this.#isSizeChanged = true;
  }

  #cut(sizeBytes: number): void {
    const first = Math.ceil(sizeBytes / CHUNK_BYTES);
    const count = this.#chunks.size;
    for (const index of this.#chunks.keys()) if (index >= first) this.#chunks.delete(index);
    for (const index of this.#changed) if (index >= first) this.#changed.delete(index);
    this.#budget.release((count - this.#chunks.size) * CHUNK_BYTES);
    if (this.#sizeBytes > first * CHUNK_BYTES) this.#cutAt = Math.min(first, this.#cutAt ?? first);
    const rest = sizeBytes % CHUNK_BYTES;
    if (rest === 0 || !this.#chunks.has(first - 1)) return;
    this.#wholeChunk(first - 1).fill(0, rest);
    this.#changed.add(first - 1);
  }

  /** Returns a chunk in its whole length; its memory was taken from the budget before. */
  #wholeChunk(index: number): Uint8Array {
    const chunk = this.#chunks.get(index);
    if (chunk?.length === CHUNK_BYTES) return chunk;
    const whole = new Uint8Array(CHUNK_BYTES);
    if (chunk !== undefined) whole.set(chunk);
    this.#chunks.set(index, whole);
    return whole;
  }

  #newChunks(bytes: Uint8Array, offset: number): number {
    let count = 0;
    for (let done = 0; done < bytes.length; ) {
      const { index, length } = pieceInChunk(offset + done, bytes.length - done);
      if (!this.#chunks.has(index) && !isZero(bytes.subarray(done, done + length))) count += 1;
      done += length;
    }
    return count;
  }
}

/** Returns the part of the bytes from `offset` on that lies in one chunk. */
function pieceInChunk(offset: number, length: number) {
  const start = offset % CHUNK_BYTES;
  const index = (offset - start) / CHUNK_BYTES;
  return { index, start, length: Math.min(length, CHUNK_BYTES - start) };
}

/** True if the chunk already has these bytes at `start`. */
function hasBytes(chunk: Uint8Array | undefined, start: number, bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) {
    if ((chunk?.[start + i] ?? 0) !== bytes[i]) return false;
  }
  return true;
}

function isZero(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}

/** Copies a chunk without its trailing zeros; returns null if all its bytes are zeros. */
function withoutLastZeros(chunk: Uint8Array | undefined): Uint8Array<ArrayBuffer> | null {
  let length = chunk?.length ?? 0;
  while (length > 0 && chunk![length - 1] === 0) length -= 1;
  return length === 0 ? null : new Uint8Array(chunk!.subarray(0, length));
}
