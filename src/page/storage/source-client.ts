// Implements `connectSource`, which runs classes whose code the page gives as text, and replaces the code later.
//
// Each version is loaded in a new worker, while the old version still runs. Only after it has loaded does it take over, as a
// newer deployment does. If its code has a mistake, the old version keeps running.
//
// Invariant: a worker whose source does not load in time is terminated.
// No assertion keeps this: it is about time, and the source is the app's.

import { storageError } from '../../shared/contract/errors.ts';
import {
  type CheckedSource,
  type ConsoleEntry,
  checkSource,
} from '../../shared/contract/source.ts';
import { sourceBuild } from '../../shared/contract/source-build.ts';
import type {
  ConsoleMessage,
  SourceAnswer,
  SourceMessage,
  SourceOptions,
} from '../../shared/wire/control.ts';
import { fromWire } from '../../shared/wire/errors-on-wire.ts';
import type { PageEnvironment, WorkerLike } from '../leader/environment.ts';
import type { LeaderFinders } from '../leader/leader-finders.ts';
import type { WorkerChoice } from '../leader/worker-choice.ts';
import { connectClasses, type RemoteObjects } from './connect.ts';

/** The longest time that source code may take to load, by default. */
export const SOURCE_LOAD_MS = 10_000;

const OPERATION = 'connectSource';

/** The options of `connectSource` that `connect` does not have. */
export interface SourceClientOptions extends SourceOptions {
  readonly main?: string;
  readonly loadMs?: number;
  readonly onConsole?: (entry: ConsoleEntry) => void;
}

/** The functions of the page that the client needs. */
export interface SourceEnvironment extends Pick<PageEnvironment, 'now' | 'after'> {
  /** Starts a worker that waits for source. */
  spawn(): WorkerLike;
  digest(text: string): Promise<string>;
}

/** A connection to classes from source. */
export interface SourceObjects<Classes extends object> extends RemoteObjects<Classes> {
  /** The class names of the current version. */
  readonly classes: readonly string[];
  /**
   * Runs another version of the code in place of this one. The new version is loaded first; then the old version ends
   * its events in order, and the objects continue with the new code and their stored data. Calls made meanwhile wait,
   * sockets are closed, stubs and live values stay valid. `env` has the new version's classes. Several calls of
   * `replace` run one after the other.
   *
   * @throws StorageError INVALID_ARGUMENT, SOURCE_INVALID, SOURCE_TIMEOUT, WORKER_FAILED; the old version keeps
   *   running
   */
  replace(files: CheckedSource['files']): Promise<void>;
  /**
   * Ends code that does not end by itself: the worker of this page is terminated, with all objects in it. Calls under
   * way reject with CONNECTION_CLOSED; the next one starts the code again, and finds the stored data.
   */
  stop(): void;
}

/** A version of the code, with the worker that has loaded it. */
interface Version {
  readonly message: SourceMessage;
  readonly classes: readonly string[];
  readonly worker: WorkerLike;
}

export class SourceClient {
  readonly #finders: LeaderFinders;
  readonly #environment: SourceEnvironment;
  readonly #options: SourceClientOptions;

  constructor(
    finders: LeaderFinders,
    environment: SourceEnvironment,
    options: SourceClientOptions,
  ) {
    this.#finders = finders;
    this.#environment = environment;
    this.#options = options;
  }

  /** `choice` opens the directory with the worker that `start` starts. */
  async connect<Classes extends object>(
    files: unknown,
    choose: (start: () => WorkerLike) => WorkerChoice,
  ): Promise<SourceObjects<Classes>> {
    let version = await this.#load(files);
    const restartable = (first: Version) => {
      let worker: WorkerLike | null = first.worker;
      // The function is bound, because unbound functions with equal texts would count as the same worker.
      return function start(this: SourceClient) {
        const given = worker ?? this.#start(first.message);
        worker = null;
        return given;
      }.bind(this);
    };
    const choice = choose(restartable(version));
    const finder = this.#finderOf(choice, version);
    const { objects, readClasses } = await connectClasses<Classes>(this.#finders, choice);
    let replacing: Promise<unknown> = Promise.resolve();
    const replace = async (next: unknown) => {
      const loaded = await this.#load(next);
      if (digestOf(loaded) === digestOf(version)) {
        loaded.worker.terminate?.();
        return;
      }
      await finder.succeed({ kind: 'spawned', spawn: restartable(loaded) });
      version = loaded;
      await readClasses();
    };
    const added = {
      get classes() {
        return version.classes;
      },
      replace(next: unknown) {
        const done = replacing.then(() => replace(next));
        replacing = done.catch(() => {});
        return done;
      },
      stop: () => finder.restart(),
    };
    return Object.defineProperties(objects, Object.getOwnPropertyDescriptors(added)) as never;
  }

  #finderOf(choice: WorkerChoice, { worker }: Version) {
    try {
      return this.#finders.finderFor(choice);
    } catch (error) {
      worker.terminate?.();
      throw error;
    }
  }

  /** Loads the source in a worker of its own. @throws SOURCE_INVALID, SOURCE_TIMEOUT, WORKER_FAILED */
  async #load(files: unknown): Promise<Version> {
    const { main, loadMs = SOURCE_LOAD_MS, onConsole, ...options } = this.#options;
    const source = checkSource(OPERATION, files, main);
    const { now, after, digest } = this.#environment;
    const givenMs = now();
    const message: SourceMessage = {
      type: 'source',
      ...source,
      options,
      build: sourceBuild(givenMs, await digest(JSON.stringify([source, options]))),
      tellsConsole: onConsole !== undefined,
    };
    return new Promise((loaded, failed) => {
      const worker = this.#start(message);
      const fail = (error: Error) => {
        cancel();
        worker.terminate?.();
        failed(error);
      };
      const cancel = after(loadMs, () => fail(timeout(source.main, loadMs)));
      worker.addEventListener('message', (event) => {
        const answer = (event as MessageEvent<SourceAnswer>).data;
        if (answer?.type === 'source-failed') fail(fromWire(answer.error) as Error);
        if (answer?.type !== 'source-loaded') return;
        cancel();
        loaded({ message, classes: answer.classes, worker });
      });
      worker.addEventListener('error', (event) => {
        const { message: fact } = event as Partial<ErrorEvent>;
        fail(unloadable(fact));
      });
    });
  }

  #start(message: SourceMessage): WorkerLike {
    const worker = this.#spawn();
    const { onConsole } = this.#options;
    if (onConsole !== undefined) {
      worker.addEventListener('message', (event) => {
        const told = (event as MessageEvent<ConsoleMessage | null>).data;
        if (told?.type === 'console') onConsole(told.entry);
      });
    }
    try {
      worker.postMessage(message);
    } catch (cause) {
      worker.terminate?.();
      const fact = `${OPERATION}: the options cannot be sent to a worker: ${String(cause)}`;
      throw storageError('INVALID_ARGUMENT', fact, { cause });
    }
    return worker;
  }

  #spawn(): WorkerLike {
    try {
      return this.#environment.spawn();
    } catch (cause) {
      throw unloadable(cause instanceof Error ? cause.message : String(cause), { cause });
    }
  }
}

const digestOf = ({ message }: Version) => message.build.split('.')[1];

function timeout(main: string, loadMs: number): Error {
  return storageError(
    'SOURCE_TIMEOUT',
    `${OPERATION}: ${main} was not loaded within ${loadMs / 1000} s; its worker was ended. Code outside of ` +
      'classes must end: look for a loop, or an await of something that never happens.',
  );
}

function unloadable(fact: string | undefined, options?: ErrorOptions): Error {
  return storageError(
    'WORKER_FAILED',
    `${OPERATION}: the worker that loads source could not be started${fact ? `: ${fact}` : ''}. Serve ` +
      "source-worker.js beside this package's files; a Content-Security-Policy allows it (worker-src).",
    options,
  );
}
