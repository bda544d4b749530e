// The branches of an object that are kept, by a file in the object's own directory: what each began with, and its name.
//
// The file has two copies of the whole list. A change writes both, each flushed before the other is touched, so that a
// crash leaves one whole, and damage of one loses nothing. An object that has no such file has no branches: it is made
// with the first one. Layout: docs/commit-log-format.md.
//
// Invariant: a change is durable, in both copies, when its promise resolves. A branch that is being deleted is listed as
// `leaving` until its own files are gone, so that an interrupted deletion is known. A closed list changes nothing: it
// would overwrite that of the next instance. Knows nothing of the branches' files.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { KEPT_BRANCHES_MAX } from '../../../src/shared/contract/limits.ts';
import { encodeText } from '../../../src/shared/contract/utf8.ts';
import type { FileDirectory, SyncFile } from '../file/file.ts';
import { sequenceIn } from './bookmark.ts';
import { Checksum, wordsOf } from './checksum.ts';

/** A branch that is kept. */
export interface KeptBranch {
  readonly id: string;
  /** Null: it is not kept. */
  readonly name: string | null;
  /** The moment of the object that it began with: of a commit, not of the end of a time. */
  readonly bookmark: string;
  readonly createdMs: number;
  /** What its code sends to others is sent; otherwise it is refused. */
  readonly sends: boolean;
  readonly isLeaving: boolean;
  /** It has a durable commit: from then on it has files. */
  readonly isStored: boolean;
}

/** A moment that the history keeps until it is released. */
export interface HeldMoment extends Pick<KeptBranch, 'bookmark'> {
  release(): void;
}

/** The file; an object without it keeps no branch. */
export const KEPT_BRANCHES_NAME = 'branches';
/** Where the second copy begins. */
const COPY_BYTES = 1 << 17;
const HEAD = { sum: 0, generation: 8, length: 16 } as const;
const HEAD_BYTES = 24;
const SEED = 0x4252_414e;

interface Stored {
  readonly generation: number;
  readonly list: readonly KeptBranch[];
}

const NONE: Stored = { generation: 0, list: [] };

/** A list, and a copy that is known to contain it whole: the other one is overwritten first. */
interface Found {
  readonly stored: Stored;
  readonly copy: 0 | 1;
}

export class KeptBranches {
  readonly #directory: FileDirectory;
  #found: Found;
  #changing: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  /** The beginnings of branches that are being made: history keeps them until the list of branches is stored. */
  readonly #held = new Set<HeldMoment>();

  private constructor(directory: FileDirectory, found: Found) {
    this.#directory = directory;
    this.#found = found;
  }

  /** `names`: the files of the directory. @throws CORRUPT, IO */
  static async open(directory: FileDirectory, names: readonly string[]): Promise<KeptBranches> {
    if (!names.includes(KEPT_BRANCHES_NAME)) {
      return new KeptBranches(directory, { stored: NONE, copy: 1 });
    }
    const file = await directory.open(KEPT_BRANCHES_NAME);
    try {
      return new KeptBranches(directory, readNewest(file));
    } finally {
      file.close();
    }
  }

  /** True: the list may be another one by now. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** No change begins any more. Resolves when those that have begun are over. */
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

  /** The sequences of the moments that branches need. */
  get needed(): readonly number[] {
    const all = [...this.list, ...this.#held];
    return [...new Set(all.map(({ bookmark }) => sequenceIn(bookmark)))];
  }

  /** A branch that needs this moment is being made. */
  hold(bookmark: string): HeldMoment {
    const held = { bookmark, release: () => void this.#held.delete(held) };
    this.#held.add(held);
    return held;
  }

  /** @throws INVALID_ARGUMENT if there are too many, or one of its name; OBJECT_RESET, DISK_FULL, IO */
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

  /** The branch has a durable commit. @throws OBJECT_RESET, DISK_FULL, IO */
  async markStored(id: string): Promise<void> {
    if (this.find(id)?.isStored !== false) return;
    await this.#change((list) =>
      list.map((branch) => (branch.id === id ? { ...branch, isStored: true } : branch)),
    );
  }

  /** The branch is about to be removed. @throws OBJECT_RESET, DISK_FULL, IO */
  leave(id: string): Promise<void> {
    return this.#change((list) =>
      list.map((branch) => (branch.id === id ? { ...branch, isLeaving: true } : branch)),
    );
  }

  /** @throws OBJECT_RESET, DISK_FULL, IO */
  remove(id: string): Promise<void> {
    return this.#change((list) => list.filter((branch) => branch.id !== id));
  }

  /** Stores the list once more: a flush that failed may have dropped bytes that are still read. @throws DISK_FULL, IO */
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

/** @throws CORRUPT if no copy is whole, and the first list was once stored */
function readNewest(file: SyncFile): Found {
  const first = readCopy(file, 0);
  const second = readCopy(file, 1);
  if (first !== null && first.generation >= (second?.generation ?? 0)) {
    return { stored: first, copy: 0 };
  }
  if (second !== null) return { stored: second, copy: 1 };
  // The second copy is begun when the first list is durable.
  if (file.sizeBytes() <= COPY_BYTES) return { stored: NONE, copy: 1 };
  throw storageError('CORRUPT', 'open: both copies of the list of branches are damaged.');
}

function readCopy(file: SyncFile, copy: 0 | 1): Stored | null {
  const bytes = new Uint8Array(COPY_BYTES);
  file.read(bytes, copy * COPY_BYTES);
  const view = new DataView(bytes.buffer);
  const length = view.getUint32(HEAD.length, true);
  const place = bytes.subarray(0, placeBytes(length));
  if (view.getFloat64(HEAD.sum, true) !== sumOf(place)) return null; // also of a copy that is cut off
  const list = JSON.parse(
    new TextDecoder().decode(bytes.subarray(HEAD_BYTES, HEAD_BYTES + length)),
  ) as KeptBranch[];
  return {
    generation: view.getFloat64(HEAD.generation, true),
    // Lists of earlier versions do not tell it.
    list: list.map((branch) => ({ ...branch, isStored: branch.isStored === true })),
  };
}

/** Bytes of a copy whose list has this many bytes: a multiple of four, for the checksum. */
function placeBytes(length: number): number {
  return Math.ceil((HEAD_BYTES + length) / 4) * 4;
}

function sumOf(place: Uint8Array): number {
  const words = wordsOf(place);
  return new Checksum(SEED).ofRecord(words, HEAD.generation >> 2, words.length);
}
