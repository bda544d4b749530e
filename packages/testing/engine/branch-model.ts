// The expected states of an object and its branches: a tree whose nodes each have a map of keys.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';

/** Maps keys to numbers; `bytesOf` converts a number to the stored bytes. */
export type Keys = ReadonlyMap<string, number>;

/** A bookmark, and the state that it names. */
export interface Mark {
  readonly bookmark: string;
  readonly keys: Keys;
  readonly timeMs: number;
  /** The number of changes of the object before this state. */
  readonly version: number;
  /** True if the disk has been full since, so that this history may have been pruned. */
  mayBePruned: boolean;
}

/** The object or one of its branches. */
export class Node {
  /** The origin of the branch; null for the object. */
  readonly parent: Node | null;
  /** The name of a branch that is kept; otherwise null. */
  readonly name: string | null;
  /** The open handle; null if there is none. */
  handle: StorageHandle | null = null;
  children: Node[] = [];
  marks: Mark[] = [];
  /** The acknowledged state, then the states of later changes that were attempted. */
  possible: Keys[];
  /**
   * True while the creation or deletion of this branch is not acknowledged, so that the branch may or may not exist.
   */
  existenceIsUnknown = false;
  /** The number of changes made here, including attempted ones. */
  version = 0;
  /** The version of the parent from which this branch was forked; null if unknown. */
  readonly forkVersion: number | null;
  /** The keys with which this object or branch was created. */
  readonly initialKeys: Keys;
  /** The version since which every change was acknowledged. */
  #certainFrom = 0;

  constructor(begins: {
    readonly parent: Node | null;
    readonly name: string | null;
    readonly keys: Keys;
    readonly forkVersion: number | null;
  }) {
    this.parent = begins.parent;
    this.name = begins.name;
    this.possible = [begins.keys];
    this.forkVersion = begins.forkVersion;
    this.initialKeys = begins.keys;
  }

  get isKept(): boolean {
    return this.name !== null;
  }

  get last(): Keys {
    return this.possible.at(-1)!;
  }

  /** Returns this node and all below it, parents first. */
  get all(): Node[] {
    return [this, ...this.children.flatMap((child) => child.all)];
  }

  /** Records an attempted change. The returned function acknowledges it and all changes before it. */
  attempt(keys: Keys): () => void {
    this.version++;
    this.possible.push(keys);
    return () => {
      const index = this.possible.indexOf(keys);
      if (index > 0) this.possible.splice(0, index);
    };
  }

  /** Records that the node was read in this state, which is durable. */
  recordFound(keys: Keys): void {
    if (this.possible.length > 1) this.#certainFrom = this.version;
    this.possible = [keys];
  }

  /** Whether its origin has not changed since it was forked; null if unknown. */
  get isUpToDate(): boolean | null {
    const { parent, forkVersion } = this;
    if (parent === null || forkVersion === null) return null;
    if (forkVersion === parent.version) return true;
    return parent.#certainFrom > forkVersion ? null : false;
  }

  /** Records a bookmark of the present state. */
  mark(named: Pick<Mark, 'bookmark' | 'keys' | 'timeMs'>): void {
    this.marks.push({ ...named, version: this.version, mayBePruned: false });
  }

  /** Records the bookmark that undoes the last change. */
  recordUndoBookmark(named: Pick<Mark, 'bookmark' | 'keys' | 'timeMs'>): void {
    this.marks.push({ ...named, version: this.version - 1, mayBePruned: false });
  }

  /**
   * Returns the parent's keys after a merge of this branch, and the keys that both have changed to different values.
   * These keep the parent's value, unless `theirs` is set.
   */
  mergedInto(parent: Keys, theirs: boolean): { readonly keys: Keys; readonly conflicts: string[] } {
    const keys = new Map(parent);
    const conflicts: string[] = [];
    for (const key of new Set([...this.initialKeys.keys(), ...this.last.keys()])) {
      const [before, after, now] = [this.initialKeys, this.last, parent].map((one) => one.get(key));
      if (before === after || now === after) continue;
      if (now !== before) conflicts.push(key);
      if (now !== before && !theirs) continue;
      if (after === undefined) keys.delete(key);
      else keys.set(key, after);
    }
    return { keys, conflicts };
  }

  /** Records that old history may be pruned from now on, to free space. */
  mayBePruned(): void {
    for (const { marks } of this.all) for (const mark of marks) mark.mayBePruned = true;
  }

  /** Removes this node and all below it from the model. */
  remove(): void {
    const { parent } = this;
    if (parent !== null) parent.children = parent.children.filter((child) => child !== this);
  }
}

export function isReset(error: unknown): boolean {
  return isStorageError(error) && error.code === 'OBJECT_RESET' && error.retryable === true;
}

export function isRefusal(error: unknown): boolean {
  if (!isStorageError(error)) return false;
  return error.code === 'BOOKMARK_UNAVAILABLE' || error.code === 'CORRUPT';
}

export function ignoreOutcome(promise: unknown): Promise<void> {
  return Promise.resolve(promise as Promise<unknown>).then(
    () => {},
    () => {},
  );
}

export async function allOf(works: readonly Promise<unknown>[]): Promise<void> {
  const outcomes = await Promise.allSettled(works);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

export function areEqual(one: Keys, other: Keys): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value);
}

export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}

export function keysOf(keys: Keys): string {
  return `{${[...keys].map(([key, value]) => `${key}: ${value}`).join(', ')}}`;
}

export function textOf(node: Node): string {
  if (node.parent === null) return 'the object';
  return `the branch ${node.name ?? '(not kept)'} of ${textOf(node.parent)}`;
}
