// The main file of a branch: the pages that the branch has changed, one after the other. All other pages are read from
// the state that the branch began with, so nothing is copied when a branch begins.
//
// A page gets its place in the file when a checkpoint first writes it. The head of a place names the page and the
// generation of that checkpoint. A crashed checkpoint leaves places of a generation that no slot names. Opening
// ignores them, and rebuilds those pages from the log and the state below.
//
// Invariant: the places up to the end are whole, and each page has at most one place.

import type { DatabaseFile, SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';
import { wordsOf } from './checksum.ts';
import { PAGE_BYTES } from './pages.ts';
import type { PastState } from './past-state.ts';

/** The state that a branch begins with: an earlier state of the object from which it branched. */
export interface BranchBase extends Pick<DatabaseFile, 'read'> {
  readonly state: PastState;
  readonly pageCount: number;
  /** Tells the origin that the state is no longer read. */
  release(): void;
}

/** The part of the checkpoint file that a branch needs. */
interface Generations {
  readonly checksum: Checksum;
  /** Counts the checkpoints that have ended. */
  readonly generation: number;
}

/** Offsets in the header of a place, in bytes. */
const HEAD = { generation: 0, sum: 8, page: 16 } as const;
const HEAD_BYTES = 24;
const PLACE_BYTES = HEAD_BYTES + PAGE_BYTES;

export class BranchMain implements SyncFile {
  readonly #file: SyncFile;
  readonly #base: BranchBase;
  readonly #generations: Generations;
  /** The number of the place of each page. */
  readonly #places = new Map<number, number>();
  /**
   * The last checkpoint that has ended, and the number of places then. The headers of later places are not durable yet.
   */
  #ended = { generation: -1, places: 0 };
  #pageCount: number;

  constructor(file: SyncFile, base: BranchBase, generations: Generations) {
    this.#file = file;
    this.#base = base;
    this.#generations = generations;
    this.#pageCount = base.pageCount;
    this.#readPlaces();
  }

  /** The state from which pages without a place are read. */
  get base(): PastState {
    return this.#base.state;
  }

  /** True if the branch has its own version of the page. */
  has(pageIndex: number): boolean {
    return this.#places.has(pageIndex);
  }

  ownPages(): Iterable<number> {
    return this.#places.keys();
  }

  read(target: Uint8Array, offset: number): number {
    const count = Math.max(0, Math.min(target.length, this.sizeBytes() - offset));
    for (let at = 0; at < count; ) {
      const pageIndex = Math.floor((offset + at) / PAGE_BYTES);
      const start = offset + at - pageIndex * PAGE_BYTES;
      const part = target.subarray(at, Math.min(at + PAGE_BYTES - start, count));
      const place = this.#places.get(pageIndex);
      if (place === undefined) this.#base.read(part, offset + at);
      else this.#file.read(part, place * PLACE_BYTES + HEAD_BYTES + start);
      at += part.length;
    }
    return count;
  }

  /** Writes whole pages. */
  write(bytes: Uint8Array, offset: number): void {
    for (let at = 0; at < bytes.length; at += PAGE_BYTES) {
      this.#writePage((offset + at) / PAGE_BYTES, bytes.subarray(at, at + PAGE_BYTES));
    }
  }

  sizeBytes(): number {
    return this.#pageCount * PAGE_BYTES;
  }

  /** Does nothing: pages beyond the end are never read, and pages added later are written before they are read. */
  truncate(): void {}

  flush(): void | Promise<void> {
    return this.#file.flush();
  }

  close(): void {
    this.#file.close();
    this.#base.release();
  }

  #writePage(pageIndex: number, page: Uint8Array): void {
    const { generation } = this.#generations;
    if (this.#ended.generation !== generation) {
      this.#ended = { generation, places: this.#places.size };
    }
    const place = this.#places.get(pageIndex) ?? this.#places.size;
    if (place < this.#ended.places) {
      this.#file.write(page, place * PLACE_BYTES + HEAD_BYTES);
      return;
    }
    const whole = new Uint8Array(PLACE_BYTES);
    const view = new DataView(whole.buffer);
    view.setFloat64(HEAD.generation, generation + 1, true);
    view.setUint32(HEAD.page, pageIndex, true);
    view.setFloat64(HEAD.sum, this.#headSum(whole), true);
    whole.set(page, HEAD_BYTES);
    this.#file.write(whole, place * PLACE_BYTES);
    if (place === this.#places.size) this.#add(pageIndex);
  }

  #readPlaces(): void {
    const head = new Uint8Array(HEAD_BYTES);
    const view = new DataView(head.buffer);
    for (let at = 0; this.#file.read(head, at) === HEAD_BYTES; at += PLACE_BYTES) {
      const isWhole = view.getFloat64(HEAD.sum, true) === this.#headSum(head);
      if (!isWhole || view.getFloat64(HEAD.generation, true) > this.#generations.generation) break;
      this.#add(view.getUint32(HEAD.page, true));
    }
    const end = this.#places.size * PLACE_BYTES;
    if (this.#file.sizeBytes() > end) this.#file.truncate(end);
  }

  #add(pageIndex: number): void {
    this.#places.set(pageIndex, this.#places.size);
    this.#pageCount = Math.max(this.#pageCount, pageIndex + 1);
  }

  /** Computes the checksum of the generation and the page. */
  #headSum(place: Uint8Array): number {
    const words = wordsOf(place.subarray(0, HEAD_BYTES));
    const named = new Uint32Array([words[0]!, words[1]!, words[HEAD.page >> 2]!]);
    return this.#generations.checksum.ofRecord(named, 0, named.length);
  }
}
