// The replica of one object: performs the effects of the protocol (follower.ts) on the base, the queue and the forecast,
// and runs the app's calls between them, one after the other.
//
// Invariants:
//   if an effect fails, nothing more is performed, because memory and disk may differ. The replica has ended, and is
//   opened again from its files
//   calls and reads of the app run on a forecast that includes every message received before them. Between two of
//   them, several messages share one forecast, because each forecast runs all waiting calls
//
// This file does not know how a connection is made, nor when the next one is made.

import type { FollowState } from '@ctx-storage/core/contract';
import { assert, isStorageError, storageError } from '@ctx-storage/core/errors';
import { addressKey, type ObjectAddress } from '@ctx-storage/core/object';
import { deserialize, serialize } from '@ctx-storage/core/values';
import type { ObjectHost } from '@ctx-storage/worker/objects';
import { MESSAGE_BYTES_MAX } from '../protocol/connection.ts';
import { decodeToFollower } from '../protocol/decode.ts';
import {
  type Follower,
  type FollowerEffect,
  type FollowerEvent,
  openFollower,
  type QueuedCall,
  type RefusedCall,
  type SettledOutcome,
  stepFollower,
} from '../protocol/follower.ts';
import type {
  FollowedCallMessage,
  MessageToFollower,
  MessageToServer,
} from '../protocol/messages.ts';
import { Base } from './base.ts';
import { Forecast, type ForecastAnswer } from './forecast.ts';
import { type NewQueue, ReplicaQueue, StagedParts } from './queue.ts';
import { SerialTasks } from './serial-tasks.ts';

export interface ReplicaEnvironment extends NewQueue {
  now(): number;
  randomUint32(): number;
  afterRealTime(delayMs: number, task: () => void): () => void;
  /**
   * Runs the openings of files one after the other, because an opening may have to wait until other replicas close
   * their files.
   */
  inTurn<T>(open: () => Promise<T>): Promise<T>;
}

/** A connection to the server, through which a replica sends. */
export interface ReplicaSocket {
  send(bytes: Uint8Array): void;
  close(reason: string): void;
}

/** The methods by which a connection reports to the replica. */
export interface ConnectionEvents {
  received(bytes: Uint8Array): void;
  /** Called when the connection has ended. `isClientTaken` is true if the server closed it with CLIENT_TAKEN. */
  closed(isClientTaken?: boolean): void;
}

/** The result of a call of the app. */
export interface FollowedCall {
  /** The number of the call in the queue; null if the call has changed nothing, and is not sent to the server. */
  readonly n: number | null;
  /** The answer of the forecast; null if only the server can run the call. */
  readonly answer: ForecastAnswer | null;
}

export interface ReplicaEvents {
  /** Called when the state, the base or the forecast has changed. */
  onChange(): void;
  /** Called when the server has answered a call. */
  onSettled(n: number, outcome: SettledOutcome): void;
  /** Called when the server has refused a call, and once for each stored refusal when the replica is opened. */
  onRefused(refusal: RefusedCall): void;
  /** Called once, when the replica has ended by an error and must be opened again. */
  onEnded(reason: unknown): void;
}

type Effect<Kind> = Extract<FollowerEffect, { kind: Kind }>;

/** The objects of which a replica consists. */
interface ReplicaObjects {
  readonly base: Base;
  readonly queue: ReplicaQueue;
  readonly staged: StagedParts;
  readonly forecast: Forecast;
}

/** The most bytes of a call's arguments: its message has other fields, too, and the server bounds the whole message. */
const ARGS_BYTES_MAX = MESSAGE_BYTES_MAX - 4096;

/** After this many messages, the forecast is made again even if more messages wait (our choice). */
const MESSAGES_UNSHOWN_MAX = 64;

/** Removes the files of a replica that is not open: the copy, its calls and its refusals. @throws IO */
export async function removeReplica(host: ObjectHost, address: ObjectAddress): Promise<void> {
  const key = addressKey(address);
  await ReplicaQueue.remove(host, key);
  await new StagedParts(host, key).clear();
  await host.erase(address);
}

interface Socket {
  readonly connection: number;
  readonly link: ReplicaSocket;
}

type Life =
  | { readonly kind: 'open'; readonly socket: Socket | null }
  | { readonly kind: 'ended'; readonly reason: unknown };

export class Replica {
  readonly #parts: ReplicaObjects;
  readonly #environment: ReplicaEnvironment;
  readonly #events: ReplicaEvents;
  /** Runs events and calls one after the other. */
  readonly #tasks = new SerialTasks();
  #protocol: Follower;
  /** The state that the app sees: the state of the protocol when the forecast was last made. */
  #shown: Follower;
  /** The calls with which the forecast must be made again, because the base has changed; null if it is up to date. */
  #callsToForecast: readonly QueuedCall[] | null = null;
  /** The number of received messages that wait for earlier tasks. */
  #messagesWaiting = 0;
  /** The number of server messages applied to the base since the forecast was last made. */
  #messagesUnshown = 0;
  #lastSyncAtMs: number | null = null;
  #life: Life = { kind: 'open', socket: null };
  /** The number of connections so far, which is also the number of the newest connection. */
  #connections = 0;

  /**
   * Opens the replica of an object, or creates it. `version` is the version of the class that runs here.
   *
   * @throws CONFLICT if the object has data of its own; errors of opening the object
   */
  static async open(
    host: ObjectHost,
    address: ObjectAddress,
    version: number,
    environment: ReplicaEnvironment,
    events: ReplicaEvents,
  ): Promise<Replica> {
    const key = addressKey(address);
    const open = async () => {
      const base = await Base.open(host, address);
      try {
        return { base, queue: await ReplicaQueue.open(host, key, environment) };
      } catch (error) {
        base.close();
        throw error;
      }
    };
    const { base, queue } = await environment.inTurn(open);
    try {
      const staged = new StagedParts(host, key);
      const forecast = new Forecast(host, base.instance, environment);
      const replica = new Replica({ base, queue, staged, forecast }, version, environment, events);
      await replica.#tasks.settled;
      if (replica.#life.kind === 'ended') throw replica.#life.reason;
      return replica;
    } catch (error) {
      base.close();
      throw error;
    }
  }

  private constructor(
    parts: ReplicaObjects,
    version: number,
    environment: ReplicaEnvironment,
    events: ReplicaEvents,
  ) {
    this.#parts = parts;
    this.#environment = environment;
    this.#events = events;
    const { base, queue } = parts;
    const stored = { base: base.mark, queue: queue.stored, copy: queue.copy };
    const { state, effects } = openFollower(stored, { client: queue.client, version });
    this.#protocol = state;
    this.#shown = state;
    void this.#next(async () => {
      await this.#performAll(effects);
      await this.#show();
    });
  }

  /** See `ReplicaQueue.numberOffset`. */
  get numberOffset(): number {
    return this.#parts.queue.numberOffset;
  }

  /** The number of the newest call. */
  get issued(): number {
    return this.#protocol.queue.issued;
  }

  get state(): FollowState {
    const { link, queue, isForecasting } = this.#shown;
    const versionReason = isForecasting ? null : 'OTHER_VERSION';
    return {
      state: shownState(this.#shown),
      reason: link.kind === 'stopped' ? link.reason : versionReason,
      progress: link.kind === 'catchingUp' ? link.progress : null,
      pending: queue.calls.length,
      lastSyncAtMs: this.#lastSyncAtMs,
      refused: queue.refusals.length,
    };
  }

  get refusals(): readonly RefusedCall[] {
    return this.#shown.queue.refusals;
  }

  /** The calls that the server has not answered. */
  get pending(): readonly QueuedCall[] {
    return this.#shown.queue.calls;
  }

  /**
   * True while no task runs, no snapshot is received, and the forecast is not in use. Calls may wait for the server.
   */
  get isUnused(): boolean {
    const isAtWork = this.#tasks.count > 0 || this.#protocol.link.kind === 'catchingUp';
    return !isAtWork && this.#parts.forecast.isUnused;
  }

  /** Returns the object on which reads and live reads run, once the earlier calls have run. */
  forecast(): Promise<ObjectAddress> {
    return this.#next(async () => {
      await this.#show();
      return this.#forecast.address;
    });
  }

  /**
   * Runs a call of the app. Resolves when the call is durable, with or without a connection.
   *
   * @throws DataCloneError for arguments that cannot be stored; MESSAGE_TOO_LARGE; the reason if the replica has ended
   */
  async call(method: string, args: readonly unknown[]): Promise<FollowedCall> {
    // The queue stores the name as UTF-8.
    if (!method.isWellFormed()) throw notUtf8(method);
    const stored = serialize(args);
    if (stored.length > ARGS_BYTES_MAX) throw tooLarge(method, stored.length);
    return this.#next(() => this.#runCall(method, stored, null));
  }

  /**
   * Makes a refused call again, and removes its refusal. Returns null if there is no such refusal. If the call throws and
   * writes nothing, it stays refused.
   */
  retry(n: number): Promise<FollowedCall | null> {
    return this.#next(async () => {
      const refused = this.#protocol.queue.refusals.find(({ call }) => call.n === n);
      if (refused === undefined) return null;
      const { method, args } = refused.call;
      const made = await this.#runCall(method, serialize(args), n);
      // A call that changes nothing this time is not queued, so it does not remove its refusal itself.
      if (made.answer?.kind === 'value') await this.#dismiss(n);
      return made;
    });
  }

  get #forecast(): Forecast {
    assert(this.#callsToForecast === null, 'a forecast lacks a message');
    return this.#parts.forecast;
  }

  async #runCall(method: string, args: Uint8Array, retried: number | null): Promise<FollowedCall> {
    await this.#show();
    const forecast = this.#forecast;
    const run = await forecast.run(method, deserialize(args) as unknown[]);
    if (run.kind === 'read') return { n: null, answer: run.answer };
    const answer = run.kind === 'wrote' && this.#protocol.isForecasting ? run.answer : null;
    const isForecast = answer !== null;
    if (run.kind === 'wrote' && !isForecast) await forecast.remake();
    const mark = this.#environment.randomUint32();
    const call = { mark, method, args: deserialize(args), bytes: args.length, isForecast };
    const n = this.#protocol.queue.issued + 1;
    await this.#step({ kind: 'called', call, retried });
    if (isForecast) forecast.keep(this.#protocol.queue.calls.find((queued) => queued.n === n)!);
    return { n, answer };
  }

  /** Removes a refusal that the app has seen. */
  dismiss(n: number): Promise<void> {
    return this.#next(() => this.#dismiss(n));
  }

  #dismiss(n: number): Promise<void> {
    return this.#step({ kind: 'dismissed', n });
  }

  /** Uses a new connection, which replaces an earlier one. The connection reports to the returned methods. */
  connected(link: ReplicaSocket): ConnectionEvents {
    const connection = ++this.#connections;
    void this.#next(() => {
      this.#life = { kind: 'open', socket: { connection, link } };
      return this.#step({ kind: 'connected', connection });
    });
    return {
      received: (bytes) => {
        this.#messagesWaiting++;
        void this.#next(() => {
          this.#messagesWaiting--;
          return this.#received(connection, bytes);
        });
      },
      closed: (isClientTaken) => void this.#next(() => this.#closed(connection, isClientTaken)),
    };
  }

  /** Closes all files and the connection, once the running tasks have ended. No call is lost. */
  async close(): Promise<void> {
    await this.#tasks.settled;
    this.#closeAll(storageError('CONNECTION_CLOSED', 'The replica was closed.'));
  }

  #received(connection: number, bytes: Uint8Array): Promise<void> {
    let message: MessageToFollower;
    try {
      message = decodeToFollower(deserialize(bytes));
    } catch (error) {
      this.#disconnect(connection, String(error));
      return this.#closed(connection);
    }
    const bringsAnswers = message.kind === 'cut' || message.kind === 'ended';
    if (bringsAnswers) this.#lastSyncAtMs = this.#environment.now();
    const moreWait = this.#messagesWaiting > 0 && ++this.#messagesUnshown < MESSAGES_UNSHOWN_MAX;
    return this.#step({ kind: 'received', connection, message }, !moreWait);
  }

  #closed(connection: number, isClientTaken = false): Promise<void> {
    this.#forgetSocket(connection);
    return this.#step({ kind: 'disconnected', connection, isClientTaken });
  }

  get #socket(): Socket | null {
    return this.#life.kind === 'open' ? this.#life.socket : null;
  }

  #forgetSocket(connection: number): void {
    if (this.#socket?.connection === connection) this.#life = { kind: 'open', socket: null };
  }

  /** Runs the task after the earlier ones. A task that fails ends the replica. */
  #next<T>(task: () => Promise<T>): Promise<T> {
    return this.#tasks.run(async () => {
      if (this.#life.kind === 'ended') throw this.#life.reason;
      try {
        return await task();
      } catch (error) {
        this.fail(error);
        throw error;
      }
    });
  }

  async #step(event: FollowerEvent, isShown = true): Promise<void> {
    const { state, effects } = stepFollower(this.#protocol, event);
    this.#protocol = state;
    await this.#performAll(effects);
    if (isShown || this.#callsToForecast === null) await this.#show();
  }

  /** Makes the forecast again if it is outdated, and tells the app if anything has changed. */
  async #show(): Promise<void> {
    this.#messagesUnshown = 0;
    if (this.#callsToForecast !== null) await this.#parts.forecast.remake(this.#callsToForecast);
    this.#callsToForecast = null;
    if (this.#shown === this.#protocol) return;
    this.#shown = this.#protocol;
    this.#events.onChange();
  }

  async #performAll(effects: readonly FollowerEffect[]): Promise<void> {
    for (const effect of effects) await this.#perform(effect);
  }

  async #perform(effect: FollowerEffect): Promise<void> {
    assert(this.#life.kind === 'open', 'an effect was performed after the end of its replica');
    const { queue } = this.#parts;
    switch (effect.kind) {
      case 'enqueue':
        return queue.enqueue(effect.call, effect.retried);
      case 'dequeue':
        return queue.dequeue(effect.last, effect.mark, effect.refusals);
      case 'dismiss':
        return queue.dismiss(effect.n);
      case 'stagePart':
        return this.#stagePart(effect);
      case 'applyCut':
        return this.#applyCut(effect);
      case 'forecast':
        this.#callsToForecast = effect.calls;
        return;
      case 'settle':
        return this.#events.onSettled(effect.n, effect.outcome);
      case 'reportRefusal':
        return this.#events.onRefused(effect.refusal);
      case 'send':
        return this.#send(effect.connection, effect.message);
      case 'disconnect':
        return this.#disconnect(effect.connection, effect.reason);
      // These effects need no work here, because each commit before them has resolved when it was durable.
      case 'flushQueue':
      case 'flushBase':
      case 'acknowledge':
        return;
    }
  }

  /** Stages a part. A stored mark always describes the staged parts: it is removed before the first, and stored after each. */
  async #stagePart({ copy, changes }: Effect<'stagePart'>): Promise<void> {
    const { queue, staged } = this.#parts;
    if (copy.parts === 1) await queue.keepCopy(null);
    await staged.add(copy.parts, changes);
    // No mark is stored for the last part: the cut follows at once, and if it does not come, the part is requested again.
    if (copy.next !== null) await queue.keepCopy(copy);
  }

  async #applyCut({ parts, changes, mark }: Effect<'applyCut'>): Promise<void> {
    const { base, queue, staged } = this.#parts;
    try {
      if (parts === null) await base.apply(changes, mark);
      else await staged.use(parts, (found) => base.replace(found, changes, mark));
    } catch (error) {
      const doesNotFit = isStorageError(error) && ['SQL', 'INVALID_ARGUMENT'].includes(error.code);
      if (doesNotFit) {
        await base.forgetPosition(mark);
        await queue.keepCopy(null);
      }
      throw error;
    }
    if (parts === null) return;
    await queue.keepCopy(null);
    await staged.clear();
  }

  #send(connection: number, message: MessageToServer): void {
    const socket = this.#socket;
    assert(socket?.connection === connection, 'a replica sent to a connection that has ended');
    socket.link.send(serialize(message.kind === 'call' ? withArgsAsBytes(message) : message));
  }

  #disconnect(connection: number, reason: string): void {
    const socket = this.#socket;
    if (socket?.connection !== connection) return;
    socket.link.close(reason);
    this.#forgetSocket(connection);
  }

  /** Ends the replica, because this error left it in an unknown state. */
  fail(error: unknown): void {
    if (this.#life.kind === 'ended') return;
    this.#closeAll(error);
    this.#events.onEnded(error);
  }

  #closeAll(reason: unknown): void {
    if (this.#life.kind === 'ended') return;
    const { socket } = this.#life;
    this.#life = { kind: 'ended', reason };
    socket?.link.close('the replica has ended');
    const { base, queue, forecast } = this.#parts;
    forecast.close();
    queue.close();
    base.close();
  }
}

/**
 * Returns the message with serialized arguments: the server receives them as bytes, and decodes them when the call
 * runs.
 */
function withArgsAsBytes({ args, ...call }: FollowedCallMessage): FollowedCallMessage {
  return { ...call, args: serialize(args) };
}

function shownState({ link, isForecasting }: Follower): FollowState['state'] {
  if (link.kind === 'greeting') return 'offline';
  return link.kind === 'current' && !isForecasting ? 'outdated' : link.kind;
}

function notUtf8(method: string): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `follow: the method name ${JSON.stringify(method)} has a lone surrogate, which has no form in UTF-8; rename the method.`,
  );
}

function tooLarge(method: string, sizeBytes: number): Error {
  return storageError(
    'MESSAGE_TOO_LARGE',
    `${method}(): the arguments of a call that follows have at most ${ARGS_BYTES_MAX} bytes, these ${sizeBytes}. ` +
      'Pass them in several calls.',
  );
}
