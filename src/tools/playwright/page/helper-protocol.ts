// What a test's process asks of its helper page, and the answers: values in the wire format, as base64, because
// they pass through Playwright's own protocol as text.
//
// Knows neither side.

import type { WireError } from '../../rpc/errors-on-wire.ts';
import { deserialize } from '../../serializer/decode.ts';
import { serialize } from '../../serializer/encode.ts';

/** Where the page and its scripts are served, on the origin of the app. */
export const HELPER_PATH = '/.ctx-storage-test/';

/** The page's files by their paths below that. */
export const HELPER_FILES = {
  page: 'helper.html',
  script: 'helper.js',
  worker: 'unhosted-worker.js',
  wasm: 'sqlite3.wasm',
} as const;

/** The function of the page that answers. */
export const HELPER_FUNCTION = 'ctxStorageHelper';

/** Which directory of the origin, and what the app makes of it. */
export interface DirectoryFacts {
  readonly directory: string;
  readonly medium: 'opfs' | 'indexeddb' | null;
  /** First part of the unique keys, until the app's worker tells them. */
  readonly scriptName: string;
  /** By name of the class: those that are not made from the name. */
  readonly uniqueKeys: Readonly<Record<string, string>>;
}

/** An object by name or id. */
export interface ObjectName {
  /** Null: an object of `openStorage`. */
  readonly className: string | null;
  readonly name?: string;
  readonly id?: string;
}

/** How long a request waits, and for what. */
export type Need =
  /** Nothing: whoever leads, or the helper's own worker. */
  | 'storage'
  /** What is read was stored, or a worker of the app runs. */
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
  | { readonly op: 'runAlarm' | 'evict' | 'delete'; readonly object: ObjectName }
  | { readonly op: 'list'; readonly className: string }
  | { readonly op: 'classNames' | 'verify' | 'storageIds' }
  | { readonly op: 'leaders'; readonly storages: DirectoryFacts }
  | { readonly op: 'now' | 'runNextAlarm' | 'resume' }
  | { readonly op: 'set'; readonly timeMs: number }
  | { readonly op: 'advance'; readonly durationMs: number }
);

/** The names of the app's workers that lead, in order: that of its classes, that of `openStorage`. */
export type LeaderNames = readonly string[];

/** An object that exists, as data. */
export interface ListedByHelper {
  readonly className: string;
  readonly id: string;
  readonly name?: string;
  readonly sizeBytes: number;
  readonly nextAlarm: number | null;
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
