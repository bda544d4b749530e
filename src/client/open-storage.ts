// Opens objects on a page. Handles of one directory share the page's worker and its connection.

import { storageError } from '../contract/errors.ts';
import type { RemoteStorage as RemoteStorageInterface } from '../contract/storage.ts';
import type { WorkerLike } from './environment.ts';
import type { LeaderFinders } from './leader-finders.ts';
import { RemoteStorage } from './remote-storage.ts';
import { Session } from './session.ts';

/** The directory of handles that name none. */
export const DEFAULT_DIRECTORY = 'ctx-storage';

/** Options of `openStorage`, addresses made absolute. */
export interface ResolvedOptions {
  readonly directory: string;
  readonly worker: WorkerLike | null;
  readonly workerUrl: string | null;
  readonly wasmUrl: string | null;
}

export class StorageOpener {
  readonly #finders: LeaderFinders;
  readonly #spawn: (url: string | null) => WorkerLike;

  constructor(finders: LeaderFinders, spawn: (url: string | null) => WorkerLike) {
    this.#finders = finders;
    this.#spawn = spawn;
  }

  /** A handle on the object of this name. @throws as `openStorage` */
  async open(name: unknown, options: ResolvedOptions): Promise<RemoteStorageInterface> {
    if (typeof name !== 'string') {
      throw storageError(
        'INVALID_ARGUMENT',
        `openStorage: a name is a string, not ${typeof name}.`,
      );
    }
    const finder = this.#finders.finderFor({
      ...options,
      operation: 'openStorage',
      spawn: () => this.#spawn(options.workerUrl),
    });
    const session = new Session(name, finder);
    await session.open();
    return new RemoteStorage(session, this.#finders.environment);
  }
}
