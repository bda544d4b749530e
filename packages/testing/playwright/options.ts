// Checks the option `objectsOptions`, by which a suite describes its app.

import { storageError } from '@ctx-storage/core/errors';
import type { DirectoryFacts } from './page/helper-protocol.ts';

/** Facts about the app that the harness cannot find out. */
export interface ObjectsOptions {
  /** The directory that the app passes to `connect`. @default 'ctx-storage-objects' */
  readonly directory?: string;
  /** The directory that the app passes to `openStorage`. @default 'ctx-storage' */
  readonly storageDirectory?: string;
  /** The app's origin. @default that of `baseURL`, else that of the first open page */
  readonly origin?: string;
  /**
   * The name of the script, from which ids are derived: `name` in `wrangler.jsonc`, `scriptName` of `serve`. It is used
   * for seeds that are stored before the app runs; if the app's name differs, that is an error. @default 'worker'
   */
  readonly scriptName?: string;
  /** The unique keys of the classes that have a `uniqueKey` of their own, by class name. */
  readonly uniqueKeys?: Readonly<Record<string, string>>;
  /** The storage medium that the app asks for. @default the best one of the browser */
  readonly medium?: 'opfs' | 'indexeddb';
  /** How long a call waits for the app's worker, in milliseconds. @default 5,000 */
  readonly timeout?: number;
}

/** The options with all defaults filled in. */
export interface HarnessOptions {
  readonly objects: DirectoryFacts;
  readonly storages: DirectoryFacts;
  readonly origin: string | null;
  readonly waitMs: number;
}

const KNOWN_OPTIONS: ReadonlySet<string> = new Set([
  'directory',
  'storageDirectory',
  'origin',
  'scriptName',
  'uniqueKeys',
  'medium',
  'timeout',
]);

/** Checks the options and fills in the defaults. @throws INVALID_ARGUMENT */
export function harnessOptions(given: ObjectsOptions): HarnessOptions {
  const wrong = Object.keys(given).find((name) => !KNOWN_OPTIONS.has(name));
  if (wrong !== undefined) {
    throw invalidOptions(`has no option "${wrong}"; there are: ${[...KNOWN_OPTIONS].join(', ')}.`);
  }
  const {
    directory = 'ctx-storage-objects',
    storageDirectory = 'ctx-storage',
    scriptName = 'worker',
    uniqueKeys = {},
    medium = null,
    origin = null,
    timeout = 5000,
  } = given;
  if (!(timeout > 0)) throw invalidOptions(`timeout is a number of milliseconds, not ${timeout}.`);
  const facts = { medium, scriptName, uniqueKeys };
  return {
    objects: { ...facts, directory },
    storages: { ...facts, directory: storageDirectory },
    origin: origin === null ? null : originOf(origin),
    waitMs: timeout,
  };
}

function originOf(address: string): string {
  if (URL.canParse(address) && /^https?:/.test(address)) return new URL(address).origin;
  throw invalidOptions(`origin is an address such as 'http://localhost:5173', not "${address}".`);
}

function invalidOptions(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `objectsOptions: ${fact}`);
}
