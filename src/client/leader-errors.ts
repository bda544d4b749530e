// Why a page cannot use the worker that leads: its version, its medium, its silence.

import type { Build } from '../contract/deployment.ts';
import { storageError } from '../contract/errors.ts';
import type { StorageMedium } from '../contract/medium.ts';
import { OWN_VERSIONS, type Versions } from '../rpc/control.ts';

/** They speak no common version of the protocol. `versions`: of the worker that leads; `build`: what its app calls its deployment, if that is known. */
export function misfit(operation: string, versions: Versions, build: Build | null): Error {
  const isNewer = versions.oldest > OWN_VERSIONS.version;
  const leader =
    build === null ? 'the worker that leads' : `the worker that leads (build ${build})`;
  return storageError(
    'VERSION_MISMATCH',
    `${operation}: ${leader} speaks ${spoken(versions)} of the protocol, this page ` +
      `${spoken(OWN_VERSIONS)}. ${isNewer ? 'Reload this page' : 'Reload or close the other tabs'}; ` +
      'what is stored is kept.',
  );
}

function spoken({ version, oldest }: Versions): string {
  return version === oldest ? `version ${version}` : `versions ${oldest} to ${version}`;
}

/** The worker keeps the directory on another medium than the page asks for; null: any that keeps what is stored. */
export function otherMedium(
  operation: string,
  directory: string,
  wanted: StorageMedium | null,
  medium: StorageMedium,
): Error {
  return storageError(
    'MEDIUM_CONFLICT',
    `${operation}: another tab serves the directory "${directory}" from the medium "${medium}", and ` +
      `${wanted ?? 'one that keeps what is stored'} was asked for. Ask for the same medium in every tab, or ` +
      'name another directory.',
  );
}

/** The worker exists and does not answer. */
export function busy(operation: string, duration: string): Error {
  return storageError(
    'WORKER_BUSY',
    `${operation}: the worker that holds the files (this tab's or another's) did not ` +
      `answer ${duration}; a long query keeps it busy, or the browser has suspended it. Whether ` +
      'a write under way takes effect is not known. Try again later.',
  );
}

/** No leader was found in time. `isStanding`: the page's own worker runs this package's code. */
export function late(operation: string, waitMs: number, isStanding: boolean): Error {
  const waited = `within ${waitMs / 1000} s`;
  if (isStanding) return busy(operation, waited);
  return storageError(
    'WORKER_FAILED',
    `${operation}: the worker did not start ${waited}: its script still loads, or it never runs this ` +
      "package's code. The worker of connect() calls serve({ … }) of ctx-storage/worker.",
  );
}
