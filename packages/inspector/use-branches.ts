// Manages the branches of the inspected object: which branch is shown in place of the object, and the handles of
// temporary branches.
//
// Invariant: the inspector closes each handle that it opens here. A temporary branch ends with its handle, so the
// handle stays open until the branch is deleted or another object is shown.

import type { ForkOptions, StorageBranch, StorageHandle } from '@ctx-storage/core/storage';
import { useEffect, useMemo, useReducer, useRef } from 'preact/hooks';

/** A branch in the list. */
export interface ListedBranch {
  readonly name: string;
  /** The moment of its origin at which the branch began. */
  readonly bookmark: string;
  readonly isKept: boolean;
}

interface Temporary {
  readonly origin: StorageHandle;
  readonly name: string;
  readonly branch: StorageBranch;
}

/** The branches of the shown handle, which is the object or one of its branches. */
export class InspectedBranches {
  readonly #storage: StorageHandle;
  readonly #changed: () => void;
  #temporaries: readonly Temporary[] = [];
  #path: readonly { readonly name: string; readonly branch: StorageBranch }[] = [];

  constructor(storage: StorageHandle, changed: () => void) {
    this.#storage = storage;
    this.#changed = changed;
  }

  /** The handle that all panels show. */
  get shown(): StorageHandle {
    return this.#path.at(-1)?.branch ?? this.#storage;
  }

  /** The names of the branches from the object to the shown branch; empty if the object itself is shown. */
  get names(): readonly string[] {
    return this.#path.map(({ name }) => name);
  }

  /** Lists the branches of the shown handle: first those that are kept, then the temporary ones. */
  async list(): Promise<ListedBranch[]> {
    const kept = await this.shown.branches();
    const own = this.#temporaries.filter(({ origin }) => origin === this.shown);
    return [
      ...kept.map(({ name, bookmark }) => ({ name, bookmark, isKept: true })),
      ...own.map(({ name, branch }) => ({ name, bookmark: branch.forkedAt, isKept: false })),
    ];
  }

  /** Makes a branch of the shown handle at a bookmark, or now if it is null. @throws the errors of `fork` */
  async fork(name: string, at: string | null, isKept: boolean): Promise<void> {
    const origin = this.shown;
    const options: ForkOptions = { name, keep: isKept, ...(at !== null && { at }) };
    const branch = await origin.fork(options);
    if (isKept) await branch.close();
    else this.#temporaries = [...this.#temporaries, { origin, name, branch }];
    this.#changed();
  }

  /** Shows a branch of the shown handle in its place. */
  async open(listed: ListedBranch): Promise<void> {
    const branch = await this.#handle(listed);
    this.#path = [...this.#path, { name: listed.name, branch }];
    this.#changed();
  }

  /** Shows the origin of the shown branch again. */
  async leave(): Promise<void> {
    const last = this.#path.at(-1);
    this.#path = this.#path.slice(0, -1);
    this.#changed();
    if (last !== undefined) await this.#release(last.branch);
  }

  /** Calls the action with the handle of a listed branch. */
  async use<T>(listed: ListedBranch, action: (branch: StorageBranch) => Promise<T>): Promise<T> {
    const branch = await this.#handle(listed);
    try {
      return await action(branch);
    } finally {
      await this.#release(branch);
    }
  }

  async remove({ name, isKept }: ListedBranch): Promise<void> {
    if (isKept) {
      await this.shown.deleteBranch(name);
    } else {
      const ended = this.#temporaries.find((own) => own.origin === this.shown && own.name === name);
      this.#temporaries = this.#temporaries.filter((own) => own !== ended);
      await ended?.branch.close();
    }
    this.#changed();
  }

  async close(): Promise<void> {
    const handles = [...this.#path, ...this.#temporaries].map(({ branch }) => branch);
    this.#path = [];
    this.#temporaries = [];
    await Promise.all([...new Set(handles)].map((branch) => branch.close()));
  }

  #handle({ name, isKept }: ListedBranch): Promise<StorageBranch> {
    if (isKept) return this.shown.openBranch(name);
    const own = this.#temporaries.find((each) => each.origin === this.shown && each.name === name);
    return Promise.resolve(own!.branch);
  }

  /** Closes the handle unless its branch is temporary, which would end it. */
  async #release(branch: StorageBranch): Promise<void> {
    if (!this.#temporaries.some((own) => own.branch === branch)) await branch.close();
  }
}

/** Returns the branches of an object, or null while none is open. */
export function useBranches(storage: StorageHandle | null): InspectedBranches | null {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const isMounted = useRef(true);
  const branches = useMemo(
    () => storage && new InspectedBranches(storage, () => isMounted.current && draw(undefined)),
    [storage],
  );
  useEffect(() => () => void branches?.close(), [branches]);
  useEffect(() => {
    isMounted.current = true;
    return () => {
      isMounted.current = false;
    };
  }, []);
  return branches;
}
