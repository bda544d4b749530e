// Everything that page and worker ask of each other: the forms of messages, their checks, the functions of each side,
// and the bytes that move with a call. All of it is plain data and bytes: a connection to another tab's worker is a
// BroadcastChannel, which transfers nothing.
//
// - Storage: sessions, and batches of calls in order, each with an outcome of its own (the calls are in operations.ts).
// - Objects, and references to functions, RpcTargets, streams and signals: a thing passed by reference has a number at
//   the side it came from. The other side names the number when it asks, and releases it when it needs it no more.
//   A payload is a value as `serializeWith` writes it.
// - Live reads: the page opens one, then asks for its next result. The answer comes when the page does not have the
//   result, so it gets the latest when it is ready, and notices a worker that does not answer as for any other call.
//
// Invariant: a message that passes its checks can be performed; any other fault (a closed cursor, an ended
// transaction, bad SQL) is an outcome of performing it. A tab with other code can send anything. No assertion keeps
// this: it is about a peer's messages, whose checks are typed errors.

import * as field from '../contract/arguments.ts';
import {
  checkArray,
  checkBytes,
  checkFields,
  checkNumber,
  checkNumberOf,
  checkString,
  eachOf,
  type FieldCheck,
  malformed,
} from '../contract/arguments.ts';
import { checkBindings } from '../contract/bindings.ts';
import { type CallFlag, checkFlag, checkFlagUrl } from '../contract/call-flag.ts';
import { checkLabel } from '../contract/commit-label.ts';
import { LISTED_OBJECTS_MAX } from '../contract/limits.ts';
import { checkKeyRange } from '../contract/list-options.ts';
import type { StorageRead } from '../contract/live.ts';
import {
  type CallAddress,
  checkAddress,
  checkCallAddress,
  type Payload,
  type WireAddress,
} from './address.ts';
import type { Outcome, WireError } from './errors-on-wire.ts';
import { checkFollowAsk, type FollowAsk } from './follow-asks.ts';
import {
  type AnyOperation,
  type Call,
  OPERATIONS,
  operationOf,
  type Results,
} from './operations.ts';
import {
  checkOutcome,
  checkOutcomes,
  type Description,
  type OwnBytes,
} from './remote-functions.ts';

/** The most calls of one message. The limit lets messages of other tabs have their turn. */
export const BATCH_CALLS_MAX = 512;

/** The most flags of one message. */
const CANCELS_MAX = 512;

/** The most references that one message releases. */
const RELEASES_MAX = 1024;

/** The most names on the path to a member. */
const PATH_MAX = 1024;

/** The number of an opened handle, which the worker chooses. */
export type SessionId = number;

/**
 * The functions for storage that a worker exposes to a page.
 *
 * Every promise settles only after the flush that covers the writes before it (the output gate). For the page, a
 * rejection is an outcome; a rejection of `execute` is the outcome of each of its calls.
 */
export interface StoragePeer extends StorageFunctions {
  /** Runs calls in order. The outcomes are in the order of the calls. */
  execute(session: SessionId, calls: readonly Call[]): Promise<Outcome[]>;
}

/** StoragePeer as the worker implements it: an answer that is available at once needs no promise. */
export interface StorageService extends StorageFunctions {
  execute(session: SessionId, calls: readonly Call[]): Outcome[] | Promise<Outcome[]>;
  /** Closes the session. With `isGivenUp`, calls that have not begun are not made. */
  close(session: SessionId, isGivenUp?: boolean): Promise<void>;
}

interface StorageFunctions {
  /**
   * Opens an object for this client, by its name or as an object of a class. The first handle on an object recovers it.
   * The history names the client as the connection of the client's commits.
   */
  open(target: string | WireAddress, client?: string): Promise<Outcome<SessionId>>;
  /**
   * Cancels the calls with these flags. A call that has not begun is not made, and the statement of a running call is
   * stopped; both reject with CANCELLED.
   */
  cancel?(flags: readonly string[]): Promise<void>;
  /** Ends a handle: closes its cursors, and rolls its open transaction back. */
  close(session: SessionId): Promise<void>;
}

/** The number of a thing passed by reference, among the things of the side that passed it. */
export type ReferenceNumber = number;

export type ObjectRequest = ObjectOperation & {
  /** The incarnation in the stub's first answer. Present for a stub that breaks when this incarnation is reset. */
  readonly incarnation?: number;
  /** The last reset of which the page had heard when it sent the call; 0 for none. Absent for code in the worker. */
  readonly heard?: number;
  /** Present if the call can be cancelled. */
  readonly flag?: CallFlag;
  /** The client that makes the call. The history names the client as the connection of its commits. */
  readonly client?: string;
};

export type ObjectOperation =
  /** Calls the method to which the path leads. The payload is the array of arguments. */
  | { readonly op: 'call'; readonly path: readonly string[]; readonly payload: Payload }
  | { readonly op: 'get'; readonly path: readonly string[] }
  /** Calls `fetch`. The payload is the request, and the payload of the answer is the response. */
  | { readonly op: 'fetch'; readonly payload: Payload }
  /** Runs a handler of an entry point. The payload is the array of the handler's arguments. */
  | { readonly op: 'run'; readonly handler: EntryEvent; readonly payload: Payload }
  /** Answers when the instance ends. The answer is the reason, as an error. */
  | { readonly op: 'watch' };

/** The events of an entry point besides calls and requests. */
export type EntryEvent = 'scheduled' | 'queue';

/** The answer to a call of an object. */
export type ObjectOutcome = Outcome<Payload> & {
  /** The number of the object's instance that performed the call. */
  readonly incarnation?: number;
  /** The call's number in the queue for the server. Present if the call is in this queue. */
  readonly followed?: number;
  /** True if the instance that the stub has reached was reset. The error is the reason. */
  readonly isBroken?: boolean;
  /** The number of the reset that ended the call. Calls that the page sent earlier, by their `heard`, end, too. */
  readonly reset?: number;
  /** True if the error is the caller's own, and not an error of the object. */
  readonly isOwn?: boolean;
};

export type ReferenceRequest =
  /** Calls the method to which the path leads; with an empty path, calls the function itself. */
  | { readonly op: 'call'; readonly path: readonly string[]; readonly payload: Payload }
  | { readonly op: 'get'; readonly path: readonly string[] }
  /** Answers with the next chunk of a readable stream; null at its end. */
  | { readonly op: 'pull' }
  | { readonly op: 'cancel'; readonly payload: Payload }
  | { readonly op: 'write'; readonly payload: Payload }
  | { readonly op: 'close' }
  | { readonly op: 'abort'; readonly payload: Payload }
  /** Answers when the signal is aborted, with the reason. */
  | { readonly op: 'wait' }
  /** Answers when a function or target can no longer be called. The answer is the reason, as an error. */
  | { readonly op: 'watch' };

/** The functions that both sides expose to each other. No promise rejects while the connection lasts. */
export interface ReferencePeer {
  ask(reference: ReferenceNumber, request: ReferenceRequest): Promise<Outcome<Payload | null>>;
  release(references: readonly ReferenceNumber[]): Promise<void>;
}

export type ManageRequest =
  /** Lists the objects of a class after an id, at most `limit` of them. */
  | {
      readonly op: 'list';
      readonly className: string;
      readonly after: string | null;
      readonly limit: number;
    }
  | { readonly op: 'delete' | 'runAlarm' | 'evict'; readonly address: WireAddress }
  /** Sends a request to an object that follows another object. */
  | { readonly op: 'follow'; readonly address: WireAddress; readonly ask: FollowAsk }
  | { readonly op: 'now' | 'runNextAlarm' | 'resume' }
  | { readonly op: 'set'; readonly timeMs: number }
  | { readonly op: 'advance'; readonly durationMs: number };

/** The result of each operation. */
export interface ManageResults {
  list: {
    address: WireAddress;
    sizeBytes: number;
    nextAlarm: number | null;
    branches: readonly string[];
    error: WireError | null;
  }[];
  delete: null;
  /** The result is true if an alarm was set. */
  runAlarm: boolean;
  evict: null;
  /** The serialized member of FollowAnswers for the kind of `ask`. */
  follow: Payload;
  now: number;
  runNextAlarm: { address: WireAddress; dueMs: number } | null;
  resume: null;
  set: null;
  advance: null;
}

export interface ListedClass {
  readonly name: string;
  readonly uniqueKey: string;
  /** True if the objects of the class follow objects on a server. @default false */
  readonly follows?: boolean;
}

export interface ClassList {
  readonly classes: readonly ListedClass[];
  /** Pairs of a binding's name in `env` and the name of its class. */
  readonly bindings: readonly (readonly [binding: string, className: string])[];
}

/** The functions, besides references, that a worker with classes exposes to pages. */
export interface ObjectsPeer {
  classes(): Promise<Outcome<ClassList>>;
  call(address: CallAddress, request: ObjectRequest): Promise<ObjectOutcome>;
  /** Manages objects: lists and deletes them, and drives their clock. This function never calls an object's code. */
  manage(request: ManageRequest): Promise<Outcome>;
}

/** The worker's side of one page's connection. */
export interface ObjectsConnection extends ObjectsPeer, ReferencePeer {
  /** Called when the page is gone: releases all that it held. With `isGivenUp`, calls that have not begun are not made. */
  end(reason: unknown, isGivenUp?: boolean): void;
}

/** The services of a worker with classes for its clients. */
export interface ObjectsService {
  connect(peer: ReferencePeer): ObjectsConnection;
}

/** A read, or a method that reads. The payload is the array of the method's arguments. */
export type LiveRequest =
  | StorageRead
  | { readonly op: 'call'; readonly path: readonly string[]; readonly payload: Payload };

export interface LiveStart {
  /** The object to read, as for `open`. */
  readonly target: string | WireAddress;
  readonly read: LiveRequest;
  /** Present if the live read can be cancelled. */
  readonly flag?: CallFlag;
  /** Present if the read's last result may be stored for the page's next visit. */
  readonly keep?: LiveKeep;
}

/** The name under which the last result of a read is stored for the page's next visit. */
export interface LiveKeep {
  /** The signed-in user; absent if the app does not name one. */
  readonly user?: string;
  readonly read: string;
  /** If true, no result of the read is stored, and a stored result is deleted. */
  readonly isPrivate: boolean;
}

/** The number of a live read of one connection, which the worker chooses. */
export type LiveNumber = number;

/**
 * The next result, serialized, or why the read failed. `isEnded`: the instance of the object has ended, and with it the
 * live read. `isMoved`: the object is served elsewhere, so the live read must be opened again.
 */
export type LiveOutcome = Outcome<Payload> & {
  readonly isEnded?: boolean;
  readonly isMoved?: boolean;
};

export interface LivePeer {
  openLive(start: LiveStart): Promise<Outcome<LiveNumber>>;
  /** Waits for a result that differs from the last one returned. */
  nextLive(number: LiveNumber): Promise<LiveOutcome>;
  closeLive(number: LiveNumber): Promise<void>;
}

/** The worker's side of one page's live reads. */
export interface LiveConnection extends LivePeer {
  /** Called when the page is gone. */
  end(): void;
}

/** The live reads that a worker serves to its clients. */
export interface LiveService {
  connect(): LiveConnection;
}

/** Returns the checked object to open. @throws INVALID_ARGUMENT */
export function checkTarget(value: unknown): string | WireAddress {
  return typeof value === 'string' ? value : checkAddress(value);
}

/** Returns the checked name of a client, which becomes part of the log. @throws INVALID_ARGUMENT */
function checkClient(value: unknown): string {
  if (/^[\w-]{1,36}$/.test(checkString('client', value))) return value as string;
  throw malformed('client', 'at most 36 letters, digits and hyphens');
}

/** Returns the checked calls of a message. If a call is malformed, none of the calls runs. @throws as checkCall */
export function checkCalls(value: unknown): readonly Call[] {
  const calls = eachOf(checkArray('calls', value, BATCH_CALLS_MAX), checkCall);
  if (calls.length > 1 && calls.some(({ op }) => operationOf(op).travelsAlone)) {
    throw malformed('calls', 'one call only, as begin, importDatabase and restore need');
  }
  return calls;
}

/** Returns the checked call. @throws INVALID_ARGUMENT, KEY_TOO_LARGE, TOO_MANY_KEYS, VALUE_TOO_LARGE */
export function checkCall(value: unknown): Call {
  const fields = checkFields('call', value);
  const op = checkString('op', fields.op);
  const checks = CHECKS.get(op);
  if (checks === undefined) throw malformed('op', 'one of the protocol');
  const call: Record<string, unknown> = { op };
  for (const { name, check } of checks) call[name] = check(name, fields[name], op);
  if (fields.flag !== undefined) call.flag = checkFlag(fields.flag);
  if (fields.label !== undefined) call.label = checkLabel('label', fields.label);
  if (fields.moment !== undefined) call.moment = checkNumberOf('moment', fields.moment);
  if (fields.txn !== undefined) call.txn = checkNumberOf('txn', fields.txn);
  return call as Call;
}

interface NamedCheck {
  readonly name: string;
  readonly check: FieldCheck<unknown>;
}

/** The checks of each operation. They are a Map, because `op` may be any string, for example `__proto__`. */
const CHECKS: ReadonlyMap<string, readonly NamedCheck[]> = new Map(
  Object.entries<AnyOperation>(OPERATIONS).map(([op, { fields }]) => [
    op,
    Object.entries(fields).map(([name, check]) => ({ name, check })),
  ]),
);

/** Returns the checked request to an object. @throws INVALID_ARGUMENT */
export function checkObjectRequest(value: unknown): ObjectRequest {
  const { incarnation, heard, flag, client } = checkFields('request', value);
  return {
    ...checkObjectOperation(value),
    ...(client !== undefined && { client: checkClient(client) }),
    ...(heard !== undefined && { heard: checkNumberOf('heard', heard) }),
    ...(incarnation !== undefined && { incarnation: checkNumberOf('incarnation', incarnation) }),
    ...(flag !== undefined && { flag: checkFlag(flag) }),
  };
}

function checkObjectOperation(value: unknown): ObjectOperation {
  const { op, path, handler, payload } = checkFields('request', value);
  switch (op) {
    case 'call':
      return { op, path: checkPath(path, 1), payload: checkBytes('payload', payload) };
    case 'get':
      return { op, path: checkPath(path, 1) };
    case 'fetch':
      return { op, payload: checkBytes('payload', payload) };
    case 'run':
      if (handler !== 'scheduled' && handler !== 'queue') {
        throw malformed('handler', 'scheduled or queue');
      }
      return { op, handler, payload: checkBytes('payload', payload) };
    case 'watch':
      return { op };
    default:
      throw malformed('op', 'one of the protocol');
  }
}

/** Returns the checked request for a reference. @throws INVALID_ARGUMENT */
function checkReferenceRequest(value: unknown): ReferenceRequest {
  const { op, path, payload } = checkFields('request', value);
  switch (op) {
    case 'call':
      return { op, path: checkPath(path, 0), payload: checkBytes('payload', payload) };
    case 'get':
      return { op, path: checkPath(path, 1) };
    case 'pull':
    case 'close':
    case 'wait':
    case 'watch':
      return { op };
    case 'cancel':
    case 'write':
    case 'abort':
      return { op, payload: checkBytes('payload', payload) };
    default:
      throw malformed('op', 'one of the protocol');
  }
}

function checkLimit(value: unknown): number {
  const limit = checkNumberOf('limit', value);
  if (limit <= LISTED_OBJECTS_MAX) return limit;
  throw malformed('limit', `at most ${LISTED_OBJECTS_MAX}`);
}

/** Returns the checked request to manage objects. @throws INVALID_ARGUMENT */
function checkManageRequest(value: unknown): ManageRequest {
  const { op, className, address, ask, timeMs, durationMs, after, limit } = checkFields(
    'request',
    value,
  );
  switch (op) {
    case 'list':
      return {
        op,
        className: checkString('className', className),
        after: after === null ? null : checkString('after', after),
        limit: checkLimit(limit),
      };
    case 'delete':
    case 'runAlarm':
    case 'evict':
      return { op, address: checkAddress(address) };
    case 'follow':
      return { op, address: checkAddress(address), ask: checkFollowAsk(ask) };
    case 'now':
    case 'runNextAlarm':
    case 'resume':
      return { op };
    case 'set':
      return { op, timeMs: checkNumber('timeMs', timeMs) };
    case 'advance':
      return { op, durationMs: checkNumber('durationMs', durationMs) };
    default:
      throw malformed('op', 'one of the protocol');
  }
}

function checkPath(value: unknown, lengthMin: number): string[] {
  const path = checkArray('path', value, PATH_MAX).map((name) => checkString('path', name));
  if (path.length < lengthMin) throw malformed('path', 'one name at least');
  return path;
}

function checkReference(value: unknown): ReferenceNumber {
  return checkNumberOf('reference', value);
}

/** Returns the checked numbers of references. @throws INVALID_ARGUMENT */
function checkReferences(value: unknown): ReferenceNumber[] {
  return checkArray('references', value, RELEASES_MAX).map(checkReference);
}

/** Returns the checked beginning of a live read. @throws INVALID_ARGUMENT, and the errors of limits */
export function checkLiveStart(value: unknown): LiveStart {
  const { target, read, flag, keep } = checkFields('live read', value);
  return {
    target: checkTarget(target),
    read: checkRead(read),
    ...(flag !== undefined && { flag: checkFlag(flag) }),
    ...(keep !== undefined && { keep: checkKeep(keep) }),
  };
}

function checkKeep(value: unknown): LiveKeep {
  const { user, read, isPrivate } = checkFields('keep', value);
  return {
    ...(user !== undefined && { user: checkString('user', user) }),
    read: checkString('read', read),
    isPrivate: isPrivate === true,
  };
}

function checkRead(value: unknown): LiveRequest {
  const fields = checkFields('read', value);
  switch (fields.op) {
    case 'get':
      return { op: 'get', keys: field.keys('keys', fields.keys, 'live') };
    case 'list':
      return { op: 'list', range: checkKeyRange('range', fields.range, 'live') };
    case 'query': {
      const bindings = checkBindings('bindings', fields.bindings, 'live');
      return { op: 'query', query: checkString('query', fields.query), bindings };
    }
    case 'call': {
      const request = checkObjectRequest(value);
      if (request.op === 'call')
        return { op: 'call', path: request.path, payload: request.payload };
    }
  }
  throw malformed('op', 'one of the protocol');
}

// The bytes of a call or answer that are transferred instead of copied. Copying 128 KiB takes two to ten times as long
// as transferring them (1.6 ms instead of 0.6 in Chromium 156, 0.96 instead of 0.5 in Firefox 153); a channel between
// tabs copies all bytes. Only bytes with no other owner are transferred: bytes that were serialized, or copied out of
// SQLite, for this one message. Bytes of the app are not, nor bytes of a call that may be sent again.

const NO_OWN_BYTES: readonly OwnBytes[] = [];

function ownBytesOfCalls(calls: readonly Call[]): readonly OwnBytes[] {
  // A transaction whose worker is lost before it has answered begins again, with its calls, so their bytes are copied.
  return calls.flatMap((call) => (call.txn === undefined ? ownBytesOfCall(call) : NO_OWN_BYTES));
}

function ownBytesOfCall(call: Call): readonly OwnBytes[] {
  switch (call.op) {
    case 'put':
      return call.entries.map(([, value]) => value);
    case 'execMany':
      return call.chunks.map(({ json }) => json);
    case 'putMany':
      return call.chunks.map(({ bytes }) => bytes);
    default:
      return NO_OWN_BYTES;
  }
}

/** Returns the bytes of outcomes. `outcomes` are in the order of the calls. */
function ownBytesOfOutcomes(
  outcomes: readonly Outcome[],
  calls: readonly Call[],
): readonly OwnBytes[] {
  return outcomes.flatMap((outcome, i) =>
    'ok' in outcome ? ownBytesOfResult(calls[i]!, outcome.ok) : NO_OWN_BYTES,
  );
}

function ownBytesOfRequest(request: ObjectRequest | ReferenceRequest): readonly OwnBytes[] {
  return 'payload' in request ? [request.payload] : NO_OWN_BYTES;
}

function ownBytesOfOutcome(outcome: Outcome<Payload | null>): readonly OwnBytes[] {
  return 'ok' in outcome ? [outcome.ok] : NO_OWN_BYTES;
}

function ownBytesOfResult({ op }: Call, result: unknown): readonly OwnBytes[] {
  switch (op) {
    case 'get':
      return result as Results['get'];
    case 'list':
      return (result as Results['list']).map(([, value]) => value);
    case 'exportDatabase':
      return [result as Results['exportDatabase']];
    default:
      return NO_OWN_BYTES;
  }
}

/** The functions that a worker exposes to a page. */
export type WorkerPeer = Required<StoragePeer> & ObjectsPeer & LivePeer & ReferencePeer;

/** The functions that a page exposes to a worker. */
export const PAGE_FUNCTIONS: Description<ReferencePeer> = {
  ask: {
    parameters: [checkReference, checkReferenceRequest],
    answer: checkOutcome,
    movesIn: (_reference, request) => ownBytesOfRequest(request),
    movesOut: ownBytesOfOutcome,
  },
  release: { parameters: [checkReferences], answer: nothing },
};

export const WORKER_FUNCTIONS: Description<WorkerPeer> = {
  open: {
    parameters: [checkTarget, (client) => (client === undefined ? client : checkClient(client))],
    answer: checkOutcome,
  },
  execute: {
    parameters: [checkSession, checkCalls],
    answer: (answer, _session, calls) => checkOutcomes(answer, calls.length),
    movesIn: (_session, calls) => ownBytesOfCalls(calls),
    movesOut: (outcomes, _session, calls) => ownBytesOfOutcomes(outcomes, calls),
  },
  cancel: { parameters: [checkCancels], answer: nothing },
  close: { parameters: [checkSession], answer: nothing },
  classes: { parameters: [], answer: checkOutcome },
  call: {
    parameters: [checkCallAddress, checkObjectRequest],
    answer: checkOutcome,
    movesIn: (_address, request) => ownBytesOfRequest(request),
    movesOut: ownBytesOfOutcome,
  },
  manage: { parameters: [checkManageRequest], answer: checkOutcome },
  openLive: { parameters: [checkLiveStart], answer: checkOutcome },
  nextLive: { parameters: [checkLiveNumber], answer: checkOutcome },
  closeLive: { parameters: [checkLiveNumber], answer: nothing },
  ...PAGE_FUNCTIONS,
};

function checkSession(value: unknown): number {
  return checkNumberOf('session', value);
}

function checkLiveNumber(value: unknown): number {
  return checkNumberOf('live read', value);
}

function checkCancels(value: unknown): readonly string[] {
  return checkArray('flags', value, CANCELS_MAX).map(checkFlagUrl);
}

function nothing(): undefined {
  return undefined;
}
