// What `openStorage` and `connect` do once this code is loaded, which they do when they are called first.

import type { RemoteStorage } from '../contract/storage.ts';
import { absoluteUrl, browserEnvironment } from './browser.ts';
import { connectObjects, type RemoteObjects } from './connect.ts';
import type { WorkerLike } from './environment.ts';
import { LeaderFinders } from './leader-finders.ts';
import { openObjectStorage } from './open-storage.ts';
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

  #findersFor(operation: string): LeaderFinders {
    this.#finders ??= new LeaderFinders(browserEnvironment(operation));
    return this.#finders;
  }
}
