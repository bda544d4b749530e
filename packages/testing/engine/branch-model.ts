// The expected states of an object and its branches: a tree, with a map of keys for each.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';

/** Values are numbers here; `bytesOf` converts them to bytes. */
export type Keys = ReadonlyMap<string, number>;

/** A state that a bookmark names. */
export interface Mark {
  readonly bookmark: string;
  readonly keys: Keys;
  readonly timeMs: number;
  /** Number of changes of the object before it. */
  readonly version: number;
  /** The disk has been full since, so its history may have been pruned. */
  mayBePruned: boolean;
}

/** An object, or a branch. */
export class Node {
  /** Null: it is the object. */
  readonly parent: Node | null;
  /** The name of a branch that is kept. */
  readonly name: string | null;
  /** Null: it is not opened. */
  handle: StorageHandle | null = null;
  children: Node[] = [];
  marks: Mark[] = [];
  /** The acknowledged state, and later attempted states. */
  possible: Keys[];
  /** It is being made or deleted, and that was not acknowledged. */
  isPerhaps = false;
  /** Counts its changes, attempted changes too. */
  version = 0;
  /** The version of its parent that it began with; null: unknown. */
  readonly began: number | null;
  /** Its first state. */
  readonly beginning: Keys;
  /** From this version on all changes were acknowledged. */
  #certainFrom = 0;

  constructor(begins: {
    readonly parent: Node | null;
    readonly name: string | null;
    readonly keys: Keys;
    readonly began: number | null;
  }) {
    this.parent = begins.parent;
    this.name = begins.name;
    this.possible = [begins.keys];
    this.began = begins.began;
    this.beginning = begins.keys;
  }

  get isKept(): boolean {
    return this.name !== null;
  }

  get last(): Keys {
    return this.possible.at(-1)!;
  }

  /** It and everything below it, from the top. */
  get all(): Node[] {
    return [this, ...this.children.flatMap((child) => child.all)];
  }

  /** A change is attempted; the result acknowledges it, and with it all before. */
  attempt(keys: Keys): () => void {
    this.version++;
    this.possible.push(keys);
    return () => {
      const index = this.possible.indexOf(keys);
      if (index > 0) this.possible.splice(0, index);
    };
  }

  /** It was read in this state, which is durable. */
  found(keys: Keys): void {
    if (this.possible.length > 1) this.#certainFrom = this.version;
    this.possible = [keys];
  }

  /** Whether its origin is as it was when it began; null: unknown. */
  get isCurrent(): boolean | null {
    const { parent, began } = this;
    if (parent === null || began === null) return null;
    if (began === parent.version) return true;
    return parent.#certainFrom > began ? null : false;
  }

  /** A bookmark of now. */
  mark(named: Pick<Mark, 'bookmark' | 'keys' | 'timeMs'>): void {
    this.marks.push({ ...named, version: this.version, mayBePruned: false });
  }

  /** The bookmark that undoes the last change. */
  marksBefore(named: Pick<Mark, 'bookmark' | 'keys' | 'timeMs'>): void {
    this.marks.push({ ...named, version: this.version - 1, mayBePruned: false });
  }

  /**
   * Its parent's keys after a merge of it, and the keys that both have changed to something else: they stay, unless
   * `theirs`.
   */
  mergedInto(parent: Keys, theirs: boolean): { readonly keys: Keys; readonly conflicts: string[] } {
    const keys = new Map(parent);
    const conflicts: string[] = [];
    for (const key of new Set([...this.beginning.keys(), ...this.last.keys()])) {
      const [before, after, now] = [this.beginning, this.last, parent].map((one) => one.get(key));
      if (before === after || now === after) continue;
      if (now !== before) conflicts.push(key);
      if (now !== before && !theirs) continue;
      if (after === undefined) keys.delete(key);
      else keys.set(key, after);
    }
    return { keys, conflicts };
  }

  /** From now on, old history may be pruned to free space. */
  mayBePruned(): void {
    for (const { marks } of this.all) for (const mark of marks) mark.mayBePruned = true;
  }

  /** It does not exist any more, and nothing below it. */
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

export function ignored(promise: unknown): Promise<void> {
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
