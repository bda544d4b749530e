// The test's interface to the objects of its app. The fixtures are its members.

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
import { at, runAsStep } from './steps.ts';
import { TestStorage } from './test-storage.ts';

/** An existing object. */
export interface StoredObject extends Omit<ListedByHelper, 'id' | 'name' | 'error'> {
  readonly id: string;
  /** The object's name, if it was ever addressed by name. */
  readonly name: string | undefined;
  /**
   * The error with which the object cannot be opened, such as CORRUPT, in which case its alarm is not known; otherwise
   * null.
   */
  readonly error: Error | null;
}

/** Stores a test's initial data. */
export interface Seed {
  /** Stores the content of one object of a class. */
  (className: string, name: string, content: SeedContent): Promise<void>;
  /** Stores the content of an object of `openStorage`. */
  (name: string, content: SeedContent): Promise<void>;
  /** Stores the contents of several objects, by class and name, from a table or from a JSON file with such a table. */
  (table: SeedTable | string): Promise<void>;
}

export class TestObjects {
  readonly #objects: OriginObjects;
  readonly #forks: Forks;
  /** The place of the last seed, to which `verify` attributes its error. */
  #seeded: CallSite | null = null;

  constructor(objects: OriginObjects) {
    this.#objects = objects;
    this.#forks = new Forks(objects);
  }

  /** Returns the storage of an object of a class, or of `openStorage`. The object need not exist yet. */
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

  /** Returns the existing objects of a class, in order of their ids. */
  list(className: string): Promise<StoredObject[]> {
    return runAsStep(`objects: list ${className}`, async () => {
      const found = (await this.#objects.ask({ op: 'list', className })) as ListedByHelper[];
      return found.map(({ name, error, ...listed }) => ({
        ...listed,
        name,
        error: error && (fromWire(error) as Error),
      }));
    });
  }

  /** Returns the classes that the app serves, and those of stored objects. */
  classNames(): Promise<string[]> {
    return runAsStep('objects: class names', async () => {
      return (await this.#objects.ask({ op: 'classNames' })) as string[];
    });
  }

  /** Removes an object and everything that it stored. */
  deleteObject(className: string, name: string | ById): Promise<void> {
    const object = objectName('objects.deleteObject', className, name);
    return runAsStep(`objects: delete ${className}`, async () => {
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
    return runAsStep(
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

  /** Marks the present state of all objects. */
  readonly snapshot = (): Promise<ObjectsSnapshot> =>
    runAsStep('snapshot', () => takeSnapshot(this.#objects));

  /** Restores all objects to the snapshot. Newer objects are deleted. */
  readonly restore = (snapshot: ObjectsSnapshot): Promise<void> =>
    runAsStep('restore', () => restoreSnapshot(this.#objects, snapshot));

  /**
   * Forks an object into a branch with all that the object stores; nothing is copied. `call` runs the class on the
   * branch; with `forPages`, the app's pages work on it too. The fixtures drop it after the test; in other suites, call
   * `drop`.
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
    return runAsStep(`fork ${storage}`, () => this.#forks.fork(storage.object, options));
  };

  /** Deletes a branch that `fork` has made. Returns false if it no longer exists. */
  readonly drop = (branch: TestStorage): Promise<boolean> =>
    runAsStep(`drop ${branch}`, () => this.#forks.drop(branch.object));

  /** Deletes all branches that `fork` has made. */
  async dropForks(): Promise<void> {
    await this.#forks.dropAll();
  }

  /** Deletes all objects. */
  readonly reset = (): Promise<void> => runAsStep('reset', () => deleteAllObjects(this.#objects));

  /** Checks that the seeded classes are the app's. @throws INVALID_ARGUMENT if they differ */
  async verify(): Promise<void> {
    if (!this.#objects.isUsed) return;
    await at(this.#seeded ?? callSite(), () => this.#objects.ask({ op: 'verify' }));
  }

  /** The storages of the objects that the test has named. */
  get touched(): TestStorage[] {
    return this.#objects.touched.map((object) => new TestStorage(this.#objects, object));
  }

  /** The objects of the browser context, which other parts of the harness use. */
  get origin(): OriginObjects {
    return this.#objects;
  }
}

/** Options of `defineObjects`. */
export interface DefineOptions extends ObjectsOptions {
  readonly context: BrowserContext;
  /** The `baseURL` of Playwright's configuration. */
  readonly baseURL?: string | undefined;
}

interface Known {
  readonly objects: TestObjects;
  readonly options: string;
}

const objectsByContext = new WeakMap<BrowserContext, Known>();

/**
 * Returns the objects of a browser context without fixtures, for suites that compose their own. Calls with the same
 * context and options return the same objects.
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
  const before = objectsByContext.get(context);
  if (before === undefined) {
    const objects = new TestObjects(new OriginObjects(context, options, baseURL));
    objectsByContext.set(context, { objects, options: text });
    return objects;
  }
  if (before.options === text) return before.objects;
  throw storageError(
    'INVALID_ARGUMENT',
    'defineObjects: this browser context has objects with other options already: two tests that were merged, or a ' +
      'fixture beside defineObjects. Give both the same objectsOptions, or use the fixture `objects` in both.',
  );
}
