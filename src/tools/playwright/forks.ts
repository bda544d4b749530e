// The branches that a test has forked from its objects, and their end.
//
// Invariant: a branch is kept until it is dropped, because the worker that made it may end during the test: the helper's
// own does when a page of the app opens.

import { storageError } from '../../shared/contract/errors.ts';
import { wordsOfObject } from './object-names.ts';
import type { OriginObjects } from './origin-objects.ts';
import type { ObjectName } from './page/helper-protocol.ts';
import { TestStorage } from './test-storage.ts';

export class Forks {
  readonly #objects: OriginObjects;
  /** By their words. */
  readonly #made = new Map<string, ObjectName>();
  #lastNumber = 0;

  constructor(objects: OriginObjects) {
    this.#objects = objects;
  }

  /** @throws INVALID_ARGUMENT for a branch, and as the handle's `fork` */
  async fork(origin: ObjectName, at: string | Date | null): Promise<TestStorage> {
    if (origin.branch !== undefined) {
      throw storageError(
        'INVALID_ARGUMENT',
        `fork: ${wordsOfObject(origin)} is a branch already; fork the object itself, ` +
          '{ at: bookmark } for an earlier moment.',
      );
    }
    this.#lastNumber += 1;
    const name = `fork ${this.#lastNumber}`;
    await this.#objects.ask({ op: 'fork', object: origin, name, at });
    const object = { ...origin, branch: name };
    this.#made.set(wordsOfObject(object), object);
    this.#objects.touch(object);
    return new TestStorage(this.#objects, object);
  }

  /** False if it is gone. @throws INVALID_ARGUMENT for anything but a branch of this test */
  async drop(made: ObjectName): Promise<boolean> {
    const words = wordsOfObject(made);
    const { branch, ...object } = made;
    if (branch === undefined || !this.#made.delete(words)) {
      throw storageError(
        'INVALID_ARGUMENT',
        `drop: ${words} is no branch that fork() has made and that is still there; to delete an object, use ` +
          'deleteObject.',
      );
    }
    return (await this.#objects.ask(
      { op: 'storage', object, method: 'deleteBranch', parameters: [branch], need: 'storage' },
      { touches: false },
    )) as boolean;
  }

  /** Also branches that have ended with their object. */
  async dropAll(): Promise<void> {
    for (const made of [...this.#made.values()]) await this.drop(made);
  }
}
