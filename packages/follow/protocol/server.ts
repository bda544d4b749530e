// The server's side of the protocol, as a pure function: `stepFollowServer` takes the state of clients and connections
// and an event, and returns the next state and the effects to perform.
//
// The caller delivers one event at a time and performs its effects in order. All writes of an event, including those of
// a method's turn, are one transaction; messages leave once it is durable. The output gate of an object ensures both.
// `run` is the last effect of its event; the caller delivers `ended` or `paused` in the same transaction, before any
// other event. If a transaction fails, the instance ends, and the server is opened again from its storage.
//
// Invariants:
//   a call runs at most once, unless the object is restored; calls of a client run in the order of their numbers
//   a cut and the outcomes of the calls that caused it are one message
//   an outcome is stored until its client has acknowledged it
//   what a client may fill is bounded, for each client and for all together: calls that wait, outcomes that are not
//   acknowledged, and messages that are not read
//
// This file does not know how calls run, how changes are captured, who may follow, nor the time.

import { assert } from '@ctx-storage/core/errors';
import {
  CALL_BYTES_IN_FLIGHT_MAX,
  CALLS_IN_FLIGHT_MAX,
  type CallFailureCode,
  type CopyMark,
  commonProtocol,
  FOLLOW_PROTOCOLS,
  type FollowedCallMessage,
  type FollowedOutcome,
  isSamePosition,
  type MarkedNumber,
  type MessageToFollower,
  type Position,
  type RejectReason,
  type Transition,
} from './messages.ts';
import type {
  ClientAnswers,
  CloseReason,
  CopyLives,
  CountedMessage,
  FollowServerEffect,
  FollowServerEvent,
} from './server-events.ts';
import type {
  ClientRecord,
  FollowClient,
  FollowerConnection,
  FollowServer,
  OwnedFollowServer,
  StoredFollowServer,
  WaitingCall,
} from './server-state.ts';
import { isUnreadFull, NOTHING_UNREAD, unreadBytes, withReceipt, withSent } from './unread.ts';

/** A transition, and the connections that the event has changed. */
interface Step extends Transition<OwnedFollowServer, FollowServerEffect> {
  readonly changedConnections: ReadonlySet<number>;
}
type EventOf<Kind> = Extract<FollowServerEvent, { kind: Kind }>;

/** How often a call that may have ended the instance is tried again (our choice: the cause may lie outside of the call). */
export const ATTEMPTS_MAX = 3;

// The bounds of memory (our choice: an instance of workerd has 128 MB).
/** A client's next call does not begin while its unacknowledged outcomes have this many bytes. */
export const UNACKNOWLEDGED_BYTES_MAX = 2 ** 20;
/**
 * The most waiting bytes of a follower that keeps to its limits: besides the arguments, each message has a method's
 * name.
 */
export const WAITING_BYTES_MAX = 2 * CALL_BYTES_IN_FLIGHT_MAX + CALLS_IN_FLIGHT_MAX * 4096;
/**
 * If all waiting calls together have more bytes than this, the client with the most waiting bytes loses its calls,
 * which its follower sends again.
 */
export const ALL_WAITING_BYTES_MAX = 16 * 2 ** 20;
/** If all connections together have more unread bytes than this, the connection with the most unread bytes is closed. */
export const ALL_UNREAD_BYTES_MAX = 32 * 2 ** 20;
/** The approximate size of the outcome of a call that neither returned nor threw. */
const FAILURE_BYTES = 64;

/**
 * One event brings changes to this many connections at most; later events of the caller bring them to the others (our choice:
 * so many messages take about a millisecond, which all other events wait).
 */
export const UPDATED_AT_ONCE_MAX = 32;

const NEW_RECORD: ClientRecord = {
  ...{ started: 0, mark: null, last: 0, acked: 0 },
  ...{ attempts: 0, outcomeBytes: [] },
};

export function openFollowServer(stored: StoredFollowServer): Step {
  const { head, records, connections } = stored;
  const clients = new Map<string, FollowClient>();
  for (const { client } of connections.values()) clients.set(client, newClient(null));
  for (const [client, record] of records) clients.set(client, newClient(record));
  const unread = sumOf([...connections.values()], ({ unread }) => unreadBytes(unread));
  const state = { ...stored, clients, unreadBytes: unread, waitingBytes: 0 };
  const builder = new StepBuilder({ ...state, connections: new Map(connections) }, head);
  for (const [client, { started, last }] of records) {
    if (started > last) builder.fail(client, 'CALL_INTERRUPTED');
  }
  builder.sendUpdates();
  builder.forgetIdle(records.keys());
  return builder.done();
}

export function stepFollowServer(state: FollowServer, event: FollowServerEvent): Step {
  const { clients, connections } = state;
  const copied = { ...state, clients: new Map(clients), connections: new Map(connections) };
  return stepInPlace(copied, event);
}

/**
 * Performs a step as `stepFollowServer` does, but changes the maps of the given state, which must not be used any more.
 * With a thousand followers, copies of the maps would take ten times as long as the rest of the step.
 */
export function stepInPlace(state: OwnedFollowServer, event: FollowServerEvent): Step {
  const builder = new StepBuilder(state, event.head);
  switch (event.kind) {
    case 'hello':
      builder.hello(event);
      break;
    case 'next':
      builder.next(event);
      break;
    case 'partsSent':
      builder.partsSent(event);
      break;
    case 'call':
      builder.call(event);
      break;
    case 'ack':
      builder.ack(event);
      break;
    case 'sent':
      builder.sent(event.messages);
      break;
    case 'cutTooLarge':
      builder.beginSnapshot(event);
      break;
    case 'attemptStored':
      builder.attemptStored(event.client);
      break;
    case 'ended':
      builder.answer(event.client, event.outcome, event.bytes);
      builder.runNext(event.client);
      break;
    case 'paused':
      builder.sendUpdates(event.client);
      builder.runNext(event.client);
      break;
    case 'changed':
      builder.sendUpdates();
      break;
    case 'closed':
      builder.closed(event.connection);
      break;
    case 'callsWithdrawn':
      builder.withdrawCalls(event.clients);
      break;
    case 'outcomesDeleted':
      builder.forgetOutcomes();
      break;
  }
  return builder.done();
}

/** Builds the result of one event: the state so far, and the effects in order. */
class StepBuilder {
  readonly #version: number;
  readonly #head: Position;
  readonly #clients: Map<string, FollowClient>;
  readonly #connections: Map<number, FollowerConnection>;
  readonly #changedConnections = new Set<number>();
  readonly #effects: FollowServerEffect[] = [];
  /** The clients that may have become idle, or lost their connection. */
  readonly #maybeForgotten = new Set<string>();
  #unreadBytes: number;
  #waitingBytes: number;

  /** Changes the maps of the given state. */
  constructor(state: OwnedFollowServer, head: Position) {
    this.#version = state.version;
    this.#head = head;
    this.#clients = state.clients;
    this.#connections = state.connections;
    this.#unreadBytes = state.unreadBytes;
    this.#waitingBytes = state.waitingBytes;
  }

  done(): Step {
    this.forgetIdle(this.#maybeForgotten);
    const [unreadBytes, waitingBytes] = [this.#unreadBytes, this.#waitingBytes];
    assert(unreadBytes >= 0 && waitingBytes >= 0, 'more bytes left the queues than were counted');
    return {
      state: {
        version: this.#version,
        clients: this.#clients,
        connections: this.#connections,
        ...{ unreadBytes, waitingBytes },
      },
      effects: this.#effects,
      changedConnections: this.#changedConnections,
    };
  }

  /** Forgets the given clients that are idle and have no connection. Their records stay in storage. */
  forgetIdle(names: Iterable<string>): void {
    for (const client of names) {
      const known = this.#clients.get(client);
      if (known === undefined || known.run.kind !== 'idle' || known.waiting.length > 0) continue;
      if (this.#connectionOf(client) === null) this.#clients.delete(client);
    }
  }

  /**
   * Returns the connection of a client; null if it has none. A client has at most one connection, because a hello
   * replaces an older connection.
   */
  #connectionOf(client: string): number | null {
    for (const [connection, to] of this.#connections) if (to.client === client) return connection;
    return null;
  }

  #setConnection(connection: number, state: FollowerConnection): void {
    this.#connections.set(connection, state);
    this.#changedConnections.add(connection);
  }

  hello({ connection, message, record, lifeAtPosition, copyLives, canSnapshot }: EventOf<'hello'>) {
    const { client, protocol, position, ack } = message;
    if (this.#connections.has(connection)) return this.#close(connection, 'HELLO_TWICE');
    const newest = commonProtocol(protocol);
    if (newest === null) return this.#reject(connection, 'PROTOCOL');
    const isKnown = position !== null && lifeAtPosition === position.life;
    const copy = resumableCopy(message.copy, copyLives);
    if (!isKnown && copy === null && !canSnapshot) {
      return this.#reject(connection, 'OBJECT_TOO_LARGE');
    }
    const older = this.#connectionOf(client);
    if (older !== null) this.#close(older, 'REPLACED');
    if (!this.#clients.has(client)) this.#clients.set(client, newClient(record));
    this.#maybeForgotten.add(client);
    if (!this.#acknowledge(client, ack)) return this.#close(connection, 'ACK_AHEAD');
    const received = this.#newestReceived(client);
    this.#send(connection, { kind: 'welcome', protocol: newest, version: this.#version, received });
    const unread = NOTHING_UNREAD;
    const sent = isKnown ? position : null;
    this.#setConnection(connection, { client, sent, told: 0, unread });
    if (isKnown) this.#sendUpdate(connection, true);
    else this.#continueSnapshot(connection, copy);
  }

  #newestReceived(client: string): MarkedNumber {
    const { record, run, waiting } = this.#clients.get(client)!;
    const newest = waiting.at(-1)?.message ?? (run.kind === 'attempting' ? run.call : null);
    const { n, mark } = newest ?? { n: record.started, mark: record.mark };
    return { n, mark };
  }

  next({ connection, message, copyLives }: EventOf<'next'>) {
    const known = this.#connections.get(connection);
    if (known === undefined) return this.#close(connection, 'HELLO_FIRST');
    if (known.sent !== null) return this.#close(connection, 'NOT_COPYING');
    if (message.receipt !== null) this.#confirm(connection, message.receipt);
    const { unread } = this.#connections.get(connection)!;
    if (isUnreadFull(unread)) return this.#close(connection, 'NOT_READING');
    this.#continueSnapshot(connection, resumableCopy(message.copy, copyLives));
  }

  /** Sends the update that follows the last part, before the follower can have read that part. */
  partsSent({ connection, copy }: EventOf<'partsSent'>) {
    if (this.#connections.has(connection)) this.#continueSnapshot(connection, copy);
  }

  /** Sends a snapshot to a follower whose changes are too large for one message. */
  beginSnapshot({ connection, canSnapshot }: EventOf<'cutTooLarge'>) {
    const known = this.#connections.get(connection);
    if (known === undefined) return;
    if (!canSnapshot) return this.#reject(connection, 'OBJECT_TOO_LARGE');
    this.#setConnection(connection, { ...known, sent: null, told: 0 });
    this.#continueSnapshot(connection, null);
  }

  /** Sends the next part of a snapshot, or the cut after its last part. If `copy` is null, a new snapshot begins. */
  #continueSnapshot(connection: number, copy: CopyMark | null) {
    if (copy?.next === null) {
      const { client } = this.#connections.get(connection)!;
      const { from: since, parts } = copy;
      const answers = this.#takeAnswers(connection, client, 0);
      const to = this.#head;
      this.#effects.push({ kind: 'sendCut', connection, since, parts, to, ...answers });
    } else {
      const at = this.#head;
      const { from, parts, next: after } = copy ?? { from: at, parts: 0, next: null };
      this.#effects.push({ kind: 'sendPart', connection, from, at, parts, after });
    }
  }

  call({ connection, message, bytes }: EventOf<'call'>) {
    const client = this.#connections.get(connection)?.client;
    if (client === undefined) return this.#close(connection, 'HELLO_FIRST');
    const { n, ack } = message;
    if (!this.#acknowledge(client, ack)) return this.#close(connection, 'ACK_AHEAD');
    const { record, waiting } = this.#clients.get(client)!;
    const { n: received } = this.#newestReceived(client);
    // The call was received before: its outcome was sent on this connection, or will be when the call ends.
    if (n <= received) return;
    if (n > received + 1) return this.#close(connection, 'CALL_GAP');
    const waitingBytes = bytesOf(waiting) + bytes;
    if (n - record.acked > CALLS_IN_FLIGHT_MAX || waitingBytes > WAITING_BYTES_MAX) {
      return this.#close(connection, 'TOO_MANY_CALLS');
    }
    this.#setWaiting(client, [...waiting, { message, bytes }]);
    if (this.#waitingBytes > ALL_WAITING_BYTES_MAX) this.#dropMostWaiting();
    this.runNext(client);
  }

  /**
   * Drops the waiting calls of the client that has most of them, and closes its connection, so that the client sends
   * the calls again.
   */
  #dropMostWaiting(): void {
    const [client] = largest(this.#clients, ({ waiting }) => bytesOf(waiting));
    this.#setWaiting(client, []);
    this.#maybeForgotten.add(client);
    const connection = this.#connectionOf(client);
    if (connection !== null) this.#close(connection, 'TOO_MANY_CALLS');
  }

  ack({ connection, message: { ack, receipt } }: EventOf<'ack'>) {
    const client = this.#connections.get(connection)?.client;
    if (client === undefined) return this.#close(connection, 'HELLO_FIRST');
    if (!this.#acknowledge(client, ack)) return this.#close(connection, 'ACK_AHEAD');
    this.#confirm(connection, receipt);
    this.#sendUpdate(connection, false);
    this.runNext(client);
  }

  sent(messages: readonly CountedMessage[]): void {
    for (const { connection, bytes, receipt } of messages) {
      const known = this.#connections.get(connection);
      if (known === undefined) continue;
      const unread = withSent(known.unread, bytes, receipt);
      this.#setConnection(connection, { ...known, unread });
      this.#unreadBytes += bytes;
    }
    while (this.#unreadBytes > ALL_UNREAD_BYTES_MAX) {
      const [most] = largest(this.#connections, ({ unread }) => unreadBytes(unread));
      this.#close(most, 'NOT_READING');
    }
  }

  #confirm(connection: number, receipt: number): void {
    const known = this.#connections.get(connection)!;
    const unread = withReceipt(known.unread, receipt);
    this.#setConnection(connection, { ...known, unread });
    this.#unreadBytes -= unreadBytes(known.unread) - unreadBytes(unread);
  }

  #reject(connection: number, reason: RejectReason) {
    this.#send(connection, { kind: 'rejected', reason, protocol: FOLLOW_PROTOCOLS });
    this.#close(connection, reason);
  }

  attemptStored(client: string): void {
    const { run } = this.#clients.get(client)!;
    if (run.kind === 'attempting') this.#run(client, run.call);
  }

  fail(client: string, code: CallFailureCode): void {
    this.answer(client, { kind: 'failed', code }, FAILURE_BYTES);
  }

  /** Records and sends the outcome of the client's first unanswered call, whose record has its mark. */
  answer(client: string, outcome: FollowedOutcome, bytes: number): void {
    const { record } = this.#clients.get(client)!;
    const n = record.last + 1;
    assert(n === record.started, 'a call was answered that had not begun');
    const outcomeBytes = [...record.outcomeBytes, bytes];
    this.#change(client, { run: { kind: 'idle' } });
    this.#record(client, { ...record, last: n, attempts: 0, outcomeBytes }, outcome);
    this.#maybeForgotten.add(client);
    this.sendUpdates(client);
  }

  /** Begins one waiting call, of the next client in turn. When that call ends or pauses, the next call begins. */
  runNext(after: string): void {
    const before: string[] = [];
    const behind: string[] = [];
    let names = before;
    for (const [client, { run, waiting }] of this.#clients) {
      // The attempted call may end the instance. No other call runs meanwhile, so the culprit is known.
      if (run.kind === 'attempting') return;
      if (run.kind === 'idle' && waiting.length > 0) names.push(client);
      if (client === after) names = behind;
    }
    for (const client of [...behind, ...before]) {
      if (this.#beginNextCall(client)) return;
    }
  }

  /**
   * Sends connections the changes and outcomes that they lack, first the connection of the client `first`. If
   * connections are left over, the caller delivers `changed` later. Updated connections move to the end of the order,
   * so that each connection has its turn.
   */
  sendUpdates(first?: string): void {
    const isChunk = this.#connections.size > UPDATED_AT_ONCE_MAX;
    if (first !== undefined && isChunk) {
      const own = this.#connectionOf(first);
      if (own !== null) this.#sendUpdate(own, false);
      this.#effects.push({ kind: 'updateLater' });
      return;
    }
    const updated: number[] = [];
    for (const connection of this.#connections.keys()) {
      if (!this.#sendUpdate(connection, false)) continue;
      updated.push(connection);
      if (updated.length === UPDATED_AT_ONCE_MAX) break;
    }
    if (!isChunk) return;
    for (const connection of updated) {
      const state = this.#connections.get(connection)!;
      this.#connections.delete(connection);
      this.#connections.set(connection, state);
    }
    if (updated.length === UPDATED_AT_ONCE_MAX) this.#effects.push({ kind: 'updateLater' });
  }

  closed(connection: number): void {
    const known = this.#connections.get(connection);
    if (known === undefined) return;
    this.#unreadBytes -= unreadBytes(known.unread);
    this.#connections.delete(connection);
    this.#maybeForgotten.add(known.client);
  }

  withdrawCalls(clients: readonly string[]): void {
    for (const client of clients) {
      if (!this.#clients.has(client)) continue;
      this.#setWaiting(client, []);
      this.#maybeForgotten.add(client);
    }
  }

  /**
   * Forgets all outcomes. The clients keep their numbers: a call that a client sends again has lost its outcome, and
   * does not run.
   */
  forgetOutcomes(): void {
    for (const [client, { record }] of this.#clients) {
      const outcomeBytes = record.outcomeBytes.map(() => 0);
      this.#change(client, { record: { ...record, outcomeBytes } });
    }
  }

  /**
   * Sends everything that the follower lacks; returns false if nothing was sent. A follower that has not read enough
   * yet gets everything after its next receipt.
   */
  #sendUpdate(connection: number, isHello: boolean): boolean {
    const { client, sent: since, told, unread } = this.#connections.get(connection)!;
    if (since === null || isUnreadFull(unread)) return false;
    const to = this.#head;
    const isChanged = !isSamePosition(to, since);
    if (!isChanged && !isHello && this.#clients.get(client)!.record.last === told) return false;
    const answers = this.#takeAnswers(connection, client, told);
    this.#effects.push(
      isChanged
        ? { kind: 'sendCut', connection, since, parts: null, to, ...answers }
        : { kind: 'sendEnded', connection, ...answers },
    );
    return true;
  }

  /** Returns the outcomes after number `told`, and marks the connection as up to date. */
  #takeAnswers(connection: number, client: string, told: number): ClientAnswers {
    const { last } = this.#clients.get(client)!.record;
    const known = this.#connections.get(connection)!;
    this.#setConnection(connection, { ...known, sent: this.#head, told: last });
    return { client, told, last };
  }

  /**
   * Deletes the outcomes that the client has recorded. Returns false if the client acknowledges a call that is not
   * answered.
   */
  #acknowledge(client: string, ack: number): boolean {
    const { record, run, waiting } = this.#clients.get(client)!;
    if (ack > record.last) {
      if (run.kind !== 'idle' || waiting.length > 0) return false;
      // The object was restored to a moment before these answers. Their numbers must not be used again.
      this.#record(client, { ...NEW_RECORD, started: ack, last: ack, acked: ack });
    } else if (ack > record.acked) {
      const outcomeBytes = record.outcomeBytes.slice(ack - record.acked);
      this.#record(client, { ...record, acked: ack, outcomeBytes });
    }
    return true;
  }

  /** Begins the client's next call; returns false if no call waits, or another call of the client runs. */
  #beginNextCall(client: string): boolean {
    const { record, run, waiting } = this.#clients.get(client)!;
    const [next, ...rest] = waiting;
    const isFull = sumOf(record.outcomeBytes, (bytes) => bytes) >= UNACKNOWLEDGED_BYTES_MAX;
    if (run.kind !== 'idle' || next === undefined || isFull) return false;
    const call = next.message;
    this.#setWaiting(client, rest);
    if (!call.again) {
      this.#run(client, call);
    } else if (record.attempts < ATTEMPTS_MAX) {
      this.#change(client, { run: { kind: 'attempting', call } });
      this.#record(client, { ...record, attempts: record.attempts + 1 });
      this.#effects.push({ kind: 'storeAttempt', client });
    } else {
      this.#record(client, { ...record, started: call.n, mark: call.mark });
      this.fail(client, 'CALL_ABANDONED');
      return this.#beginNextCall(client);
    }
    return true;
  }

  #run(client: string, call: FollowedCallMessage): void {
    this.#change(client, { run: { kind: 'running' } });
    const { record } = this.#clients.get(client)!;
    this.#record(client, { ...record, started: call.n, mark: call.mark });
    this.#effects.push({ kind: 'run', client, call });
  }

  #record(client: string, record: ClientRecord, outcome: FollowedOutcome | null = null): void {
    const { started, last, acked, outcomeBytes } = record;
    assert(acked <= last && last <= started, 'a record of calls is out of order');
    assert(outcomeBytes.length === last - acked, 'a record has not one outcome for each call');
    this.#change(client, { record });
    this.#effects.push({ kind: 'record', client, record, outcome });
  }

  #setWaiting(client: string, waiting: readonly WaitingCall[]): void {
    this.#waitingBytes += bytesOf(waiting) - bytesOf(this.#clients.get(client)!.waiting);
    this.#change(client, { waiting });
  }

  #change(client: string, change: Partial<FollowClient>): void {
    this.#clients.set(client, { ...this.#clients.get(client)!, ...change });
  }

  #send(connection: number, message: MessageToFollower): void {
    this.#effects.push({ kind: 'send', connection, message });
  }

  #close(connection: number, reason: CloseReason): void {
    this.#effects.push({ kind: 'close', connection, reason });
    this.closed(connection);
  }
}

/** Returns the snapshot's mark if the object's history still has both of its positions; otherwise null. */
function resumableCopy(copy: CopyMark | null, lives: CopyLives | null): CopyMark | null {
  if (copy === null || lives === null) return null;
  return copy.from.life === lives.from && copy.at.life === lives.at ? copy : null;
}

function newClient(record: ClientRecord | null): FollowClient {
  return { record: record ?? NEW_RECORD, run: { kind: 'idle' }, waiting: [] };
}

function bytesOf(waiting: readonly WaitingCall[]): number {
  return sumOf(waiting, ({ bytes }) => bytes);
}

function sumOf<T>(list: readonly T[], amountOf: (one: T) => number): number {
  return list.reduce((sum, one) => sum + amountOf(one), 0);
}

/** Returns the entry with the largest value. The map must not be empty. */
function largest<K, V>(map: ReadonlyMap<K, V>, amountOf: (one: V) => number): [K, V] {
  return [...map].reduce((most, one) => (amountOf(one[1]) > amountOf(most[1]) ? one : most));
}
