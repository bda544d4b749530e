// What `openStorage` and `connect` do once this code is loaded, which they do when they are called first.

import type { RemoteStorage } from '../contract/storage.ts';
import { absoluteUrl, browserEnvironment, digest } from './browser.ts';
import { connectObjects, type RemoteObjects } from './connect.ts';
import type { WorkerLike } from './environment.ts';
import { LeaderFinders } from './leader-finders.ts';
import { openObjectStorage } from './open-storage.ts';
import { SourceClient, type SourceClientOptions, type SourceObjects } from './source-client.ts';
import { checkStorageName, choiceOfConnect, choiceOfStorage } from './worker-choice.ts';

/** Workers that may have been started before this code was loaded. */
export interface StartedWorkers {
  /** The worker of the key that was started ahead, or a new one. */
  take(key: unknown, start: () => WorkerLike): WorkerLike;
}

/** The client of a page, which has one. */
export class PageClient {
  readonly #workers: StartedWorkers;
  #finders: LeaderFinders | undefined;

  constructor(workers: StartedWorkers) {
    this.#workers = workers;
  }

  /** As `openStorage`; `spawn` starts the worker that comes with the package. */
  async openStorage(
    name: string,
    options: unknown,
    spawn: (url: string | null) => WorkerLike,
  ): Promise<RemoteStorage> {
    const checkedName = checkStorageName(name);
    const choice = choiceOfStorage(options, {
      absoluteUrl,
      startWorker: (url) => this.#workers.take(url, () => spawn(url)),
    });
    return openObjectStorage(this.#findersFor('openStorage'), checkedName, choice);
  }

  /** As `connect`. */
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

  /** As `connectSource`; `spawn` starts the worker that comes with the package for it. */
  async connectSource<Classes extends object>(
    files: unknown,
    options: object,
    spawn: () => WorkerLike,
  ): Promise<SourceObjects<Classes>> {
    const { directory, medium, wasmUrl, ...given } = options as Record<string, unknown>;
    const places = { directory, medium, wasmUrl };
    const choose = (start: () => WorkerLike) =>
      choiceOfConnect(start, places, { absoluteUrl, startBy: (startNow) => startNow() });
    choose(spawn); // a wrong option is refused before anything is started
    const finders = this.#findersFor('connectSource');
    const { now, after } = finders.environment;
    const environment = { now, after, digest, spawn };
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
