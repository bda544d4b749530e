// A page's search for a leader: its parameters, how long it waits, and why the page cannot use the worker that leads
// (its version, its medium, its silence).

import type { Build } from '../../shared/contract/deployment.ts';
import { storageError } from '../../shared/contract/errors.ts';
import { HANDLE_WAIT_MS } from '../../shared/contract/limits.ts';
import type { StorageMedium } from '../../shared/contract/medium.ts';
import { OWN_VERSIONS, type StartMessage, type Versions } from '../../shared/wire/control.ts';
import type { WorkerSource } from './environment.ts';

/** The parameters of a search: which leader the page searches for, and which worker of its own it starts. */
export interface LeaderOptions
  extends Pick<
    StartMessage,
    'directory' | 'medium' | 'wasmUrl' | 'lateUrl' | 'history' | 'limits'
  > {
  /** The user's call, for error messages. */
  readonly operation: string;
  readonly source: WorkerSource;
}

/** How long answers of a worker that has stepped down may come after the page learns of the next leader. */
export const LAST_ANSWERS_MS = 1000;

/**
 * How long a page searches for a leader: the time for which a dying worker may keep the files, plus
 * the time to load the worker over a slow network.
 */
export const CONNECT_WAIT_MS = HANDLE_WAIT_MS + 24_000;

/**
 * How long another tab may take to announce that it leads, once this page's own worker has failed.
 */
export const OTHERS_WAIT_MS = 1000;

/** How long a worker of the page may take until it serves. The search then has time left to ask the other tabs. */
export const START_WAIT_MS = CONNECT_WAIT_MS - OTHERS_WAIT_MS;

/** How long a following page is without a worker after its own has ended or did not start. */
export const RESTART_MS = 30_000;

/** How long the unfinished calls of a connection that is being closed may take: a method may never return. */
export const FINISH_MS = 30_000;

/**
 * How long a page follows another tab's leader before it ends its own worker. A page that is closed sooner, as most
 * are, need not start the worker again.
 */
export const REST_MS = 3000;

/**
 * How long a page without a worker searches for a leader before it starts its own worker: another worker may be about
 * to lead.
 */
export const WAKE_MS = 1000;

/** How long a page searches for a leader that was silent last time. */
export const SILENT_WAIT_MS = 1000;

/**
 * How long a page's worker may take to step down for the page's next one: running events end within 3 s, and the last
 * flush within 10 s.
 */
export const SUCCESSION_WAIT_MS = 15_000;

/**
 * Makes the error for a page and a worker without a common version of the protocol. `versions` are those of the leading
 * worker; `build` is its app's name for the deployment, if known.
 */
export function misfit(operation: string, versions: Versions, build: Build | null): Error {
  const isNewer = versions.oldest > OWN_VERSIONS.version;
  const leader =
    build === null ? 'the worker that leads' : `the worker that leads (build ${build})`;
  return storageError(
    'VERSION_MISMATCH',
    `${operation}: ${leader} speaks ${versionsText(versions)} of the protocol, this page ` +
      `${versionsText(OWN_VERSIONS)}. ${isNewer ? 'Reload this page' : 'Reload or close the other tabs'}; ` +
      'stored data is kept.',
  );
}

function versionsText({ version, oldest }: Versions): string {
  return version === oldest ? `version ${version}` : `versions ${oldest} to ${version}`;
}

/**
 * Makes the error for a worker that keeps the directory on another medium than the page asks for; null asks for any
 * medium that keeps data.
 */
export function otherMedium(
  operation: string,
  directory: string,
  wanted: StorageMedium | null,
  medium: StorageMedium,
): Error {
  return storageError(
    'MEDIUM_CONFLICT',
    `${operation}: another tab serves the directory "${directory}" from the medium "${medium}", and ` +
      `${wanted ?? 'a medium that keeps data'} was asked for. Ask for the same medium in every tab, or ` +
      'name another directory.',
  );
}

/** Makes the error for a worker that exists and does not answer, and has not received the call. */
export function busy(operation: string, duration: string): Error {
  return storageError(
    'WORKER_BUSY',
    `${operation}: the worker that holds the files (this tab's or another's) did not ` +
      `answer ${duration}; a long query or method keeps it busy, or the browser has suspended it. ` +
      'The call was not made, and will not be: repeat it later.',
  );
}

/**
 * Makes the error for a function that the browser refuses, such as the functions that tabs of an origin share. Returns
 * any other error unchanged.
 */
export function deniedFunctionError(operation: string, cause: unknown): unknown {
  if (!(cause instanceof DOMException) || cause.name !== 'SecurityError') return cause;
  return storageError(
    'OPFS_UNAVAILABLE',
    `${operation}: the browser refuses this page a function that the storage needs: ${cause.message} If site data is ` +
      'blocked, allow it and reload the page; a sandboxed frame needs allow-same-origin.',
    { cause },
  );
}

/**
 * Makes the error for a search that found no leader in time. `hasStarted`: the page's own worker runs this package's
 * code.
 */
export function late(operation: string, waitMs: number, hasStarted: boolean): Error {
  const waited = `within ${waitMs / 1000} s`;
  if (hasStarted) return busy(operation, waited);
  return storageError(
    'WORKER_FAILED',
    `${operation}: the worker did not start ${waited}: its script still loads, or it has run without this ` +
      "package's code. The worker of connect() imports ctx-storage/worker, and calls its serve({ … }).",
  );
}
