// The requests of a test's process to its helper page, and the answers. They are values in the wire format, as base64,
// because they pass through Playwright's own protocol as text.
//
// This module knows neither side.

import { deserialize, serialize } from '@ctx-storage/core/values';
import type { WireError } from '@ctx-storage/core/wire';

/** The path on the app's origin below which the page and its scripts are served. */
export const HELPER_PATH = '/.ctx-storage-test/';

/** The paths of the page's files below that path. */
export const HELPER_FILES = {
  page: 'helper.html',
  script: 'helper.js',
  worker: 'unhosted-worker.js',
  wasm: 'sqlite3.wasm',
  /** This file is beside the worker, which loads it by this name. */
  late: 'late.js',
} as const;

/** The function of the page that answers requests. */
export const HELPER_FUNCTION = 'ctxStorageHelper';

/** Names a directory of the origin, and the app's settings for it. */
export interface DirectoryFacts {
  readonly directory: string;
  readonly medium: 'opfs' | 'indexeddb' | null;
  /** The first part of the unique keys, until the app's worker reports them. */
  readonly scriptName: string;
  /** The unique keys that are not derived from the class name, by class name. */
  readonly uniqueKeys: Readonly<Record<string, string>>;
}

/** Names an object by its name or id. */
export interface ObjectName {
  /** The name of its class; null for an object of `openStorage`. */
  readonly className: string | null;
  readonly name?: string;
  readonly id?: string;
  /** The name of a kept branch of the object; absent for the object itself. */
  readonly branch?: string;
}

/** The condition for which a request waits before it is performed. */
export type Need =
  /** The request waits for nothing: the leader performs it, or else the helper's own worker. */
  | 'storage'
  /** The request waits until the object is stored, or a worker of the app runs. */
  | 'stored'
  /** The request waits until a worker of the app runs. */
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
      /** The name of the branch, unique among the branches of the object. */
      readonly name: string;
      /** The moment whose data the branch has; null means now. */
      readonly at: string | Date | null;
      readonly fetch: 'allow' | 'refuse';
    }
  | {
      readonly op: 'diff';
      readonly object: ObjectName;
      readonly from: string | Date;
      /** The later moment; null means now. */
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

/** The channel by which the helper page tells workers at which time the clock stands still. */
export const TIME_CHANNEL = 'ctx-storage-test/time';

/** The time at which the clock stands still; null if it runs. */
export interface HeldTime {
  readonly heldMs: number | null;
}

/** The names of the app's workers that lead: first that of its classes, then that of `openStorage`. */
export type LeaderNames = readonly string[];

/** An existing object, as the helper lists it. */
export interface ListedByHelper {
  readonly className: string;
  readonly id: string;
  readonly name?: string;
  readonly sizeBytes: number;
  readonly nextAlarm: number | null;
  /** The names of the branches that the object keeps. */
  readonly branches: readonly string[];
  /** The error with which the object cannot be opened, in which case its alarm is not known; otherwise null. */
  readonly error: WireError | null;
}

export type HelperAnswer = { readonly ok: unknown } | { readonly error: WireError };

const CHUNK_BYTES = 0x8000;

/** Encodes a value as text. @throws DOMException `DataCloneError` */
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
