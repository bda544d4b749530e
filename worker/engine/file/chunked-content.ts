// The bytes of a file in memory, in chunks, and which of them are not stored yet.
//
// Invariants: a chunk without bytes has only zeros, and takes no memory; bytes behind the end of the file are
// zeros. A write that the memory has no room for changes nothing, and neither does one of the bytes that are there:
// on a full disk they are not stored again.

import { CHUNK_BYTES, type ChunkChange, type FileChange, type FilePath } from './file-rows.ts';
import type { MemoryBudget } from './memory-budget.ts';

export class ChunkedContent {
  readonly #path: FilePath;
  readonly #budget: MemoryBudget;
  /** A chunk that was loaded lacks its last zeros until it is written. */
  readonly #chunks = new Map<number, Uint8Array>();
  readonly #changed = new Set<number>();
  /** Stored chunks from this index on are to be removed. */
  #cutAt: number | null = null;
  #isSizeChanged: boolean;
  #sizeBytes: number;

  /** `sizeBytes`: the size that is stored; null: the file is new. */
  constructor(path: FilePath, sizeBytes: number | null, budget: MemoryBudget) {
    this.#path = path;
    this.#budget = budget;
    this.#sizeBytes = sizeBytes ?? 0;
    this.#isSizeChanged = sizeBytes === null;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Takes over a stored chunk, for which the caller has taken the memory. */
  load(index: number, bytes: Uint8Array): void {
    this.#chunks.set(index, bytes);
  }

  read(target: Uint8Array, offset: number): number {
    const count = Math.max(0, Math.min(target.length, this.#sizeBytes - offset));
    for (let done = 0; done < count; ) {
      const { index, start, length } = pieceAt(offset + done, count - done);
      const chunk = this.#chunks.get(index);
      const stored = Math.max(0, Math.min(length, (chunk?.length ?? 0) - start));
      if (stored > 0) target.set(chunk!.subarray(start, start + stored), done);
      if (stored < length) target.fill(0, done + stored, done + length);
      done += length;
    }
    return count;
  }

  /** @throws MEMORY_FULL */
  write(bytes: Uint8Array, offset: number): void {
    this.#budget.take(this.#newChunks(bytes, offset) * CHUNK_BYTES, `write "${this.#path.name}"`);
    for (let done = 0; done < bytes.length; ) {
      const { index, start, length } = pieceAt(offset + done, bytes.length - done);
      const piece = bytes.subarray(done, done + length);
      if (!holds(this.#chunks.get(index), start, piece)) {
        this.#whole(index).set(piece, start);
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

  /** True when something is not stored yet. */
  get hasChanges(): boolean {
    return this.#isSizeChanged || this.#cutAt !== null || this.#changed.size > 0;
  }

  /** Everything that is not stored yet, to be stored now; null: nothing. */
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

  /** A change that was taken could not be stored. */
  putBack({ chunks, cutAt, sizeBytes }: FileChange): void {
    for (const [index] of chunks) this.#changed.add(index);
    if (cutAt !== null) this.#cutAt = Math.min(cutAt, this.#cutAt ?? cutAt);
    if (sizeBytes !== null) this.#isSizeChanged = true;
  }

  /** Releases the memory. The content is not used any more. */
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
    this.#whole(first - 1).fill(0, rest);
    this.#changed.add(first - 1);
  }

  /** The chunk in its whole length; its memory has been taken. */
  #whole(index: number): Uint8Array {
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
      const { index, length } = pieceAt(offset + done, bytes.length - done);
      if (!this.#chunks.has(index) && !isZero(bytes.subarray(done, done + length))) count += 1;
      done += length;
    }
    return count;
  }
}

/** The part of the chunk at `offset` that `length` bytes from there on have. */
function pieceAt(offset: number, length: number) {
  const start = offset % CHUNK_BYTES;
  const index = (offset - start) / CHUNK_BYTES;
  return { index, start, length: Math.min(length, CHUNK_BYTES - start) };
}

/** True if the chunk has these bytes there already. */
function holds(chunk: Uint8Array | undefined, start: number, bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) {
    if ((chunk?.[start + i] ?? 0) !== bytes[i]) return false;
  }
  return true;
}

function isZero(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}

/** A copy; null if all bytes are zeros. */
function withoutLastZeros(chunk: Uint8Array | undefined): Uint8Array<ArrayBuffer> | null {
  let length = chunk?.length ?? 0;
  while (length > 0 && chunk![length - 1] === 0) length -= 1;
  return length === 0 ? null : new Uint8Array(chunk!.subarray(0, length));
}
