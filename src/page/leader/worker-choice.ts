// Checks the arguments with which a caller of `connect` or `openStorage` chooses a worker for a directory, and compares
// the choices of two callers.
//
// Invariant: a wrong argument is refused with INVALID_ARGUMENT, whose message shows the right form, before anything is
// started. It is not asserted, because the argument is the caller's.

import { DEFAULT_DIRECTORY, OBJECTS_DIRECTORY } from '../../shared/contract/directory.ts';
import { storageError } from '../../shared/contract/errors.ts';
import { checkHistoryLimits, type HistoryLimits } from '../../shared/contract/history-limits.ts';
import { STORAGE_MEDIA, type StorageMedium } from '../../shared/contract/medium.ts';
import { checkOpenLimits, type OpenLimits } from '../../shared/contract/open-limits.ts';
import type { WorkerLike, WorkerSource } from './environment.ts';

/** The options of a caller that concern the worker; null for each option that the caller did not give. */
export interface WorkerChoice {
  /** The user's call, for error messages. */
  readonly operation: string;
  readonly directory: string;
  /** A worker that the caller started. */
  readonly worker: WorkerLike | null;
  /** The caller's function that starts the worker. */
  readonly start: (() => WorkerLike) | null;
  /** Calls the caller's function `start`, or returns the worker of a call that was made ahead. */
  readonly startBy: StartBy;
  readonly workerUrl: string | null;
  readonly wasmUrl: string | null;
  readonly lateUrl: string | null;
  readonly medium: StorageMedium | null;
  /** How much history objects keep while this page's worker leads. */
  readonly history: HistoryLimits | null;
  readonly limits: OpenLimits | null;
  /** Starts the worker if the caller gave neither a worker nor a function. */
  readonly spawn: () => WorkerLike;
}

type StartBy = (start: () => WorkerLike) => WorkerLike;

/** The page's functions for the checks. */
export interface ChoiceEnvironment {
  /** Resolves an address against the page's. @throws TypeError if the text is not an address */
  absoluteUrl(url: string | URL): string;
}

interface StorageEnvironment extends ChoiceEnvironment {
  /** Starts the worker at the address; null starts the package's own worker. */
  startWorker(url: string | null): WorkerLike;
}

interface ConnectEnvironment extends ChoiceEnvironment {
  startBy(start: () => WorkerLike): WorkerLike;
}

/** Returns the choice of `connect(worker, options)`. @throws INVALID_ARGUMENT */
export function choiceOfConnect(
  worker: unknown,
  given: unknown,
  { absoluteUrl, startBy }: ConnectEnvironment,
): WorkerChoice {
  const operation = 'connect';
  const isFunction = typeof worker === 'function';
  if (!isFunction && !isWorker(worker)) {
    throw invalidArgument(
      operation,
      `takes a function that starts the worker, or a Worker, not ${nameOf(worker)}. ${HOW_TO_START}`,
    );
  }
  const options = optionsOf(operation, given);
  return {
    operation,
    directory: directoryOf(operation, options.directory, OBJECTS_DIRECTORY),
    worker: isFunction ? null : worker,
    start: isFunction ? (worker as () => WorkerLike) : null,
    startBy,
    workerUrl: null,
    wasmUrl: addressOf(operation, 'wasmUrl', options.wasmUrl, absoluteUrl),
    lateUrl: addressOf(operation, 'lateUrl', options.lateUrl, absoluteUrl),
    medium: mediumOf(operation, options.medium),
    history: null, // The app's worker decides the history and its limits.
    limits: null,
    spawn: NO_SPAWN,
  };
}

/** Returns the choice of `openStorage(name, options)`. @throws INVALID_ARGUMENT */
export function choiceOfStorage(
  given: unknown,
  { absoluteUrl, startWorker }: StorageEnvironment,
): WorkerChoice {
  const operation = 'openStorage';
  const options = optionsOf(operation, given);
  const { worker = null } = options;
  if (worker !== null && !isWorker(worker)) {
    throw invalidArgument(
      operation,
      `the option worker is a Worker that runs this package's worker.js, not ${nameOf(worker)}. Omit ` +
        'it, and the package starts its own.',
    );
  }
  const workerUrl = addressOf(operation, 'workerUrl', options.workerUrl, absoluteUrl);
  return {
    operation,
    directory: directoryOf(operation, options.directory, DEFAULT_DIRECTORY),
    worker,
    start: null,
    startBy: (start) => start(),
    workerUrl,
    wasmUrl: addressOf(operation, 'wasmUrl', options.wasmUrl, absoluteUrl),
    lateUrl: addressOf(operation, 'lateUrl', options.lateUrl, absoluteUrl),
    medium: mediumOf(operation, options.medium),
    history: options.history === undefined ? null : checkHistoryLimits(operation, options.history),
    limits: options.limits === undefined ? null : checkOpenLimits(operation, options.limits),
    spawn: () => startWorker(workerUrl),
  };
}

/** Checks and returns an object's name. @throws INVALID_ARGUMENT */
export function checkStorageName(name: unknown): string {
  if (typeof name === 'string') return name;
  throw invalidArgument(
    'openStorage',
    `a name is a string, not ${nameOf(name)}; write openStorage('notes'), or String(…) of it.`,
  );
}

/** Completes the choice of a later caller, which may omit options that an earlier caller gave. */
export function completeChoice(choice: WorkerChoice, known: WorkerChoice): WorkerChoice {
  const { operation, worker, workerUrl, start } = choice;
  const wasmUrl = choice.wasmUrl ?? known.wasmUrl;
  const lateUrl = choice.lateUrl ?? known.lateUrl;
  const medium = choice.medium ?? known.medium;
  const history = choice.history ?? known.history;
  const limits = choice.limits ?? known.limits;
  const choosesWorker = worker !== null || workerUrl !== null || start !== null;
  const places = { wasmUrl, lateUrl, medium };
  return { ...(choosesWorker ? choice : known), operation, ...places, history, limits };
}

/** Returns the difference between two choices, in words; null if they are equal. */
export function difference(choice: WorkerChoice, known: WorkerChoice): string | null {
  if (!isSameFunction(choice.start, known.start)) return 'the function that starts the worker';
  for (const option of ['worker', 'workerUrl', 'wasmUrl', 'lateUrl', 'medium'] as const) {
    if (choice[option] !== known[option]) return option;
  }
  for (const bound of ['days', 'bytes', 'thin'] as const) {
    if (choice.history?.[bound] !== known.history?.[bound]) return `history.${bound}`;
  }
  if (choice.limits?.importMs !== known.limits?.importMs) return 'limits.importMs';
  return null;
}

// Code that runs again makes its functions again, such as a function written in the call, so functions of equal text
// count as the same. Texts of bound functions are all equal, so these are compared by identity.
function isSameFunction(one: WorkerChoice['start'], other: WorkerChoice['start']): boolean {
  if (one === null || other === null || one === other) return one === other;
  const text = String(one);
  return text === String(other) && !text.includes('[native code]');
}

export function sourceOf({ worker, start, startBy, spawn, operation }: WorkerChoice): WorkerSource {
  if (worker !== null) return { kind: 'given', worker };
  if (start === null) return { kind: 'spawned', spawn };
  return { kind: 'spawned', spawn: () => mustBeWorker(operation, startBy(start)) };
}

function mustBeWorker(operation: string, started: unknown): WorkerLike {
  if (isWorker(started)) return started;
  throw invalidArgument(
    operation,
    `the function returned ${nameOf(started)}, not a Worker. ${HOW_TO_START}`,
  );
}

const HOW_TO_START =
  "Write () => new Worker(new URL('./objects.worker.js', import.meta.url), { type: 'module' }).";

// This is never called, because a worker that was given is not started again.
const NO_SPAWN = () => {
  throw new Error('no worker was given');
};

function isWorker(value: unknown): value is WorkerLike {
  if (typeof value !== 'object' || value === null) return false;
  const { postMessage, addEventListener } = value as Partial<WorkerLike>;
  return typeof postMessage === 'function' && typeof addEventListener === 'function';
}

function optionsOf(operation: string, options: unknown): Record<string, unknown> {
  if (options === undefined) return {};
  if (typeof options === 'object' && options !== null) return options as Record<string, unknown>;
  throw invalidArgument(
    operation,
    `options are an object, such as { directory: 'app' }, not ${nameOf(options)}.`,
  );
}

function directoryOf(operation: string, directory: unknown, otherwise: string): string {
  if (directory === undefined) return otherwise;
  if (typeof directory === 'string' && isFolderName(directory)) return directory;
  throw invalidArgument(
    operation,
    'a directory is the name of one folder, without slashes, control characters and halves of surrogate pairs, ' +
      `such as 'app', not ${nameOf(directory)}.`,
  );
}

/**
 * True if a browser can use the name for a folder. Browsers cut a name at NUL, and replace all lone surrogates by one
 * character, so two directories would be one folder.
 */
function isFolderName(name: string): boolean {
  return !/^(?:|\.|\.\.)$/.test(name) && !/[/\\\p{Cc}\p{Cs}]/u.test(name);
}

function mediumOf(operation: string, medium: unknown): StorageMedium | null {
  if (medium === undefined) return null;
  const known = STORAGE_MEDIA.find((one) => one === medium);
  if (known !== undefined) return known;
  const names = STORAGE_MEDIA.map((one) => `'${one}'`).join(', ');
  throw invalidArgument(
    operation,
    `a medium is one of ${names}, not ${nameOf(medium)}. Omit it to use the best one.`,
  );
}

function addressOf(
  operation: string,
  option: string,
  address: unknown,
  absoluteUrl: ChoiceEnvironment['absoluteUrl'],
): string | null {
  if (address === undefined) return null;
  if (typeof address === 'string' || address instanceof URL) {
    try {
      return absoluteUrl(address);
    } catch {
      // The text is not an address; the error is thrown below.
    }
  }
  throw invalidArgument(
    operation,
    `${option} is an address, such as '/assets/file' or a URL, not ${nameOf(address)}.`,
  );
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object') return `the ${typeof value} ${String(value)}`;
  return `an object of class ${value.constructor?.name ?? 'Object'}`;
}

function invalidArgument(operation: string, fact: string): Error {
  return storageError('INVALID_ARGUMENT', `${operation}: ${fact}`);
}
