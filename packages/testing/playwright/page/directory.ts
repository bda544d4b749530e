// The objects of one directory of the origin and their storage, as a test sees them.
//
// Invariant: a request for a missing object ends within its time, with an error that lists the existing ones.

import { toWireAddress } from '@ctx-storage/core/calls';
import { isStorageError, storageError } from '@ctx-storage/core/errors';
import {
  ObjectId as DurableObjectId,
  idOfStorage,
  ObjectIdFactory,
} from '@ctx-storage/core/object';
import type { PageEnvironment, RemoteStorage } from '@ctx-storage/core/page';
import type { ClassList, WireAddress } from '@ctx-storage/core/wire';
import { namesOf } from '@ctx-storage/core/wire';
import { countAppCandidates, leadingWorker } from './app-candidates.ts';
import type { DirectoryFacts, Need, ObjectName } from './helper-protocol.ts';
import { Link } from './link.ts';
import type { RealTimers } from './real-timers.ts';
import { storedClasses, storedDirectories, storedStorageIds } from './stored-classes.ts';

const POLL_MS = 20;

/** How long a living worker of the app may take to report its classes. */
const CLASSES_WAIT_MS = 10_000;

/** An object, as the worker that leads now knows it. */
export interface KnownObject {
  readonly link: Link;
  readonly address: WireAddress;
}

export class Directory {
  readonly #facts: DirectoryFacts;
  readonly #environment: PageEnvironment;
  readonly #timers: RealTimers;
  readonly #names: ReturnType<typeof namesOf>;
  #link: Link | null = null;
  /** The unique keys of classes that were assumed before a worker of the app reported its own. */
  readonly #assumedUniqueKeys = new Map<string, string>();

  constructor(facts: DirectoryFacts, environment: PageEnvironment, timers: RealTimers) {
    this.#facts = facts;
    this.#environment = environment;
    this.#timers = timers;
    this.#names = namesOf(facts.directory);
  }

  /** Returns a connection to the worker that leads; `what` is the beginning of a possible error. */
  async link(what: string, need: Need, waitMs: number, className?: string | null): Promise<Link> {
    const untilMs = this.#now() + waitMs;
    for (;;) {
      const link = await this.#tryLink(need, untilMs, className);
      if (link !== null) return link;
      if (this.#now() > untilMs) throw await this.#nobody(what, need, className);
      await this.#timers.sleep(POLL_MS);
    }
  }

  /** Finds the object of this name or id. @throws UNKNOWN_CLASS, INVALID_ARGUMENT */
  async find(what: string, object: ObjectName, need: Need, waitMs: number): Promise<KnownObject> {
    const link = await this.link(what, need, waitMs, object.className);
    const address = await this.#address(what, link, object);
    const { branch } = object;
    return { link, address: branch === undefined ? address : await link.branch(address, branch) };
  }

  /** Returns the storage of the object. */
  async storage(
    what: string,
    object: ObjectName,
    need: Need,
    waitMs: number,
  ): Promise<RemoteStorage> {
    const { link, address } = await this.find(what, object, need, waitMs);
    return await link.storage(address);
  }

  /** Returns the names of all classes that are served or have objects. */
  async classNames(): Promise<string[]> {
    const served = await this.#served();
    const stored = await storedClasses(this.#facts.directory);
    const names = new Set([...stored, ...(served?.classes.map(({ name }) => name) ?? [])]);
    return [...names].sort();
  }

  /** Returns the name of a class; `name` may be that of its binding. @throws UNKNOWN_CLASS */
  async className(what: string, name: string): Promise<string> {
    const served = await this.#served();
    if (served === null) return name;
    return classIn(what, served, name).name;
  }

  /** Checks, once a worker of the app has reported its classes, that the seeded objects are the ones that it uses. */
  async verify(): Promise<void> {
    const served = await this.#served();
    if (served !== null) this.#compare(served);
  }

  /** Returns the ids of the objects of `openStorage`. */
  async storageIds(): Promise<string[]> {
    return await storedStorageIds(this.#facts.directory);
  }

  /** Returns whether a worker of the app is alive. */
  async isServed(): Promise<boolean> {
    return (await countAppCandidates(this.#names)) > 0;
  }

  /** Returns the name of the app's worker that leads; null if no worker answers in time. */
  async leader(waitMs: number): Promise<string | null> {
    await this.link('leader', 'app', waitMs);
    return await leadingWorker(this.#names, this.#timers.after, waitMs);
  }

  get name(): string {
    return this.#facts.directory;
  }

  async #tryLink(need: Need, untilMs: number, className?: string | null): Promise<Link | null> {
    const appCount = await countAppCandidates(this.#names);
    const isStale = this.#link?.followsApp === true && appCount === 0;
    if (isStale || this.#link?.isOver) this.#drop();
    if (appCount === 0) {
      if (need === 'app') return null;
      if (need === 'stored' && !(await this.#isStored(className))) return null;
    }
    this.#link ??= new Link(this.#facts, appCount === 0, this.#environment);
    const link = this.#link;
    try {
      await link.connect();
    } catch (error) {
      link.end();
      const isSoon = isStorageError(error) && RETRIED_ERROR_CODES.has(error.code);
      if (!isSoon || this.#now() > untilMs) throw error;
      return null;
    }
    return need === 'app' && !link.followsApp ? null : link;
  }

  #drop(): void {
    this.#link?.end();
    this.#link = null;
  }

  async #isStored(className: string | null | undefined): Promise<boolean> {
    const { directory } = this.#facts;
    if (className === undefined || className === null) {
      return (await storedDirectories()).includes(directory);
    }
    return (await storedClasses(directory)).includes(className);
  }

  async #address(what: string, link: Link, object: ObjectName): Promise<WireAddress> {
    const { className, name, id } = object;
    if (className === null) {
      const own = id === undefined ? idOfStorage(name!) : new DurableObjectId(id);
      return toWireAddress({ className, id: own });
    }
    const known = await this.#classOf(what, link, className);
    const ids = new ObjectIdFactory(known.uniqueKey);
    const made = id === undefined ? ids.fromName(name!) : ids.fromString(id);
    return toWireAddress({ className: known.name, id: made });
  }

  async #classOf(what: string, link: Link, className: string) {
    if (link.followsApp) {
      const served = await link.classes();
      this.#compare(served);
      return classIn(what, served, className);
    }
    const { uniqueKeys, scriptName } = this.#facts;
    const uniqueKey = uniqueKeys[className] ?? `${scriptName}-${className}`;
    this.#assumedUniqueKeys.set(className, uniqueKey);
    return { name: className, uniqueKey };
  }

  async #served(): Promise<ClassList | null> {
    if ((await countAppCandidates(this.#names)) === 0) return null;
    return await (await this.link('classes', 'app', CLASSES_WAIT_MS)).classes();
  }

  #compare({ classes, bindings }: ClassList): void {
    for (const [className, uniqueKey] of this.#assumedUniqueKeys) {
      const served = classes.find(({ name }) => name === className);
      if (served?.uniqueKey === uniqueKey) continue;
      throw storageError('INVALID_ARGUMENT', wrongKey(className, uniqueKey, served, bindings));
    }
  }

  async #nobody(what: string, need: Need, className?: string | null): Promise<Error> {
    const { directory } = this.#facts;
    const place = `directory "${directory}" of ${location.origin}`;
    if (need === 'app') {
      const opener =
        className === null
          ? 'openStorage()'
          : 'connect(): an object of openStorage() has neither methods nor a clock';
      return storageError(
        'WORKER_FAILED',
        `${what}: no worker of the app runs for ${place}. Open a page of the app first (await page.goto(…)); it ` +
          `must call ${opener}. Its option directory, if it has one, is objectsOptions' too.`,
      );
    }
    const classes = await storedClasses(directory);
    if (typeof className === 'string' && classes.length > 0) {
      return storageError(
        'UNKNOWN_CLASS',
        `${what}: no object of class "${className}" is stored in ${place}, and no worker of the app runs. ` +
          `Stored are objects of: ${classes.join(', ')}.`,
      );
    }
    const others = (await storedDirectories()).filter((name) => name !== directory);
    return storageError(
      'WORKER_FAILED',
      `${what}: nothing is stored in ${place}, and no page that uses ctx-storage is open. Open the app first ` +
        '(await page.goto(…)), or seed. If it passes a directory to connect(), pass the same in objectsOptions. ' +
        `Other directories here: ${others.join(', ') || 'none'}.`,
    );
  }

  #now(): number {
    return performance.now();
  }
}

/** Errors that pass once the app's worker has loaded. */
const RETRIED_ERROR_CODES: ReadonlySet<string> = new Set([
  'WORKER_FAILED',
  'CONNECTION_CLOSED',
  'WORKER_BUSY',
  'STORAGE_LOCKED',
]);

function classIn(what: string, { classes, bindings }: ClassList, name: string) {
  const className = bindings.find(([binding]) => binding === name)?.[1] ?? name;
  const found = classes.find((served) => served.name === className);
  if (found !== undefined) return found;
  const names = bindings.map(([binding]) => binding).join(', ') || 'none';
  throw storageError(
    'UNKNOWN_CLASS',
    `${what}: the app serves no class "${name}"; it serves: ${names}.`,
  );
}

function wrongKey(
  className: string,
  assumed: string,
  served: ClassList['classes'][number] | undefined,
  bindings: ClassList['bindings'],
): string {
  if (served === undefined) {
    const names = bindings.map(([binding]) => binding).join(', ') || 'none';
    return (
      `seed: objects of class "${className}" were stored before the app ran, and it serves no such class; ` +
      `it serves: ${names}. Seed by the name of the class, not of a binding.`
    );
  }
  const suffix = `-${className}`;
  const wayOut = served.uniqueKey.endsWith(suffix)
    ? `scriptName: '${served.uniqueKey.slice(0, -suffix.length)}'`
    : `uniqueKeys: { ${className}: '${served.uniqueKey}' }`;
  return (
    `seed: objects of class "${className}" were stored under the unique key "${assumed}" before the app ran, and ` +
    `the app uses "${served.uniqueKey}", so it does not find them. Set test.use({ objectsOptions: { ${wayOut} } }).`
  );
}
