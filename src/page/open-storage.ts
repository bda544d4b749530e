// Opens objects on a page. Handles of one directory share the page's worker and its connection.

import { storageError } from '../contract/errors.ts';
import type { RemoteStorage as RemoteStorageInterface } from '../contract/storage.ts';
import type { PageEnvironment, WorkerLike, WorkerSource } from './environment.ts';
import { Leader } from './leader.ts';
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
  readonly #environment: PageEnvironment;
  readonly #spawn: (url: string | null) => WorkerLike;
  readonly #leaders = new Map<
    string,
    { readonly leader: Leader; readonly options: ResolvedOptions }
  >();

  constructor(environment: PageEnvironment, spawn: (url: string | null) => WorkerLike) {
    this.#environment = environment;
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
    const session = new Session(name, this.#leaderFor(options));
    await session.open();
    return new RemoteStorage(session, this.#environment.after);
  }

  #leaderFor(options: ResolvedOptions): Leader {
    const known = this.#leaders.get(options.directory);
    if (known !== undefined) {
      checkSame(known.options, options);
      return known.leader;
    }
    const { directory, wasmUrl } = options;
    const leader = new Leader(
      { directory, wasmUrl, source: this.#source(options) },
      this.#environment,
    );
    this.#leaders.set(directory, { leader, options });
    return leader;
  }

  #source({ worker, workerUrl }: ResolvedOptions): WorkerSource {
    if (worker !== null) return { kind: 'given', worker };
    return { kind: 'spawned', spawn: () => this.#spawn(workerUrl) };
  }
}

// A later handle may leave the worker's options out, or repeat them. Others would be ignored.
function checkSame(known: ResolvedOptions, given: ResolvedOptions): void {
  for (const option of ['worker', 'workerUrl', 'wasmUrl'] as const) {
    if (given[option] !== null && given[option] !== known[option]) {
      throw storageError(
        'INVALID_ARGUMENT',
        `openStorage: ${option} differs from that of the handle that was opened first on directory ` +
          `"${given.directory}"; one worker of a page serves a directory.`,
      );
    }
  }
}
