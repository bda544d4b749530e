// What a test does with the objects of its app: the fixtures are this, part by part.

import type { BrowserContext } from '@playwright/test';
import { storageError } from '../contract/errors.ts';
import { type CallSite, callSite } from './call-site.ts';
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
export interface StoredObject extends Omit<ListedByHelper, 'id' | 'name'> {
  readonly id: string;
  /** If it was ever addressed by name. */
  readonly name: string | undefined;
}

/** Stores what a test begins with. */
export interface Seed {
  /** What one object is to hold. */
  (className: string, name: string, content: SeedContent): Promise<void>;
  /** What an object of `openStorage` is to hold. */
  (name: string, content: SeedContent): Promise<void>;
  /** Several objects, by class and name; or the path of a JSON file that holds such a table. */
  (table: SeedTable | string): Promise<void>;
}

export class TestObjects {
  readonly #objects: OriginObjects;
  /** Of the last seed, which `verify` blames. */
  #seeded: CallSite | null = null;

  constructor(objects: OriginObjects) {
    this.#objects = objects;
  }

  /** The storage of an object of a class, or of `openStorage`, whether or not it exists yet. */
  storage(className: string, name: string | ById): TestStorage;
  storage(name: string): TestStorage;
  storage(...names: [unknown, unknown?]): TestStorage {
    const object: ObjectName =
      names.length === 1
        ? storageName('objects.storage', names[0])
        : objectName('objects.storage', ...names);
    return new TestStorage(this.#objects, object);
  }

  /** The objects of a class that exist, in order of their ids. */
  list(className: string): Promise<StoredObject[]> {
    return inStep(`objects: list ${className}`, async () => {
      const found = (await this.#objects.ask({ op: 'list', className })) as ListedByHelper[];
      return found.map(({ name, ...listed }) => ({ ...listed, name }));
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

  /** Takes all objects back to the snapshot; those that have come since are deleted. */
  readonly restore = (snapshot: ObjectsSnapshot): Promise<void> =>
    inStep('restore', () => restoreSnapshot(this.#objects, snapshot));

  /** Deletes all objects. */
  readonly reset = (): Promise<void> => inStep('reset', () => deleteAllObjects(this.#objects));

  /** @throws INVALID_ARGUMENT if what was seeded is not what the app reads */
  async verify(): Promise<void> {
    if (!this.#objects.isUsed) return;
    await at(this.#seeded ?? callSite(), () => this.#objects.ask({ op: 'verify' }));
  }

  /** The objects that the test has asked for. */
  get touched(): TestStorage[] {
    return this.#objects.touched.map((object) => new TestStorage(this.#objects, object));
  }

  /** For the parts of the harness. */
  get origin(): OriginObjects {
    return this.#objects;
  }
}

/** What `defineObjects` needs. */
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
