// What a page may ask of objects, and what either side of a connection may ask of the things the
// other has passed by reference. All of it is plain data and bytes; nothing is transferred, because
// a connection to another tab's worker is a BroadcastChannel.
//
// A message's payload is a value as `serializeWith` writes it. A thing passed by reference (a
// function, an RpcTarget, a stream, a signal) has a number at the side it came from, which the other
// side names when it asks, and releases when it needs it no more.

import type { CallFlag } from '../contract/call-flag.ts';
import type { Outcome } from './errors-on-wire.ts';

/** A value with what it refers to, as bytes. */
export type Payload = Uint8Array;

/** The number of a thing passed by reference, among those of the side it came from. */
export type ReferenceNumber = number;

/** An object as data. */
export interface WireAddress {
  /** Null: an object of `openStorage`, which has no class. */
  readonly className: string | null;
  /** 64 hexadecimal digits. */
  readonly id: string;
  readonly name?: string;
  readonly jurisdiction?: string;
}

export type ObjectRequest = ObjectOperation & {
  /** What the stub was told by its first answer. */
  readonly incarnation?: number;
  /** Present if the call can be cancelled. */
  readonly flag?: CallFlag;
};

export type ObjectOperation =
  /** The path leads to the method; the payload is the array of arguments. */
  | { readonly op: 'call'; readonly path: readonly string[]; readonly payload: Payload }
  | { readonly op: 'get'; readonly path: readonly string[] }
  /** The payload is the request; so is the answer's the response. */
  | { readonly op: 'fetch'; readonly payload: Payload }
  /** Answers with the reason, as an error, when the instance ends. */
  | { readonly op: 'watch' };

/** The answer to a call of an object. */
export type ObjectOutcome = Outcome<Payload> & {
  /** Which instance of the object was met. */
  readonly incarnation?: number;
  /** The instance that the stub met was reset; the error is the reason. */
  readonly isBroken?: boolean;
  /** The error is the caller's own, not one of the object. */
  readonly isOwn?: boolean;
};

export type ReferenceRequest =
  /** Calls the method that the path leads to; with an empty path, the function itself. */
  | { readonly op: 'call'; readonly path: readonly string[]; readonly payload: Payload }
  | { readonly op: 'get'; readonly path: readonly string[] }
  /** The next chunk of a readable stream; null at its end. */
  | { readonly op: 'pull' }
  | { readonly op: 'cancel'; readonly payload: Payload }
  | { readonly op: 'write'; readonly payload: Payload }
  | { readonly op: 'close' }
  | { readonly op: 'abort'; readonly payload: Payload }
  /** Answers with the reason when the signal is aborted. */
  | { readonly op: 'wait' }
  /** Answers with the reason, as an error, when a function or target can be called no more. */
  | { readonly op: 'watch' };

/** What both sides show each other. No promise rejects while the connection stands. */
export interface ReferencePeer {
  ask(reference: ReferenceNumber, request: ReferenceRequest): Promise<Outcome<Payload | null>>;
  release(references: readonly ReferenceNumber[]): Promise<void>;
}

export type ManageRequest =
  /** The objects of a class after an id, at most `limit` of them. */
  | {
      readonly op: 'list';
      readonly className: string;
      readonly after: string | null;
      readonly limit: number;
    }
  | { readonly op: 'delete' | 'runAlarm' | 'evict'; readonly address: WireAddress }
  | { readonly op: 'now' | 'runNextAlarm' | 'resume' }
  | { readonly op: 'set'; readonly timeMs: number }
  | { readonly op: 'advance'; readonly durationMs: number };

/** What each returns. */
export interface ManageResults {
  list: { address: WireAddress; sizeBytes: number; nextAlarm: number | null }[];
  delete: null;
  /** True if an alarm was set. */
  runAlarm: boolean;
  evict: null;
  now: number;
  runNextAlarm: { address: WireAddress; dueMs: number } | null;
  resume: null;
  set: null;
  advance: null;
}

export interface ClassList {
  readonly classes: readonly { readonly name: string; readonly uniqueKey: string }[];
  /** Name in `env` to name of the class. */
  readonly bindings: readonly (readonly [binding: string, className: string])[];
}

/** What a worker that hosts classes shows to pages, beside references. */
export interface ObjectsPeer {
  classes(): Promise<Outcome<ClassList>>;
  call(address: WireAddress, request: ObjectRequest): Promise<ObjectOutcome>;
  /** Never a call of an object: lists, deletes, drives the clock. */
  manage(request: ManageRequest): Promise<Outcome>;
}

/** One page's connection, at the worker. */
export interface ObjectsConnection extends ObjectsPeer, ReferencePeer {
  /** The page is gone: everything it held is let go of. */
  end(reason: unknown): void;
}

/** What a worker that hosts classes is to its clients. */
export interface ObjectsService {
  connect(peer: ReferencePeer): ObjectsConnection;
}
