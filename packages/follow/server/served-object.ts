// Serves the followers of one object: delivers their messages to the protocol (protocol/server.ts), performs its effects
// on the object's storage and sockets, and runs the calls.
//
// A *turn* is a run of the object's code with all its microtasks. The writes of a turn are one implicit transaction, and
// the output gate holds its messages until they are durable, so each event of the protocol is delivered within one turn.
// `sync()` tells when a turn has ended: it resolves in a later turn, and not inside a critical section that has begun
// since. A timer cannot replace it: while a timer that was set before a critical section is due, workerd 1.20260730.1
// runs no other timer, and the section may wait for one.
//
// Invariants:
//   changes are read between two turns, or at the end of the turn of a call, and never inside `transaction()`
//   if an effect fails, the instance ends, and the next one opens the protocol from the storage
//
// This file does not know how changes are captured, nor what the messages mean.

import { assert, storageError } from '@ctx-storage/core/errors';
import type { DurableObjectState, ObjectWebSocket } from '@ctx-storage/core/object';
import { serialize } from '@ctx-storage/core/values';
import type { ChangeSource } from '../changes/changes.ts';
import { decodeCopyPlace, encodeChanges } from '../changes/changes-bytes.ts';
import {
  FOLLOW_PING,
  FOLLOW_PONG,
  type FollowerCloseReason,
  MESSAGE_BYTES_MAX,
} from '../protocol/connection.ts';
import {
  type CopyMark,
  type CutBase,
  commonProtocol,
  FOLLOW_PROTOCOLS,
  type FollowedCallMessage,
  type FollowedOutcome,
  type HelloMessage,
  isSamePosition,
  type MessageToFollower,
  type MessageToServer,
  type Position,
} from '../protocol/messages.ts';
import { openFollowServer, stepInPlace } from '../protocol/server.ts';
import type {
  CopyLives,
  CountedMessage,
  FollowServerEffect,
  FollowServerEvent,
} from '../protocol/server-events.ts';
import type { FollowerConnection, OwnedFollowServer } from '../protocol/server-state.ts';
import { isUnreadFull, needsReceipt } from '../protocol/unread.ts';
import { checkAuthorized, checkIdentity } from './authorization.ts';
import type { Caller } from './caller.ts';
import { ClientRecords } from './client-records.ts';
import { Deadline, type DeadlineEnvironment } from './deadline.ts';
import { argumentsOf, decodeFollowerMessage } from './follower-message.ts';
import { type FollowerSocket, FollowerSockets } from './follower-sockets.ts';
import { Identities } from './identities.ts';
import { MessageRate } from './message-rate.ts';
import { OpenTransactions } from './open-transactions.ts';
import type { CheckedOptions } from './options.ts';
import { isOriginAllowed } from './origins.ts';
import { errorOutcome, valueOutcome } from './outcome.ts';
import { SnapshotParts } from './snapshot-parts.ts';

/** Starts to capture the changes of an object's storage. `onWrite` is called for each write from then on. */
export type CaptureChanges = (
  storage: DurableObjectState['storage'],
  life: number,
  onWrite: () => void,
) => ChangeSource;

export interface ServedEnvironment extends DeadlineEnvironment {
  readonly capture: CaptureChanges;
  randomUint32(): number;
}

/**
 * The most bytes of changes in one message (our choice). A follower that is further behind gets a snapshot, in parts that
 * it asks for.
 */
const CUT_BYTES_MAX = 8 * 2 ** 20;
/** The messages per second of all connections together (our choice: an object can read that many, and still answer calls). */
const MESSAGES_PER_SECOND_OF_ALL = 5000;
/** Sent messages are counted as soon as they have this many bytes, to exceed the bounds by no more (our choice). */
const COUNTED_AT_ONCE_BYTES = 2 ** 20;
/** The approximate size of a message's other fields and frame, and of the bookkeeping of its socket. */
const MESSAGE_BYTES = 256;

type Effect<Kind> = Extract<FollowServerEffect, { kind: Kind }>;
/** An event of the protocol without `head`, which is read when the event is delivered. */
type Event = FollowServerEvent extends infer E
  ? E extends unknown
    ? Omit<E, 'head'>
    : never
  : never;

export class ServedObject {
  readonly #ctx: DurableObjectState;
  readonly #options: CheckedOptions;
  readonly #sockets: FollowerSockets;
  readonly #records: ClientRecords;
  readonly #source: ChangeSource;
  readonly #parts: SnapshotParts;
  readonly #rate: MessageRate;
  readonly #randomUint32: () => number;
  readonly #identities: Identities;
  readonly #caller: Caller;
  /** The identities of the clients whose calls wait or run. */
  readonly #identityByClient = new Map<string, string>();
  /** Ends the connection that must be closed next, at its time. */
  readonly #deadline: Deadline;
  #object: object = {};
  #protocol: OwnedFollowServer | null = null;
  readonly #effectsToDo: FollowServerEffect[] = [];
  #isPerforming = false;
  /** The client whose call is in its first turn; null if none is. */
  #clientInFirstTurn: string | null = null;
  /** True from the first write of a turn until the protocol is told of the change. */
  #isChangeDue = false;
  readonly #transactions: OpenTransactions;
  /** The messages that were sent and that the protocol has not counted, and their bytes. */
  readonly #sentMessages: CountedMessage[] = [];
  #sentBytes = 0;
  /** The changes that were encoded last, cached because several followers usually need the same changes. */
  #lastChanges: Readonly<Record<'since' | 'to', Position> & { bytes: Uint8Array | null }> | null =
    null;

  /** Must run before the constructor of the class, whose writes it captures. */
  constructor(
    ctx: DurableObjectState,
    options: CheckedOptions,
    caller: Caller,
    environment: ServedEnvironment,
  ) {
    this.#ctx = ctx;
    this.#options = options;
    this.#caller = caller;
    this.#randomUint32 = environment.randomUint32;
    this.#identities = new Identities(ctx.storage, environment.randomUint32);
    const forget = () => {
      this.#update({ kind: 'outcomesDeleted' });
      return (stored: string) => this.#identities.markOfStored(stored);
    };
    this.#records = new ClientRecords(ctx.storage, environment.now, forget);
    this.#sockets = new FollowerSockets(ctx, environment.now);
    this.#deadline = new Deadline(environment, () => this.#runOrAbort(() => this.#endOverdue()));
    this.#rate = new MessageRate(
      { ofOne: options.limits.messagesPerSecond, ofAll: MESSAGES_PER_SECOND_OF_ALL },
      environment.now,
    );
    this.#transactions = new OpenTransactions(ctx.storage, (task) => this.#afterTurn(task));
    // Life 0 belongs to the empty history, so no instance may have it.
    const life = environment.randomUint32() || 1;
    this.#source = environment.capture(ctx.storage, life, () => this.#noteChange());
    this.#parts = new SnapshotParts(this.#source);
  }

  /** Begins to serve the object, once the constructor of the class has run. */
  beginServing(object: object): void {
    this.#object = object;
    this.#caller.endConstruction();
    this.#afterTurn(() => this.#openOnce());
  }

  isFollower(socket: ObjectWebSocket): boolean {
    return this.#sockets.isFollower(socket);
  }

  /** Answers a request to follow, after asking `authorize`. @throws errors of `authorize` and `origins` */
  async accept(request: Request, env: unknown): Promise<Response> {
    const { authorize, origins, limits } = this.#options;
    if (!isOriginAllowed(request, origins)) return this.#sockets.refuse('ORIGIN_REFUSED');
    const target = { env: env as never, id: this.#ctx.id };
    const authorization = checkAuthorized(await authorize(request, target));
    if (authorization === null) return this.#sockets.refuse('NOT_AUTHORIZED');
    const { identity } = authorization;
    if (this.#identities.isEnded(identity)) return this.#sockets.refuse('NOT_AUTHORIZED');
    this.#runOrAbort(() => this.#endOverdue());
    const isFull =
      this.#sockets.count >= limits.followers ||
      this.#sockets.numbersOf(identity).length >= limits.followersPerIdentity;
    if (isFull) return this.#sockets.refuse('TOO_MANY_FOLLOWERS');
    const response = this.#sockets.accept(authorization);
    // The authorization may already have expired.
    this.#runOrAbort(() => this.#endOverdue());
    return response;
  }

  /** Ends the connections of an identity, and refuses the identity. Resolves when the refusal is durable. */
  endFollowers(given: unknown): Promise<void> {
    const identity = checkIdentity('ctx.endFollowers()', given);
    this.#identities.end(identity);
    for (const number of this.#sockets.numbersOf(identity)) this.#end(number, 'NOT_AUTHORIZED');
    this.#withdrawCalls(identity);
    return this.#ctx.storage.sync();
  }

  /** Lets an identity follow again. Resolves when the permission is durable. */
  allowFollowers(given: unknown): Promise<void> {
    this.#identities.allow(checkIdentity('ctx.allowFollowers()', given));
    return this.#ctx.storage.sync();
  }

  receive(socket: ObjectWebSocket, data: string | ArrayBuffer) {
    this.#runOrAbort(() => this.#endOverdue());
    const from = this.#sockets.stateOf(socket);
    if (from.kind === 'closed') return;
    const { number } = from;
    if (!this.#rate.allows(number)) return this.#closeConnection(number, 'TOO_FAST');
    if (data === FOLLOW_PING) return this.#sockets.send(number, FOLLOW_PONG);
    if (typeof data === 'string') return this.#closeConnection(number, 'MALFORMED');
    if (data.byteLength > MESSAGE_BYTES_MAX)
      return this.#closeConnection(number, 'MESSAGE_TOO_LARGE');
    let message: MessageToServer;
    try {
      message = decodeFollowerMessage(data);
    } catch {
      return this.#closeConnection(number, 'MALFORMED');
    }
    this.#runOrAbort(() => {
      const connection = number;
      if (message.kind === 'hello') {
        this.#hello(from, message);
      } else if (message.kind === 'next') {
        const copyLives = this.#copyLives(message.copy);
        this.#deliver({ kind: 'next', connection, message, copyLives });
      } else if (message.kind === 'ack') {
        this.#deliver({ kind: 'ack', connection, message });
      } else {
        if (from.kind === 'greeted') {
          this.#identityByClient.set(from.connection.client, from.identity);
        }
        this.#deliver({ kind: 'call', connection, message, bytes: data.byteLength });
      }
    });
  }

  /** Ends the connection of a socket that was closed, or broke. */
  socketClosed(socket: ObjectWebSocket): void {
    const state = this.#sockets.stateOf(socket);
    this.#sockets.socketEnded(socket);
    if (state.kind === 'closed') return;
    this.#rate.forget(state.number);
    this.#runOrAbort(() => this.#deliver({ kind: 'closed', connection: state.number }));
  }

  #hello({ number, identity }: Exclude<FollowerSocket, { kind: 'closed' }>, message: HelloMessage) {
    const { client, position } = message;
    const connection = number;
    if (commonProtocol(message.protocol) === null) {
      // The fields of another protocol version are not read. The protocol rejects this hello.
      const facts = { record: null, lifeAtPosition: null, copyLives: null, canSnapshot: false };
      return this.#deliver({ kind: 'hello', connection, message, ...facts });
    }
    this.#openOnce();
    const known = this.#records.get(client);
    const mark = this.#identities.markOf(identity);
    if (known === null) {
      const { clientsPerIdentity } = this.#options.limits;
      const inUse = this.#protocol!.clients.keys();
      const reason = this.#records.admit(message, mark, clientsPerIdentity, inUse);
      if (reason === 'CLIENT_REMOVED')
        this.#send(number, { kind: 'rejected', reason, protocol: FOLLOW_PROTOCOLS });
      if (reason !== null) return this.#closeConnection(number, reason);
    } else if (known.identity === null || this.#identities.markOfStored(known.identity) !== mark)
      return this.#closeConnection(number, 'CLIENT_TAKEN');
    else this.#records.see(client);
    const lifeAtPosition = position === null ? null : this.#source.lifeAt(position.id);
    const record = known?.record ?? null;
    const copyLives = this.#copyLives(message.copy);
    const canSnapshot = this.#canSnapshot;
    const facts = { record, lifeAtPosition, copyLives, canSnapshot };
    this.#deliver({ kind: 'hello', connection, message, ...facts });
  }

  get #canSnapshot(): boolean {
    return this.#ctx.storage.sql.databaseSize <= this.#options.limits.objectBytes;
  }

  /** Returns the lives of a snapshot's positions; null if the snapshot cannot be continued. */
  #copyLives(mark: CopyMark | null): CopyLives | null {
    if (mark === null) return null;
    const { from, at, next } = mark;
    const place = next === null ? null : decodeCopyPlace(next);
    const isPlaceInvalid = next !== null && place === null;
    if (isPlaceInvalid || !this.#source.canContinueCopy(from, place)) return null;
    return { from: this.#source.lifeAt(from.id), at: this.#source.lifeAt(at.id) };
  }

  /** Closes a connection for a reason that this file found, and tells the protocol about the close. */
  #closeConnection(number: number, reason: FollowerCloseReason): void {
    this.#sockets.close(number, reason);
    this.#rate.forget(number);
    this.#runOrAbort(() => this.#deliver({ kind: 'closed', connection: number }));
  }

  /** Ends the connections whose end has been reached. */
  #endOverdue(): void {
    for (const { number, reason } of this.#sockets.overdue()) this.#end(number, reason);
    this.#deadline.set(this.#sockets.nextEndMs);
  }

  /** Closes a connection, possibly in the middle of a turn. Other connections are not affected. */
  #end(number: number, reason: FollowerCloseReason): void {
    this.#sockets.close(number, reason);
    this.#rate.forget(number);
    this.#update({ kind: 'closed', connection: number });
  }

  /** Withdraws the calls of an identity that have not begun. Its followers send them again if they may follow again. */
  #withdrawCalls(identity: string): void {
    const clients = [...this.#identityByClient].filter(([, of]) => of === identity);
    this.#update({ kind: 'callsWithdrawn', clients: clients.map(([client]) => client) });
  }

  /** Delivers an event that has no effects, possibly in the middle of a turn. */
  #update(event: Event): void {
    if (this.#protocol === null) return;
    // During deleteAll(), there is no position. An event without effects does not need one.
    const head = { id: 0, life: 0 };
    const { state, effects, changedConnections } = stepInPlace(this.#protocol, { ...event, head });
    assert(effects.length === 0, 'an event in the middle of a turn had effects');
    this.#storeState(state, changedConnections);
  }

  #deliver(event: Event): void {
    this.#openOnce();
    this.#pauseCall();
    this.#step(event);
  }

  #openOnce(): void {
    if (this.#protocol !== null) return;
    this.#endOverdue();
    const connections = this.#sockets.greeted();
    const records = new Map(this.#records.recordsWithUnansweredCall());
    for (const [number, { client, sent, told }] of connections) {
      const record = this.#records.get(client)?.record ?? undefined;
      // A message is sent only after the writes before it are durable. If the storage lacks what this connection was
      // sent, writes were lost or the object was restored.
      if (
        record !== undefined &&
        record.last >= told &&
        (sent === null || this.#source.lifeAt(sent.id) === sent.life)
      ) {
        records.set(client, record);
        continue;
      }
      connections.delete(number);
      this.#sockets.close(number, 'STALE');
    }
    const { version } = this.#options;
    const head = this.#source.head();
    const { state, effects, changedConnections } = openFollowServer({
      ...{ version, head, connections, records },
    });
    this.#storeState(state, changedConnections);
    this.#performAll(effects);
  }

  #step(event: Event): void {
    this.#endOverdue();
    const head = this.#source.head();
    const { state, effects, changedConnections } = stepInPlace(this.#protocol!, { ...event, head });
    this.#storeState(state, changedConnections);
    this.#performAll(effects);
  }

  #storeState(state: OwnedFollowServer, changedConnections: ReadonlySet<number>): void {
    for (const number of changedConnections) {
      const connection = state.connections.get(number);
      if (connection !== undefined) this.#sockets.keep(number, connection);
    }
    this.#protocol = state;
    if (this.#identityByClient.size <= state.clients.size) return;
    for (const client of this.#identityByClient.keys()) {
      if (!state.clients.has(client)) this.#identityByClient.delete(client);
    }
  }

  /** Performs effects in order. A call that ends in its first turn appends its effects to the list. */
  #performAll(effects: readonly FollowServerEffect[]): void {
    this.#effectsToDo.push(...effects);
    if (this.#isPerforming) return;
    this.#isPerforming = true;
    do {
      for (let due = this.#effectsToDo.shift(); due !== undefined; due = this.#effectsToDo.shift())
        this.#perform(due);
      this.#countSent();
    } while (this.#effectsToDo.length > 0);
    this.#isPerforming = false;
    this.#lastChanges = null;
    this.#source.prune(() => this.#oldestSent());
  }

  /**
   * Returns the oldest position of a connected follower. Notes after this position must be kept. Followers that receive
   * a snapshot do not count, because they can begin the snapshot again; nor do followers that do not read, because
   * notes would be kept for them for ever.
   */
  #oldestSent(): number {
    const connections = [...this.#protocol!.connections.values()];
    const isCounted = ({ unread }: FollowerConnection) => !isUnreadFull(unread);
    const sent = connections.filter(isCounted).map((counted) => counted.sent?.id);
    return Math.min(...sent.map((id) => id ?? Number.POSITIVE_INFINITY));
  }

  #perform(effect: FollowServerEffect) {
    switch (effect.kind) {
      case 'record':
        return this.#records.store(effect.client, effect.record, effect.outcome);
      case 'storeAttempt':
        return this.#afterTurn(() =>
          this.#deliver({ kind: 'attemptStored', client: effect.client }),
        );
      case 'run':
        return this.#run(effect.client, effect.call);
      case 'send':
        return this.#send(effect.connection, effect.message);
      case 'sendEnded':
        return this.#sendEnded(effect);
      case 'sendCut':
        return this.#sendCut(effect);
      case 'sendPart':
        return this.#sendPart(effect);
      case 'close':
        this.#rate.forget(effect.connection);
        return this.#sockets.close(effect.connection, effect.reason);
      case 'updateLater':
        return this.#noteChange();
    }
  }

  #send(connection: number, message: MessageToFollower): void {
    this.#sockets.send(connection, serialize(message));
  }

  #sendEnded({ connection, ...answers }: Effect<'sendEnded'>): void {
    const { outcomes, bytes } = this.#records.outcomes(answers);
    const ended = { kind: 'ended', last: answers.last, outcomes } as const;
    this.#sendCounted(connection, bytes, (receipt) => ({ ...ended, receipt }));
  }

  #sendCut({ connection, since, parts, to, ...answers }: Effect<'sendCut'>): void {
    const changes = this.#changesSince(since, to);
    if (changes === null) {
      this.#step({ kind: 'cutTooLarge', connection, canSnapshot: this.#canSnapshot });
      return;
    }
    const onto: CutBase =
      parts === null
        ? { kind: 'position', position: since }
        : { kind: 'parts', from: since, count: parts };
    const { outcomes, bytes } = this.#records.outcomes(answers);
    const cut = { kind: 'cut', onto, to, last: answers.last, outcomes, changes } as const;
    this.#sendCounted(connection, changes.length + bytes, (receipt) => ({ ...cut, receipt }));
  }

  /**
   * Returns the encoded changes between two positions; null if the changes are too large, or their notes were deleted.
   * Most followers have the same position, so the last changes are cached.
   */
  #changesSince(since: Position, to: Position): Uint8Array | null {
    const known = this.#lastChanges;
    if (known !== null && isSamePosition(known.since, since) && isSamePosition(known.to, to)) {
      return known.bytes;
    }
    const isKept = this.#source.lifeAt(since.id) === since.life;
    const changes = isKept ? this.#source.changesSince(since, CUT_BYTES_MAX) : null;
    const bytes = changes === null ? null : encodeChanges(changes);
    this.#lastChanges = { since, to, bytes };
    return bytes;
  }

  #sendPart({ connection, from, at, parts, after }: Effect<'sendPart'>): void {
    const place = after === null ? null : decodeCopyPlace(after);
    const isFirst = parts === 0;
    const { changes, next, at: readAt } = this.#parts.read(place, isFirst ? null : from, at);
    const progress = Math.min(1, (place?.sentBytes ?? 0) / this.#ctx.storage.sql.databaseSize);
    const begun = isFirst ? readAt : from;
    const copy = { from: begun, at, parts: parts + 1, next };
    const part = { kind: 'part', copy, progress, changes } as const;
    this.#sendCounted(connection, changes.length, (receipt) => ({ ...part, receipt }));
    if (next === null) this.#step({ kind: 'partsSent', connection, copy });
  }

  /** Sends a message of approximately this size, and asks for a receipt when one is due. */
  #sendCounted(
    connection: number,
    contentBytes: number,
    messageWith: (receipt: number | null) => MessageToFollower,
  ): void {
    const known = this.#protocol!.connections.get(connection);
    if (known === undefined) return;
    const bytes = contentBytes + MESSAGE_BYTES;
    const receipt = needsReceipt(known.unread, bytes) ? this.#randomUint32() : null;
    this.#send(connection, messageWith(receipt));
    this.#sentMessages.push({ connection, bytes, receipt });
    this.#sentBytes += bytes;
    if (this.#sentBytes >= COUNTED_AT_ONCE_BYTES) this.#countSent();
  }

  /** Reports the sent messages to the protocol, in one event, because each event has a cost for each connection. */
  #countSent(): void {
    const messages = this.#sentMessages.splice(0);
    this.#sentBytes = 0;
    if (messages.length > 0) this.#step({ kind: 'sent', messages });
  }

  #run(client: string, { method, args }: FollowedCallMessage) {
    let returned: unknown;
    try {
      // A lazy thenable begins its work when it is resolved, and that work belongs to the call, too.
      returned = this.#caller.run(this.#identityByClient.get(client)!, () => {
        const result = this.#invoke(method, args);
        return isThenable(result) ? Promise.resolve(result) : result;
      });
    } catch (error) {
      return this.#endCall(client, errorOutcome(error));
    }
    if (!isThenable(returned)) return this.#endCall(client, valueOutcome(returned));
    this.#clientInFirstTurn = client;
    const end = (outcome: FollowedOutcome) =>
      this.#runOrAbort(() => this.#endCall(client, outcome));
    const run = Promise.resolve(returned).then(
      (value) => end(valueOutcome(value)),
      (error) => end(errorOutcome(error)),
    );
    this.#ctx.waitUntil(run);
    this.#afterTurn(() => this.#pauseCall());
  }

  #invoke(method: string, bytes: unknown): unknown {
    if (!this.#options.methods.has(method)) {
      throw storageError(
        'UNKNOWN_METHOD',
        `Followers may not call "${method}". The option methods of followable() lists those they may.`,
      );
    }
    const args = argumentsOf(method, bytes);
    // As in RPC, the method must belong to the class; properties of the object are private.
    const found: unknown = Reflect.get(Object.getPrototypeOf(this.#object), method, this.#object);
    return Reflect.apply(found as Function, this.#object, args);
  }

  /** Tells the protocol that a client's call has ended, in its first turn or in a later one. */
  #endCall(client: string, outcome: FollowedOutcome): void {
    if (this.#transactions.defer(() => this.#endCall(client, outcome))) return;
    if (this.#clientInFirstTurn === client) this.#clientInFirstTurn = null;
    else this.#pauseCall();
    const bytes = serialize(outcome).length;
    this.#step({ kind: 'ended', client, outcome, bytes });
  }

  /** Tells the protocol that the call in its first turn continues in later turns. Must precede any other event. */
  #pauseCall(): void {
    const client = this.#clientInFirstTurn;
    if (client === null) return;
    this.#clientInFirstTurn = null;
    this.#step({ kind: 'paused', client });
  }

  #noteChange(): void {
    if (this.#isChangeDue) return;
    this.#isChangeDue = true;
    this.#afterTurn(() => {
      this.#isChangeDue = false;
      this.#deliver({ kind: 'changed' });
    });
  }

  /** Runs the task once this turn is durable and no transaction is open. */
  #afterTurn(task: () => void): void {
    const whenDurable = () => {
      if (!this.#transactions.defer(task)) this.#runOrAbort(task);
    };
    // `sync` is called in a microtask, because a write inside of transactionSync() may not wait. If the turn cannot be
    // stored, the instance ends, and the next one informs the followers.
    const turn = Promise.resolve().then(() => this.#ctx.storage.sync());
    this.#ctx.waitUntil(turn.then(whenDurable, () => {}));
  }

  /** Runs the task. If it fails, the instance ends, because the protocol's state may be ahead of the storage. */
  #runOrAbort(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#ctx.abort(`A follower's message could not be handled: ${String(error)}`);
    }
  }
}

function isThenable(value: unknown): boolean {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
