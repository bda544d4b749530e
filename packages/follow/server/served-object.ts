// An object with followers: performs the effects of the protocol (protocol/server.ts) on its storage and sockets, and runs
// the calls.
//
// An event of the object is a turn of its code with all its microtasks; its writes are one implicit transaction, and the
// output gate holds its messages until they are durable. So an event of the protocol is delivered in one turn. When a
// turn has ended is known from `sync()`: it resolves in a later turn, also where time stands still, and outside of any
// critical section that has begun since. A timer would not do: until it runs, workerd 1.20260730.1 runs no other timer,
// for which a critical section may wait.
//
// Invariants:
//   a cut is read between two turns, or at the end of the turn of a call, and never inside `transaction()`
//   if an effect fails, the instance ends, and the next one opens the protocol from the storage
//
// Does not know how changes are captured, nor the messages' meaning.

import { storageError } from '@ctx-storage/core/errors';
import type { DurableObjectState, ObjectWebSocket } from '@ctx-storage/core/object';
import { deserialize, serialize } from '@ctx-storage/core/values';
import type { ChangeSource } from '../changes/changes.ts';
import { decodeCopyPlace, encodeChanges } from '../changes/changes-bytes.ts';
import {
  FOLLOW_PING,
  FOLLOW_PONG,
  type FollowerCloseReason,
  MESSAGE_BYTES_MAX,
} from '../protocol/connection.ts';
import { decodeToServer } from '../protocol/decode.ts';
import {
  type CopyMark,
  type CutBase,
  type FollowedCallMessage,
  type FollowedOutcome,
  type HelloMessage,
  isSamePosition,
  type MessageToFollower,
  type MessageToServer,
  type Position,
} from '../protocol/messages.ts';
import {
  type CopyLives,
  type FollowServer,
  type FollowServerEffect,
  type FollowServerEvent,
  openFollowServer,
  stepFollowServer,
} from '../protocol/server.ts';
import { ClientRecords } from './client-records.ts';
import { type FollowerSocket, FollowerSockets } from './follower-sockets.ts';
import { MessageRate } from './message-rate.ts';
import { type CheckedOptions, checkIdentity } from './options.ts';
import { errorOutcome, valueOutcome } from './outcome.ts';

/** Makes the source of an object's changes, which tells of each write from now on. */
export type CaptureChanges = (
  storage: DurableObjectState['storage'],
  life: number,
  onWrite: () => void,
) => ChangeSource;

export interface ServedEnvironment {
  readonly capture: CaptureChanges;
  now(): number;
  randomUint32(): number;
}

/** Of a call (our choice): an array with holes names any number in ten bytes, and V8 takes a minute for 60 million. */
const ARGUMENTS_MAX = 1000;

type Effect<Kind> = Extract<FollowServerEffect, { kind: Kind }>;
/** Without the position, which is read when the event is delivered. */
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
  readonly #rate: MessageRate;
  #object: object = {};
  #core: FollowServer | null = null;
  readonly #due: FollowServerEffect[] = [];
  #isPerforming = false;
  /** The client whose call is in its first turn. */
  #beginning: string | null = null;
  #isWritten = false;
  #openTransactions = 0;
  /** Tasks that wait for the end of the transactions. */
  readonly #held: (() => void)[] = [];
  #lastChanges: Readonly<Record<'since' | 'to', Position> & { bytes: Uint8Array }> | null = null;

  /** Before the constructor of the class, which may write. */
  constructor(ctx: DurableObjectState, options: CheckedOptions, environment: ServedEnvironment) {
    this.#ctx = ctx;
    this.#options = options;
    this.#records = new ClientRecords(ctx.storage);
    this.#sockets = new FollowerSockets(ctx);
    this.#rate = new MessageRate(options.limits.messagesPerSecond, environment.now);
    this.#countTransactions();
    // The empty history is in life 0.
    const life = environment.randomUint32() || 1;
    this.#source = environment.capture(ctx.storage, life, () => this.#written());
  }

  /** The object was constructed. */
  begin(object: object): void {
    this.#object = object;
    this.#afterTurn(() => this.#opened());
  }

  isFollower(socket: ObjectWebSocket): boolean {
    return this.#sockets.isOne(socket);
  }

  /** Answers a request to follow. @throws errors of `authorize` */
  async accept(request: Request, env: unknown): Promise<Response> {
    const target = { env: env as never, id: this.#ctx.id };
    const identity = checkIdentity(await this.#options.authorize(request, target));
    if (identity === null) return this.#sockets.refuse('NOT_AUTHORIZED');
    const isFull = this.#sockets.count >= this.#options.limits.followers;
    return isFull ? this.#sockets.refuse('TOO_MANY_FOLLOWERS') : this.#sockets.accept(identity);
  }

  receive(socket: ObjectWebSocket, data: string | ArrayBuffer) {
    const from = this.#sockets.stateOf(socket);
    if (from.kind === 'closed') return;
    const { number } = from;
    if (!this.#rate.takes(number)) return this.#refuse(number, 'TOO_FAST');
    if (data === FOLLOW_PING) return this.#sockets.send(number, FOLLOW_PONG);
    if (typeof data === 'string') return this.#refuse(number, 'MALFORMED');
    if (data.byteLength > MESSAGE_BYTES_MAX) return this.#refuse(number, 'MESSAGE_TOO_LARGE');
    let message: MessageToServer;
    try {
      message = decodeToServer(deserialize(new Uint8Array(data)));
    } catch {
      return this.#refuse(number, 'MALFORMED');
    }
    this.#orEnd(() => {
      const connection = number;
      if (message.kind === 'hello') {
        this.#hello(from, message);
      } else if (message.kind === 'next') {
        const copyLives = this.#copyLives(message.copy);
        this.#deliver({ kind: 'next', connection, message, copyLives });
      } else {
        this.#deliver({ kind: 'call', connection, message });
      }
    });
  }

  /** A socket was closed, or broke. */
  closed(socket: ObjectWebSocket): void {
    const state = this.#sockets.stateOf(socket);
    this.#sockets.ended(socket);
    if (state.kind === 'closed') return;
    this.#rate.forget(state.number);
    this.#orEnd(() => this.#deliver({ kind: 'closed', connection: state.number }));
  }

  #hello({ number, identity }: Exclude<FollowerSocket, { kind: 'closed' }>, message: HelloMessage) {
    const { client, position } = message;
    const known = this.#records.get(client);
    if (known === null) this.#records.add(client, identity);
    else if (known.identity !== identity) return this.#refuse(number, 'CLIENT_TAKEN');
    const lifeAtPosition = position === null ? null : this.#source.lifeAt(position.id);
    const record = known?.record ?? null;
    const copyLives = this.#copyLives(message.copy);
    const canSnapshot = this.#ctx.storage.sql.databaseSize <= this.#options.limits.objectBytes;
    const facts = { record, lifeAtPosition, copyLives, canSnapshot };
    this.#deliver({ kind: 'hello', connection: number, message, ...facts });
  }

  /** Null: no part can follow those of the mark. */
  #copyLives(mark: CopyMark | null): CopyLives | null {
    if (mark === null) return null;
    const { from, at, next } = mark;
    const place = next === null ? null : decodeCopyPlace(next);
    const isBroken = next !== null && place === null;
    if (isBroken || !this.#source.canGoOn(from, place)) return null;
    return { from: this.#source.lifeAt(from.id), at: this.#source.lifeAt(at.id) };
  }

  /** Closes a connection for a reason that the protocol does not know. */
  #refuse(number: number, reason: FollowerCloseReason): void {
    this.#sockets.close(number, reason);
    this.#rate.forget(number);
    this.#orEnd(() => this.#deliver({ kind: 'closed', connection: number }));
  }

  #deliver(event: Event): void {
    this.#opened();
    this.#endFirstTurn();
    this.#step(event);
  }

  #opened(): void {
    if (this.#core !== null) return;
    const connections = this.#sockets.greeted();
    const records = new Map(this.#records.unfinished());
    for (const [number, { client, sent, told }] of connections) {
      const record = this.#records.get(client)?.record;
      // The messages to it have left only if the writes before them are there.
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
    const { state, effects } = openFollowServer({ version, head, connections, records });
    this.#adopt(state);
    this.#performAll(effects);
  }

  #step(event: Event): void {
    const head = this.#source.head();
    const { state, effects } = stepFollowServer(this.#core!, { ...event, head });
    this.#adopt(state);
    this.#performAll(effects);
  }

  #adopt(state: FollowServer): void {
    for (const [number, connection] of state.connections) {
      if (this.#core?.connections.get(number) !== connection) {
        this.#sockets.keep(number, connection);
      }
    }
    this.#core = state;
  }

  /** In order. A call that ends in its first turn adds its effects at the end. */
  #performAll(effects: readonly FollowServerEffect[]): void {
    this.#due.push(...effects);
    if (this.#isPerforming) return;
    this.#isPerforming = true;
    for (let due = this.#due.shift(); due !== undefined; due = this.#due.shift())
      this.#perform(due);
    this.#isPerforming = false;
    this.#lastChanges = null;
    this.#source.prune(this.#oldestSent());
  }

  /** A follower that is being told of each change needs the notes after its position. One that copies may begin again. */
  #oldestSent(): number {
    const connections = [...this.#core!.connections.values()];
    return Math.min(...connections.map(({ sent }) => sent?.id ?? Number.POSITIVE_INFINITY));
  }

  #perform(effect: FollowServerEffect) {
    switch (effect.kind) {
      case 'record':
        return this.#records.store(effect.client, effect.record);
      case 'storeAttempt':
        return this.#afterTurn(() =>
          this.#deliver({ kind: 'attemptStored', client: effect.client }),
        );
      case 'run':
        return this.#run(effect.client, effect.call);
      case 'send':
        return this.#send(effect.connection, effect.message);
      case 'sendCut':
        return this.#sendCut(effect);
      case 'sendPart':
        return this.#sendPart(effect);
      case 'close':
        return this.#sockets.close(effect.connection, effect.reason);
    }
  }

  #send(connection: number, message: MessageToFollower): void {
    this.#sockets.send(connection, serialize(message));
  }

  #sendCut({ connection, since, parts, to, last, outcomes }: Effect<'sendCut'>): void {
    const onto: CutBase =
      parts === null
        ? { kind: 'position', position: since }
        : { kind: 'parts', from: since, count: parts };
    const changes = this.#changesSince(since, to);
    this.#send(connection, { kind: 'cut', onto, to, last, outcomes, changes });
  }

  /** Most followers have the same position. */
  #changesSince(since: Position, to: Position): Uint8Array {
    const known = this.#lastChanges;
    if (known !== null && isSamePosition(known.since, since) && isSamePosition(known.to, to)) {
      return known.bytes;
    }
    const bytes = encodeChanges(this.#source.changesSince(since));
    this.#lastChanges = { since, to, bytes };
    return bytes;
  }

  #sendPart({ connection, from, at, parts, after }: Effect<'sendPart'>): void {
    const place = after === null ? null : decodeCopyPlace(after);
    const { changes, next } = this.#source.copyPart(place);
    const progress = Math.min(1, (place?.sentBytes ?? 0) / this.#ctx.storage.sql.databaseSize);
    const copy = { from, at, parts: parts + 1, next };
    this.#send(connection, { kind: 'part', copy, progress, changes: encodeChanges(changes) });
    if (next !== null) return;
    const copyLives = { from: from.life, at: at.life };
    this.#step({ kind: 'next', connection, message: { kind: 'next', copy }, copyLives });
  }

  #run(client: string, { method, args }: FollowedCallMessage) {
    let returned: unknown;
    try {
      returned = this.#invoke(method, args);
    } catch (error) {
      return this.#ended(client, errorOutcome(error));
    }
    if (!isThenable(returned)) return this.#ended(client, valueOutcome(returned));
    this.#beginning = client;
    const end = (outcome: FollowedOutcome) => this.#orEnd(() => this.#ended(client, outcome));
    const run = Promise.resolve(returned).then(
      (value) => end(valueOutcome(value)),
      (error) => end(errorOutcome(error)),
    );
    this.#ctx.waitUntil(run);
    this.#afterTurn(() => this.#endFirstTurn());
  }

  #invoke(method: string, args: unknown): unknown {
    if (!this.#options.methods.has(method)) {
      throw storageError(
        'UNKNOWN_METHOD',
        `Followers may not call "${method}". The option methods of followable() lists those they may.`,
      );
    }
    if (!Array.isArray(args)) {
      throw storageError('INVALID_ARGUMENT', `${method}(): the arguments are not an array.`);
    }
    if (args.length > ARGUMENTS_MAX) {
      throw storageError(
        'INVALID_ARGUMENT',
        `${method}(): ${args.length} arguments, at most ${ARGUMENTS_MAX}. Pass an array instead.`,
      );
    }
    // As in RPC, a method is one of the class: a property of the object is private.
    const found: unknown = Reflect.get(Object.getPrototypeOf(this.#object), method, this.#object);
    return Reflect.apply(found as Function, this.#object, args);
  }

  /** The call has ended, in its first turn or in a later one. */
  #ended(client: string, outcome: FollowedOutcome): void {
    if (this.#waitsForTransaction(() => this.#ended(client, outcome))) return;
    if (this.#beginning === client) this.#beginning = null;
    else this.#endFirstTurn();
    this.#step({ kind: 'ended', client, outcome });
  }

  /** The call that runs goes on in later turns. Before any other event. */
  #endFirstTurn(): void {
    const client = this.#beginning;
    if (client === null) return;
    this.#beginning = null;
    this.#step({ kind: 'paused', client });
  }

  #written(): void {
    if (this.#isWritten) return;
    this.#isWritten = true;
    this.#afterTurn(() => {
      this.#isWritten = false;
      this.#deliver({ kind: 'changed' });
    });
  }

  /** Performs the task when this turn has ended and is durable, and no transaction is open. */
  #afterTurn(task: () => void): void {
    const whenQuiet = () => {
      if (!this.#waitsForTransaction(task)) this.#orEnd(task);
    };
    // The microtask: a write inside of transactionSync() is no place to wait. If the turn cannot be stored, the instance
    // ends, and the next one tells the followers.
    const turn = Promise.resolve().then(() => this.#ctx.storage.sync());
    this.#ctx.waitUntil(turn.then(whenQuiet, () => {}));
  }

  /** A transaction that takes several turns may be rolled back, and then there were no such changes. */
  #waitsForTransaction(task: () => void): boolean {
    if (this.#openTransactions === 0) return false;
    this.#held.push(task);
    return true;
  }

  #countTransactions(): void {
    const { storage } = this.#ctx;
    const transaction = storage.transaction.bind(storage);
    const ended = () => {
      if (--this.#openTransactions > 0) return;
      for (const task of this.#held.splice(0)) this.#afterTurn(task);
    };
    const counted: typeof transaction = (closure) => {
      this.#openTransactions++;
      const result = transaction(closure);
      result.then(ended, ended);
      return result;
    };
    Object.defineProperty(storage, 'transaction', { value: counted, configurable: true });
  }

  /** An effect that was not performed leaves the protocol's state ahead of the storage. */
  #orEnd(task: () => void): void {
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
