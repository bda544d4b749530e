// The test's interface to its app's objects: the fixtures are its members.

import { storageError } from '@ctx-storage/core/errors';
import { fromWire } from '@ctx-storage/core/wire';
import type { BrowserContext } from '@playwright/test';
import { type CallSite, callSite } from './call-site.ts';
import { Forks, type TestForkOptions } from './forks.ts';
import { type ById, objectName, storageName } from './object-names.ts';
import { type HarnessOptions, harnessOptions, type ObjectsOptions } from './options.ts';
import { OriginObjects } from './origin-objects.ts';
import type { ListedByHelper, ObjectName } from './page/helper-protocol.ts';
import { type SeedContent, type SeedTable, seedsOf, storeSeeds, tableIn } from './seed.ts';
import {
  deleteAllObjects,
  type ObjectsSnapshot,
  restoreSnapshot,
  takeSnapshot,
} from './snapshots.ts';
import { at, inStep } from './steps.ts';
import { TestStorage } from './test-storage.ts';

/** An object that exists. */
export interface StoredObject extends Omit<ListedByHelper, 'id' | 'name' | 'error'> {
  readonly id: string;
  /** If it was ever addressed by name. */
  readonly name: string | undefined;
  /** Why it cannot be opened, such as CORRUPT; its alarm is not known then. */
  readonly error: Error | null;
}

/** Stores a test's initial data. */
export interface Seed {
  /** The content of one object. */
  (className: string, name: string, content: SeedContent): Promise<void>;
  /** The content of an object of `openStorage`. */
  (name: string, content: SeedContent): Promise<void>;
  /** Several objects, by class and name; or the path of a JSON file that holds such a table. */
  (table: SeedTable | string): Promise<void>;
}

export class TestObjects {
  readonly #objects: OriginObjects;
  readonly #forks: Forks;
  /** Of the last seed, which `verify` blames. */
  #seeded: CallSite | null = null;

  constructor(objects: OriginObjects) {
    this.#objects = objects;
    this.#forks = new Forks(objects);
  }

  /** The storage of an object of a class, or of `openStorage`, whether or not it exists yet. */
  storage(className: string, name: string | ById): TestStorage;
  storage(name: string): TestStorage;
  storage(...names: [unknown, unknown?]): TestStorage {
    const object: ObjectName =
      names.length === 1
        ? storageName('objects.storage', names[0])
        : objectName('objects.storage', ...names);
    this.#objects.touch(object);
    return new TestStorage(this.#objects, object);
  }

  /** The objects of a class that exist, in order of their ids. */
  list(className: string): Promise<StoredObject[]> {
    return inStep(`objects: list ${className}`, async () => {
      const found = (await this.#objects.ask({ op: 'list', className })) as ListedByHelper[];
      return found.map(({ name, error, ...listed }) => ({
        ...listed,
        name,
        error: error && (fromWire(error) as Error),
      }));
    });
  }

  /** The classes that the app serves, and those of stored objects. */
  classNames(): Promise<string[]> {
    return inStep('objects: class names', async () => {
      return (await this.#objects.ask({ op: 'classNames' })) as string[];
    });
  }

  /** Removes an object and everything that it stored. */
  deleteObject(className: string, name: string | ById): Promise<void> {
    const object = objectName('objects.deleteObject', className, name);
    return inStep(`objects: delete ${className}`, async () => {
      await this.#objects.ask({ op: 'delete', object });
    });
  }

  readonly seed: Seed = (
    ...given:
      | [SeedTable | string]
      | [name: string, content: SeedContent]
      | [className: string, name: string, content: SeedContent]
  ) => {
    this.#seeded = callSite();
    const words = given.length === 3 ? `${given[0]} '${given[1]}'` : '';
    return inStep(
      `seed ${words || (typeof given[0] === 'string' ? `'${given[0]}'` : '')}`.trim(),
      async () => {
        if (given.length === 3) {
          const [className, name, content] = given;
          const object = objectName('seed', className, name);
          await storeSeeds(this.#objects, [{ object, content }]);
          return;
        }
        if (given.length === 2) {
          const [name, content] = given;
          await storeSeeds(this.#objects, [{ object: storageName('seed', name), content }]);
          return;
        }
        const [table] = given;
        await storeSeeds(
          this.#objects,
          seedsOf(typeof table === 'string' ? await tableIn(table) : table),
        );
      },
    );
  };

  /** Marks the state of all objects. */
  readonly snapshot = (): Promise<ObjectsSnapshot> =>
    inStep('snapshot', () => takeSnapshot(this.#objects));

  /** Restores all objects to the snapshot; newer objects are deleted. */
  readonly restore = (snapshot: ObjectsSnapshot): Promise<void> =>
    inStep('restore', () => restoreSnapshot(this.#objects, snapshot));

  /**
   * Forks an object: a branch of its own, with all that the object stores, and nothing is copied. `call` runs the class on
   * the branch; with `forPages`, the app's pages work on it too. The fixtures drop it after the test; in other suites,
   * call `drop`.
   *
   * @throws INVALID_ARGUMENT, BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE
   */
  readonly fork = (storage: TestStorage, options: TestForkOptions = {}): Promise<TestStorage> => {
    if (!(storage instanceof TestStorage)) {
      throw storageError(
        'INVALID_ARGUMENT',
        "fork: takes the storage of an object, fork(objects.storage('Room', 'lobby')), as of now or { at }.",
      );
    }
    return inStep(`fork ${storage}`, () => this.#forks.fork(storage.object, options));
  };

  /** Deletes the branch that `fork` has made; false if it is gone. */
  readonly drop = (branch: TestStorage): Promise<boolean> =>
    inStep(`drop ${branch}`, () => this.#forks.drop(branch.object));

  /** Deletes the branches that `fork` has made. */
  async dropForks(): Promise<void> {
    await this.#forks.dropAll();
  }

  /** Deletes all objects. */
  readonly reset = (): Promise<void> => inStep('reset', () => deleteAllObjects(this.#objects));

  /** @throws INVALID_ARGUMENT if the seeded classes differ from the app's */
  async verify(): Promise<void> {
    if (!this.#objects.isUsed) return;
    await at(this.#seeded ?? callSite(), () => this.#objects.ask({ op: 'verify' }));
  }

  /** The objects that the test has named. */
  get touched(): TestStorage[] {
    return this.#objects.touched.map((object) => new TestStorage(this.#objects, object));
  }

  /** For the parts of the harness. */
  get origin(): OriginObjects {
    return this.#objects;
  }
}

/** Options of `defineObjects`. */
export interface DefineOptions extends ObjectsOptions {
  readonly context: BrowserContext;
  /** As in Playwright's configuration. */
  readonly baseURL?: string | undefined;
}

interface Known {
  readonly objects: TestObjects;
  readonly options: string;
}

const known = new WeakMap<BrowserContext, Known>();

/**
 * The objects of a browser context, without fixtures: for suites that compose their own. Calls with one context and
 * one set of options give the same.
 *
 * @throws INVALID_ARGUMENT
 */
export function defineObjects({ context, baseURL, ...given }: DefineOptions): TestObjects {
  if (typeof context?.newPage !== 'function') {
    throw storageError(
      'INVALID_ARGUMENT',
      'defineObjects: takes { context }, a browser context of Playwright.',
    );
  }
  const options: HarnessOptions = harnessOptions(given);
  const text = JSON.stringify([options, baseURL]);
  const before = known.get(context);
  if (before === undefined) {
    const objects = new TestObjects(new OriginObjects(context, options, baseURL));
    known.set(context, { objects, options: text });
    return objects;
  }
  if (before.options === text) return before.objects;
  throw storageError(
    'INVALID_ARGUMENT',
    'defineObjects: this browser context has objects with other options already: two tests that were merged, or a ' +
      'fixture beside defineObjects. Give both the same objectsOptions, or use the fixture `objects` in both.',
  );
}
