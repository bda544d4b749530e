// The branches that a test has forked from its objects, and how they are dropped.
//
// Invariant: a branch is kept until it is dropped, because the worker that made it may end during the test: the
// helper's own worker ends when a page of the app opens.

import { storageError } from '@ctx-storage/core/errors';
import type { WireAddress } from '@ctx-storage/core/wire';
import { BranchedPages } from './branched-pages.ts';
import { wordsOfObject } from './object-names.ts';
import type { OriginObjects } from './origin-objects.ts';
import type { ObjectName } from './page/helper-protocol.ts';
import { TestStorage } from './test-storage.ts';

/** Options of forking an object. */
export interface TestForkOptions {
  /** The moment whose data the branch has: a bookmark, or a time. @default now */
  readonly at?: string | Date;
  /** Whether pages of the app that load from now on work on the branch instead of the object. @default false */
  readonly forPages?: boolean;
  /** Whether the class on the branch may reach the network and other objects. @default 'refuse' */
  readonly fetch?: 'allow' | 'refuse';
}

interface ForkedBranch {
  readonly object: ObjectName;
  readonly address: WireAddress;
}

export class Forks {
  readonly #objects: OriginObjects;
  readonly #pages: BranchedPages;
  /** The branches of the test, by their description. */
  readonly #forked = new Map<string, ForkedBranch>();
  #lastNumber = 0;

  constructor(objects: OriginObjects) {
    this.#objects = objects;
    this.#pages = new BranchedPages(objects.context);
  }

  /** Forks the object. @throws INVALID_ARGUMENT for a branch, and the errors of the handle's `fork` */
  async fork(
    origin: ObjectName,
    { at, forPages = false, fetch = 'refuse' }: TestForkOptions,
  ): Promise<TestStorage> {
    if (origin.branch !== undefined) {
      throw storageError(
        'INVALID_ARGUMENT',
        `fork: ${wordsOfObject(origin)} is a branch already; fork the object itself, ` +
          '{ at: bookmark } for an earlier moment.',
      );
    }
    this.#lastNumber += 1;
    const name = `fork ${this.#lastNumber}`;
    const asked = { op: 'fork', object: origin, name, at: at ?? null, fetch } as const;
    const address = (await this.#objects.ask(asked)) as WireAddress;
    const object = { ...origin, branch: name };
    this.#forked.set(wordsOfObject(object), { object, address });
    this.#objects.touch(object);
    if (forPages) await this.#pages.begin(address);
    return new TestStorage(this.#objects, object);
  }

  /**
   * Drops the branch; returns false if it no longer exists. @throws INVALID_ARGUMENT for anything but a branch of this
   * test
   */
  async drop(made: ObjectName): Promise<boolean> {
    const words = wordsOfObject(made);
    const { branch, ...object } = made;
    const known = this.#forked.get(words);
    if (branch === undefined || known === undefined) {
      throw storageError(
        'INVALID_ARGUMENT',
        `drop: ${words} is no branch that fork() has made and that is still there; to delete an object, use ` +
          'deleteObject.',
      );
    }
    this.#forked.delete(words);
    await this.#pages.end(known.address);
    return (await this.#objects.ask(
      { op: 'storage', object, method: 'deleteBranch', parameters: [branch], need: 'storage' },
      { touches: false },
    )) as boolean;
  }

  /** Drops all branches, including those that have ended with their object. */
  async dropAll(): Promise<void> {
    for (const { object } of [...this.#forked.values()]) await this.drop(object);
  }
}
