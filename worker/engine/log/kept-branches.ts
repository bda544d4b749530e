// Stores the list of an object's named branches in a file of the object's directory: each branch's name and the state
// that it began with.
//
// The file has two copies of the whole list. A change writes both, each flushed before the other is touched, so that a
// crash leaves one whole, and damage of one loses nothing. An object without the file has no branches; the first branch
// creates it. Layout: docs/commit-log-format.md.
//
// Invariant: a change is durable, in both copies, when its promise resolves. A branch that is being deleted is listed
// as `leaving` until its own files are removed, so that an interrupted deletion can be continued. A closed list writes
// nothing: it would overwrite the list of the object's next instance.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { KEPT_BRANCHES_MAX } from '../../../src/shared/contract/limits.ts';
import { encodeText } from '../../../src/shared/contract/utf8.ts';
import type { FileDirectory, SyncFile } from '../file/file.ts';
import { sequenceIn } from './bookmark.ts';
import { Checksum, wordsOf } from './checksum.ts';

/** A branch in the list. */
export interface KeptBranch {
  readonly id: string;
  /** The name of the branch; null if it is not kept. */
  readonly name: string | null;
  /** Bookmark of the commit that the branch began with; never a bookmark of the end of a timeline. */
  readonly bookmark: string;
  readonly createdMs: number;
  /** True if the branch's code may send messages and requests to others; otherwise they are refused. */
  readonly sends: boolean;
  readonly isLeaving: boolean;
  /** True once the branch has a durable commit and therefore files. */
  readonly isStored: boolean;
}

/** A state that the history keeps until it is released. */
export interface HeldMoment extends Pick<KeptBranch, 'bookmark'> {
  release(): void;
}

/** The name of the file. */
export const KEPT_BRANCHES_NAME = 'branches';
/** Offset of the second copy. */
const COPY_BYTES = 1 << 17;
const HEAD = { sum: 0, generation: 8, length: 16 } as const;
const HEAD_BYTES = 24;
const SEED = 0x4252_414e;

interface Stored {
  readonly generation: number;
  readonly list: readonly KeptBranch[];
}

const NO_BRANCHES: Stored = { generation: 0, list: [] };

/** The list that was read, and the copy that contains it whole. A change overwrites the other copy first. */
interface Found {
  readonly stored: Stored;
  readonly copy: 0 | 1;
}

export class KeptBranches {
  readonly #directory: FileDirectory;
  #found: Found;
  #changing: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  /** The states that branches in creation begin with; the history keeps them until the list is stored. */
  readonly #held = new Set<HeldMoment>();

  private constructor(directory: FileDirectory, found: Found) {
    this.#directory = directory;
    this.#found = found;
  }

  /** Reads the list; `names` are the names of the directory's files. @throws CORRUPT, IO */
  static async open(directory: FileDirectory, names: readonly string[]): Promise<KeptBranches> {
    if (!names.includes(KEPT_BRANCHES_NAME)) {
      return new KeptBranches(directory, { stored: NO_BRANCHES, copy: 1 });
    }
    const file = await directory.open(KEPT_BRANCHES_NAME);
    try {
      return new KeptBranches(directory, readNewest(file));
    } finally {
      file.close();
    }
  }

  /** True once the list was closed; another instance may have changed the file since. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Refuses further changes; resolves when the changes under way have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#changing;
  }

  get list(): readonly KeptBranch[] {
    return this.#found.stored.list;
  }

  find(id: string): KeptBranch | undefined {
    return this.list.find((branch) => branch.id === id);
  }

  /** The sequences of the states that branches need. */
  get needed(): readonly number[] {
    const all = [...this.list, ...this.#held];
    return [...new Set(all.map(({ bookmark }) => sequenceIn(bookmark)))];
  }

  /** Keeps the state of a bookmark while a branch that begins with it is created. */
  hold(bookmark: string): HeldMoment {
    const held = { bookmark, release: () => void this.#held.delete(held) };
    this.#held.add(held);
    return held;
  }

  /**
   * Adds a branch.
   *
   * @throws INVALID_ARGUMENT if there are too many, or its name is taken; OBJECT_RESET, DISK_FULL, IO
   */
  add(branch: KeptBranch): Promise<void> {
    return this.#change((list) => {
      if (list.some(({ name, isLeaving }) => name === branch.name && !isLeaving)) {
        throw storageError(
          'INVALID_ARGUMENT',
          `fork: there is a branch "${branch.name}" already; delete it, or choose another name.`,
        );
      }
      if (list.length < KEPT_BRANCHES_MAX) return [...list, branch];
      throw storageError(
        'INVALID_ARGUMENT',
        `fork: the object has ${list.length} branches that are kept, the most it may have; delete one.`,
      );
    });
  }

  /** Records that the branch has a durable commit. @throws OBJECT_RESET, DISK_FULL, IO */
  async markStored(id: string): Promise<void> {
    if (this.find(id)?.isStored !== false) return;
    await this.#change((list) =>
      list.map((branch) => (branch.id === id ? { ...branch, isStored: true } : branch)),
    );
  }

  /** Records that the branch is about to be removed. @throws OBJECT_RESET, DISK_FULL, IO */
  leave(id: string): Promise<void> {
    return this.#change((list) =>
      list.map((branch) => (branch.id === id ? { ...branch, isLeaving: true } : branch)),
    );
  }

  /** Removes a branch from the list. @throws OBJECT_RESET, DISK_FULL, IO */
  remove(id: string): Promise<void> {
    return this.#change((list) => list.filter((branch) => branch.id !== id));
  }

  /** Stores the list again, because a failed flush may have lost bytes that reads still show. @throws DISK_FULL, IO */
  async rewrite(): Promise<void> {
    if (this.list.length > 0) await this.#change((list) => list);
  }

  async #change(change: (list: readonly KeptBranch[]) => readonly KeptBranch[]): Promise<void> {
    if (this.#isClosed) {
      throw storageError('OBJECT_RESET', 'The object was reset meanwhile; try again.');
    }
    const changed = this.#changing.then(async () => {
      const list = change(this.list);
      const { stored: last, copy } = this.#found;
      const stored = { generation: last.generation + 1, list };
      const bytes = encode(stored);
      const file = await this.#directory.open(KEPT_BRANCHES_NAME);
      try {
        for (const next of copy === 0 ? ([1, 0] as const) : ([0, 1] as const)) {
          file.write(bytes, next * COPY_BYTES);
          await file.flush();
          this.#found = { stored, copy: next };
        }
      } finally {
        file.close();
      }
    });
    this.#changing = changed.catch(() => {});
    return changed;
  }
}

function encode({ generation, list }: Stored): Uint8Array {
  const text = encodeText(JSON.stringify(list));
  const bytes = new Uint8Array(placeBytes(text.length));
  const view = new DataView(bytes.buffer);
  view.setFloat64(HEAD.generation, generation, true);
  view.setUint32(HEAD.length, text.length, true);
  bytes.set(text, HEAD_BYTES);
  view.setFloat64(HEAD.sum, sumOf(bytes), true);
  return bytes;
}

/** Reads the newer whole copy. @throws CORRUPT if no copy is whole although a list was stored once */
function readNewest(file: SyncFile): Found {
  const first = readCopy(file, 0);
  const second = readCopy(file, 1);
  if (first !== null && first.generation >= (second?.generation ?? 0)) {
    return { stored: first, copy: 0 };
  }
  if (second !== null) return { stored: second, copy: 1 };
  // The second copy is first written after the first list is durable, so a shorter file never stored a list.
  if (file.sizeBytes() <= COPY_BYTES) return { stored: NO_BRANCHES, copy: 1 };
  throw storageError('CORRUPT', 'open: both copies of the list of branches are damaged.');
}

function readCopy(file: SyncFile, copy: 0 | 1): Stored | null {
  const bytes = new Uint8Array(COPY_BYTES);
  file.read(bytes, copy * COPY_BYTES);
  const view = new DataView(bytes.buffer);
  const length = view.getUint32(HEAD.length, true);
  const place = bytes.subarray(0, placeBytes(length));
  // The sum also differs if the copy is cut off.
  if (view.getFloat64(HEAD.sum, true) !== sumOf(place)) return null;
  const list = JSON.parse(
    new TextDecoder().decode(bytes.subarray(HEAD_BYTES, HEAD_BYTES + length)),
  ) as KeptBranch[];
  return {
    generation: view.getFloat64(HEAD.generation, true),
    // Lists of earlier versions lack `isStored`.
    list: list.map((branch) => ({ ...branch, isStored: branch.isStored === true })),
  };
}

/** Size of a copy whose list has `length` bytes: a multiple of four, because the checksum covers whole words. */
function placeBytes(length: number): number {
  return Math.ceil((HEAD_BYTES + length) / 4) * 4;
}

function sumOf(place: Uint8Array): number {
  const words = wordsOf(place);
  return new Checksum(SEED).ofRecord(words, HEAD.generation >> 2, words.length);
}
