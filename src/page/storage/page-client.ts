// Implements `openStorage`, `connect` and `connectSource`, which load this code on their first call. Handles of one
// directory share the page's worker and its connection.

import { storageError } from '../../shared/contract/errors.ts';
import { addressKey, idOfStorage } from '../../shared/contract/object-id.ts';
import type { RemoteStorage as RemoteStorageInterface } from '../../shared/contract/storage.ts';
import { absoluteUrl, browserEnvironment, digest } from '../leader/browser.ts';
import type { PageEnvironment, WorkerLike } from '../leader/environment.ts';
import { LeaderFinders } from '../leader/leader-finders.ts';
import {
  checkStorageName,
  choiceOfConnect,
  choiceOfStorage,
  type WorkerChoice,
} from '../leader/worker-choice.ts';
import { startWorker } from '../leader/worker-start.ts';
import { connectObjects, type RemoteObjects } from './connect.ts';
import { type EarlyOptions, EarlyReads } from './early-reads.ts';
import { RemoteStorage } from './remote-storage.ts';
import { Session } from './session.ts';
import { SourceClient, type SourceClientOptions, type SourceObjects } from './source-client.ts';

/** Gives access to workers that may have been started before this code was loaded. */
export interface StartedWorkers {
  /** Returns the worker with this key that was started early, or a new one. */
  take(key: unknown, start: () => WorkerLike): WorkerLike;
}

/** The client of a page. Each page has one. */
export class PageClient {
  readonly #workers: StartedWorkers;
  #finders: LeaderFinders | undefined;

  constructor(workers: StartedWorkers) {
    this.#workers = workers;
  }

  /** Implements `openStorage`. `spawn` starts the package's own worker. */
  async openStorage(
    name: string,
    options: unknown,
    spawn: (url: string | null) => WorkerLike,
    hold: (work: Promise<unknown>) => void,
  ): Promise<RemoteStorageInterface> {
    const checkedName = checkStorageName(name);
    const choice = choiceOfStorage(options, {
      absoluteUrl,
      startWorker: (url) => this.#workers.take(url, () => spawn(url)),
    });
    const { early, prepare } = checkEarly(options);
    const finders = this.#findersFor('openStorage');
    if (early !== null && choice.medium !== 'memory') {
      return openEarly(finders, checkedName, choice, early, prepare, hold);
    }
    const session = new Session(checkedName, finders.finderFor(choice), finders.environment.now);
    return openPrepared(session, finders.environment, prepare);
  }

  /** Implements `connect`. */
  async connect<Classes extends object>(
    worker: unknown,
    options: unknown,
  ): Promise<RemoteObjects<Classes>> {
    const choice = choiceOfConnect(worker, options, {
      absoluteUrl,
      startBy: (start) => this.#workers.take(start, start),
    });
    return connectObjects<Classes>(this.#findersFor('connect'), choice);
  }

  /** Implements `connectSource`. `spawn` starts the package's worker for source code. */
  async connectSource<Classes extends object>(
    files: unknown,
    options: object,
    spawn: () => WorkerLike,
  ): Promise<SourceObjects<Classes>> {
    const { directory, medium, wasmUrl, lateUrl, ...given } = options as Record<string, unknown>;
    const places = { directory, medium, wasmUrl, lateUrl };
    if (typeof spawn !== 'function') {
      throw storageError(
        'INVALID_ARGUMENT',
        `connectSource: the option worker is a function that starts source-worker.js, not a ${typeof spawn}.`,
      );
    }
    const choose = (start: () => WorkerLike) =>
      choiceOfConnect(start, places, { absoluteUrl, startBy: (startNow) => startNow() });
    choose(spawn); // this refuses wrong options before anything is started
    const finders = this.#findersFor('connectSource');
    const { now, after } = finders.environment;
    const environment = { now, after, digest, spawn: () => startWorker(spawn) };
    return new SourceClient(finders, environment, given as SourceClientOptions).connect(
      files,
      choose,
    );
  }

  #findersFor(operation: string): LeaderFinders {
    this.#finders ??= new LeaderFinders(browserEnvironment(operation));
    return this.#finders;
  }
}

/**
 * Makes a handle before the object is open; its calls and live reads wait for that. `prepare` gets a separate session,
 * whose calls do not wait for `prepare`, and whose transactions do not include calls of the handle. @throws INVALID_ARGUMENT
 */
export function openEarly(
  finders: LeaderFinders,
  name: string,
  choice: WorkerChoice,
  options: EarlyOptions,
  prepare: Prepare,
  hold: (work: Promise<unknown>) => void,
): RemoteStorageInterface {
  const { environment } = finders;
  const finder = finders.finderFor(choice);
  let isInPrepare = false;
  const session = new Session(name, finder, environment.now, name, {
    ready: () => early.ready(),
    get refusal() {
      return isInPrepare ? waitsForItself() : null;
    },
  });
  const prepareNow: Prepare = async (opened) => {
    let prepared: unknown;
    // True only until the first await of `prepare`: after that, its calls cannot be told from others.
    isInPrepare = true;
    try {
      prepared = prepare(opened);
    } finally {
      isInPrepare = false;
    }
    await prepared;
  };
  const address = { className: null, id: idOfStorage(name) };
  const early = new EarlyReads(
    { directory: choice.directory, object: addressKey(address) },
    options,
    environment,
    async () => {
      const preparing = new Session(name, finder, environment.now);
      const opened = await openPrepared(preparing, environment, prepareNow);
      // The app may have kept the storage given to `prepare`, so it is closed together with the handle.
      const close = () => void opened.close();
      if (session.ending.aborted) close();
      else session.ending.addEventListener('abort', close);
    },
    // The preparation starts in a later task, after the caller could add listeners.
    () =>
      void environment.after(0, () => {
        session.status.dispatchEvent(new CustomEvent('keepfailed', { detail: address }));
      }),
  );
  const storage = new RemoteStorage(session, environment, undefined, early);
  const begun = early.begin().catch((error) => {
    // Waiting calls and live reads report the error. If there are none, it becomes an unhandled rejection.
    if (!early.isAwaited && session.end === undefined) void Promise.reject(error);
  });
  hold(begun);
  return storage;
}

function waitsForItself(): Error {
  return storageError(
    'INVALID_ARGUMENT',
    'openStorage: the option prepare used the early handle, whose calls wait for it; use the storage that it is given, ' +
      'such as prepare: (opened) => migrate(opened, steps).',
  );
}

export type Prepare = (storage: RemoteStorageInterface) => Promise<unknown>;

const nothingToPrepare: Prepare = async () => {};

/** Checks the options of an early handle. @throws INVALID_ARGUMENT */
function checkEarly(options: unknown): { early: EarlyOptions | null; prepare: Prepare } {
  const given = (options ?? {}) as Record<string, unknown>;
  const { early = false, identity: user, keepResults: keeps = true, prepare } = given;
  const mustBe = (isRight: boolean, what: string) => {
    if (!isRight) throw storageError('INVALID_ARGUMENT', `openStorage: ${what}.`);
  };
  mustBe(typeof early === 'boolean', 'the option early is true or false');
  mustBe(typeof keeps === 'boolean', 'the option keepResults is true or false');
  mustBe(
    user === undefined || user === null || typeof user === 'string',
    'the option identity is the text that names who is signed in, or null for nobody',
  );
  mustBe(
    prepare === undefined || typeof prepare === 'function',
    'the option prepare is a function of the storage, such as (storage) => migrate(storage, steps)',
  );
  mustBe(
    early === true || (user === undefined && keeps === true),
    'the options identity and keepResults belong to early: true; otherwise nothing is kept',
  );
  return {
    early:
      early === true ? { user: user as string | null | undefined, keeps: keeps as boolean } : null,
    prepare: (prepare as Prepare | undefined) ?? nothingToPrepare,
  };
}

/** Opens the object, runs `prepare`, and returns the handle. @throws as `openStorage`, and the error of `prepare` */
export async function openPrepared(
  session: Session,
  environment: PageEnvironment,
  prepare: Prepare,
): Promise<RemoteStorageInterface> {
  await session.open();
  const storage = new RemoteStorage(session, environment);
  try {
    await prepare(storage);
  } catch (error) {
    await storage.close();
    throw error;
  }
  return storage;
}
