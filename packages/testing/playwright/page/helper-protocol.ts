// The requests of a test's process to its helper page, and the answers: values in the wire format, as base64,
// because they pass through Playwright's own protocol as text.
//
// Knows neither side.

import { deserialize, serialize } from '@ctx-storage/core/values';
import type { WireError } from '@ctx-storage/core/wire';

/** Where the page and its scripts are served, on the origin of the app. */
export const HELPER_PATH = '/.ctx-storage-test/';

/** The page's files by their paths below that. */
export const HELPER_FILES = {
  page: 'helper.html',
  script: 'helper.js',
  worker: 'unhosted-worker.js',
  wasm: 'sqlite3.wasm',
  /** Beside the worker, which loads it by this name. */
  late: 'late.js',
} as const;

/** The function of the page that answers. */
export const HELPER_FUNCTION = 'ctxStorageHelper';

/** Which directory of the origin, and the app's settings for it. */
export interface DirectoryFacts {
  readonly directory: string;
  readonly medium: 'opfs' | 'indexeddb' | null;
  /** First part of the unique keys, until the app's worker tells them. */
  readonly scriptName: string;
  /** By name of the class: the keys that are not derived from the name. */
  readonly uniqueKeys: Readonly<Record<string, string>>;
}

/** An object by name or id. */
export interface ObjectName {
  /** Null: an object of `openStorage`. */
  readonly className: string | null;
  readonly name?: string;
  readonly id?: string;
  /** The name of a branch that it keeps: the branch is meant. */
  readonly branch?: string;
}

/** The condition for which a request waits. */
export type Need =
  /** Nothing: whoever leads, or the helper's own worker. */
  | 'storage'
  /** The object is stored, or a worker of the app runs. */
  | 'stored'
  /** A worker of the app runs. */
  | 'app';

export type HelperRequest = { readonly facts: DirectoryFacts; readonly waitMs: number } & (
  | {
      readonly op: 'storage';
      readonly object: ObjectName;
      readonly method: string;
      readonly parameters: readonly unknown[];
      readonly need: Need;
    }
  | {
      readonly op: 'sql';
      readonly object: ObjectName;
      readonly query: string;
      readonly bindings: readonly unknown[];
      readonly need: Need;
    }
  | {
      readonly op: 'call';
      readonly object: ObjectName;
      readonly method: string;
      readonly parameters: readonly unknown[];
    }
  | {
      readonly op: 'fork';
      readonly object: ObjectName;
      /** Names the branch among those of the object. */
      readonly name: string;
      /** Null: now. */
      readonly at: string | Date | null;
      readonly fetch: 'allow' | 'refuse';
    }
  | {
      readonly op: 'diff';
      readonly object: ObjectName;
      readonly from: string | Date;
      /** Null: now. */
      readonly to: string | Date | null;
      readonly need: Need;
    }
  | { readonly op: 'runAlarm' | 'evict' | 'delete'; readonly object: ObjectName }
  | { readonly op: 'list'; readonly className: string }
  | { readonly op: 'classNames' | 'verify' | 'storageIds' }
  | { readonly op: 'leaders'; readonly storages: DirectoryFacts }
  | { readonly op: 'now' | 'runNextAlarm' | 'resume' }
  | { readonly op: 'set'; readonly timeMs: number }
  | { readonly op: 'advance'; readonly durationMs: number }
);

/** The channel by which the helper page tells workers where time stands still. */
export const TIME_CHANNEL = 'ctx-storage-test/time';

/** Where time stands still; null: it does not. */
export interface HeldTime {
  readonly heldMs: number | null;
}

/** The names of the app's workers that lead, in order: that of its classes, that of `openStorage`. */
export type LeaderNames = readonly string[];

/** An object that exists, as data. */
export interface ListedByHelper {
  readonly className: string;
  readonly id: string;
  readonly name?: string;
  readonly sizeBytes: number;
  readonly nextAlarm: number | null;
  /** The names of the branches that it keeps. */
  readonly branches: readonly string[];
  /** Why it cannot be opened; its alarm is not known then. */
  readonly error: WireError | null;
}

export type HelperAnswer = { readonly ok: unknown } | { readonly error: WireError };

const CHUNK_BYTES = 0x8000;

/** @throws DOMException `DataCloneError` */
export function toText(value: unknown): string {
  const bytes = serialize(value);
  let binary = '';
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES));
  }
  return btoa(binary);
}

export function fromText(text: string): unknown {
  return deserialize(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
}
