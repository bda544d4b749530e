// A replica: an object here that follows one on a server. Performs the effects of the protocol (follower.ts) on its
// base, queue and forecast, one after the other, and runs the app's calls between them.
//
// Invariants:
//   if an effect fails, nothing more is done: what is in memory may not be what is on the disk. The replica has ended, and
//   is opened again from its files
//   a call of the app, and a read, meet a forecast of everything that was received before. Between them the forecast of
//   several messages is made once: it runs all calls that wait, and each message answers one of them
//
// Does not know how a connection is made, nor when again.

import type { FollowState } from '@ctx-storage/core/contract';
import { isStorageError, storageError } from '@ctx-storage/core/errors';
import { addressKey, type ObjectAddress } from '@ctx-storage/core/object';
import { deserialize, serialize } from '@ctx-storage/core/values';
import { assert } from '@ctx-storage/worker/engine';
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
import type { CopyMark, MessageToFollower, MessageToServer } from '../protocol/messages.ts';
import { Base } from './base.ts';
import { Forecast, type ForecastAnswer } from './forecast.ts';
import { type NewQueue, ReplicaQueue, StagedParts } from './queue.ts';

export interface ReplicaEnvironment extends NewQueue {
  now(): number;
  afterRealTime(delayMs: number, task: () => void): () => void;
  /** Runs one opening of files after the other: one that waits for files has others already. */
  inTurn<T>(open: () => Promise<T>): Promise<T>;
}

/** A connection to the server. */
export interface ReplicaSocket {
  send(bytes: Uint8Array): void;
  close(reason: string): void;
}

/** Hears from the connection. */
export interface ReplicaEnd {
  received(bytes: Uint8Array): void;
  /** `isClientTaken`: by the server, because the client belongs to another identity. */
  closed(isClientTaken?: boolean): void;
}

/** A call that was made. */
export interface FollowedCall {
  /** Its number in the queue; null: it has changed nothing. */
  readonly n: number | null;
  /** Of the forecast; null: only the server can run the call. */
  readonly answer: ForecastAnswer | null;
}

export interface ReplicaEvents {
  /** The state, the base or the forecast has changed. */
  onChange(): void;
  /** The server has answered a call. */
  onSettled(n: number, outcome: SettledOutcome): void;
  onRefused(refusal: RefusedCall): void;
  /** It has ended by an error, and is to be opened again. */
  onEnded(reason: unknown): void;
}

type Effect<Kind> = Extract<FollowerEffect, { kind: Kind }>;

/** The parts of a replica. */
interface Parts {
  readonly base: Base;
  readonly queue: ReplicaQueue;
  readonly staged: StagedParts;
  readonly forecast: Forecast;
}

/** So that the message of a call, with its other members, is one that the server takes. */
const ARGS_BYTES_MAX = MESSAGE_BYTES_MAX - 4096;

/** Messages that may be received until the forecast is made again, although further ones wait (our choice). */
const MESSAGES_UNSHOWN_MAX = 64;

/** Removes a replica that is not open: the copy, its calls and refusals. @throws IO */
export async function removeReplica(host: ObjectHost, address: ObjectAddress): Promise<void> {
  const key = addressKey(address);
  await ReplicaQueue.remove(host, key);
  await new StagedParts(host, key).clear();
  await host.erase(address);
}

export class Replica {
  readonly #parts: Parts;
  readonly #environment: ReplicaEnvironment;
  readonly #events: ReplicaEvents;
  #core: Follower;
  /** The core as of the forecast: an answered call is in the base, and has its outcome. */
  #shown: Follower;
  /** The calls to be run on the base as it is now; null: the forecast has them. */
  #due: readonly QueuedCall[] | null = null;
  /** Messages that were received, and wait for those before them. */
  #waiting = 0;
  #unshown = 0;
  /** The queue has a mark of a copy. */
  #isCopyKept: boolean;
  #lastSyncAtMs: number | null = null;
  #socket: { readonly connection: number; readonly link: ReplicaSocket } | null = null;
  #connections = 0;
  /** Of those below, how many have not ended. */
  #tasks = 0;
  /** Events and calls, one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #end: { readonly reason: unknown } | null = null;

  /**
   * Opens the replica of an object, which is made if there is none. `version` is that of the class here.
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
      await replica.#last;
      if (replica.#end !== null) throw replica.#end.reason;
      return replica;
    } catch (error) {
      base.close();
      throw error;
    }
  }

  private constructor(
    parts: Parts,
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
    this.#isCopyKept = queue.copy !== null;
    this.#core = state;
    this.#shown = state;
    void this.#next(async () => {
      await this.#performAll(effects);
      await this.#show();
    });
  }

  /** As the queue has it. */
  get earlier(): number {
    return this.#parts.queue.earlier;
  }

  /** The number of the last call that was made. */
  get issued(): number {
    return this.#core.queue.issued;
  }

  get state(): FollowState {
    const { link, queue, isForecasting } = this.#shown;
    const ofVersion = isForecasting ? null : 'OTHER_VERSION';
    return {
      state: link.kind === 'greeting' ? 'offline' : link.kind,
      reason: link.kind === 'stopped' ? link.reason : ofVersion,
      progress: link.kind === 'catchingUp' ? link.progress : null,
      pending: queue.calls.length,
      lastSyncAtMs: this.#lastSyncAtMs,
      refused: queue.refusals.length,
    };
  }

  get refusals(): readonly RefusedCall[] {
    return this.#shown.queue.refusals;
  }

  /** Calls that the server has not answered. */
  get pending(): readonly QueuedCall[] {
    return this.#shown.queue.calls;
  }

  /** True while nothing is under way, no snapshot is received, and nobody uses the forecast. Calls may wait. */
  get isUnused(): boolean {
    const isAtWork = this.#tasks > 0 || this.#core.link.kind === 'catchingUp';
    return !isAtWork && this.#parts.forecast.isUnused;
  }

  /** Where reads and live reads run, when the earlier calls have. */
  forecast(): Promise<ObjectAddress> {
    return this.#next(async () => {
      await this.#show();
      return this.#parts.forecast.address;
    });
  }

  /**
   * Runs a call of the app. Resolves when it is durable, also without a connection.
   *
   * @throws DataCloneError for arguments that cannot be stored; MESSAGE_TOO_LARGE; the reason of the end
   */
  async call(method: string, args: readonly unknown[]): Promise<FollowedCall> {
    const stored = serialize(args);
    if (stored.length > ARGS_BYTES_MAX) throw tooLarge(method, stored.length);
    return this.#next(() => this.#call(method, stored, null));
  }

  /**
   * Makes a refused call again, which then is refused no longer. Null: there is no such call. A call that throws, and
   * writes nothing, stays refused.
   */
  retry(n: number): Promise<FollowedCall | null> {
    return this.#next(async () => {
      const refused = this.#core.queue.refusals.find(({ call }) => call.n === n);
      if (refused === undefined) return null;
      const { method, args } = refused.call;
      const made = await this.#call(method, serialize(args), n);
      // A call that changes nothing this time is not queued, so it would not replace its refusal.
      if (made.answer?.kind === 'value') await this.#dismiss(n);
      return made;
    });
  }

  async #call(method: string, args: Uint8Array, retried: number | null): Promise<FollowedCall> {
    await this.#show();
    const { forecast } = this.#parts;
    const run = await forecast.run(method, deserialize(args) as unknown[]);
    if (run.kind === 'read') return { n: null, answer: run.answer };
    const answer = run.kind === 'wrote' && this.#core.isForecasting ? run.answer : null;
    const isForecast = answer !== null;
    if (run.kind === 'wrote' && !isForecast) await forecast.remake();
    const call = { method, args: deserialize(args), isForecast };
    const n = this.#core.queue.issued + 1;
    await this.#step({ kind: 'called', call, retried });
    if (isForecast) forecast.keep(this.#core.queue.calls.find((queued) => queued.n === n)!);
    return { n, answer };
  }

  /** The app has seen a refusal. */
  dismiss(n: number): Promise<void> {
    return this.#next(() => this.#dismiss(n));
  }

  #dismiss(n: number): Promise<void> {
    return this.#step({ kind: 'dismissed', n });
  }

  /** There is a connection, which replaces an earlier one. The result tells what happens to it. */
  connected(link: ReplicaSocket): ReplicaEnd {
    const connection = ++this.#connections;
    void this.#next(() => {
      this.#socket = { connection, link };
      return this.#step({ kind: 'connected', connection });
    });
    return {
      received: (bytes) => {
        this.#waiting++;
        void this.#next(() => {
          this.#waiting--;
          return this.#received(connection, bytes);
        });
      },
      closed: (isClientTaken) => void this.#next(() => this.#closed(connection, isClientTaken)),
    };
  }

  /** Lets go of everything, once what is under way has ended. Nothing is lost. */
  async close(): Promise<void> {
    await this.#last;
    this.#finish(storageError('CONNECTION_CLOSED', 'The replica was closed.'));
  }

  #received(connection: number, bytes: Uint8Array): Promise<void> {
    let message: MessageToFollower;
    try {
      message = decodeToFollower(deserialize(bytes));
    } catch (error) {
      this.#disconnect(connection, String(error));
      return this.#closed(connection);
    }
    const isNews = message.kind === 'cut' || message.kind === 'ended';
    if (isNews) this.#lastSyncAtMs = this.#environment.now();
    const areMore = this.#waiting > 0 && ++this.#unshown < MESSAGES_UNSHOWN_MAX;
    return this.#step({ kind: 'received', connection, message }, !areMore);
  }

  #closed(connection: number, isClientTaken = false): Promise<void> {
    if (this.#socket?.connection === connection) this.#socket = null;
    return this.#step({ kind: 'disconnected', connection, isClientTaken });
  }

  /** Runs the task after the earlier ones. A task that fails ends the replica, which is told once. */
  #next<T>(task: () => Promise<T>): Promise<T> {
    this.#tasks += 1;
    const result = this.#last.then(() => {
      if (this.#end !== null) throw this.#end.reason;
      return task();
    });
    const ended = result.catch((error) => this.#fail(error));
    this.#last = ended.finally(() => {
      this.#tasks -= 1;
    });
    return result;
  }

  async #step(event: FollowerEvent, isShown = true): Promise<void> {
    const { state, effects } = stepFollower(this.#core, event);
    this.#core = state;
    await this.#performAll(effects);
    if (isShown || this.#due === null) await this.#show();
  }

  /** Makes the forecast that is due. */
  async #show(): Promise<void> {
    this.#unshown = 0;
    if (this.#due !== null) await this.#parts.forecast.remake(this.#due);
    this.#due = null;
    if (this.#shown === this.#core) return;
    this.#shown = this.#core;
    this.#events.onChange();
  }

  async #performAll(effects: readonly FollowerEffect[]): Promise<void> {
    for (const effect of effects) await this.#perform(effect);
  }

  async #perform(effect: FollowerEffect): Promise<void> {
    const { queue } = this.#parts;
    switch (effect.kind) {
      case 'enqueue':
        return queue.enqueue(effect.call, effect.retried);
      case 'dequeue':
        return queue.dequeue(effect.last, effect.refusals);
      case 'dismiss':
        return queue.dismiss(effect.n);
      case 'stagePart':
        return this.#stage(effect);
      case 'applyCut':
        return this.#apply(effect);
      case 'forecast':
        this.#due = effect.calls;
        return;
      case 'settle':
        return this.#events.onSettled(effect.n, effect.outcome);
      case 'reportRefusal':
        return this.#events.onRefused(effect.refusal);
      case 'send':
        return this.#send(effect.connection, effect.message);
      case 'disconnect':
        return this.#disconnect(effect.connection, effect.reason);
      // What they ask for was done by the commit before: an event of an object ends when it is durable.
      case 'flushQueue':
      case 'flushBase':
      case 'acknowledge':
        return;
    }
  }

  /** The parts are the mark's whenever there is one: it is removed before the first part, and stored after each. */
  async #stage({ copy, changes }: Effect<'stagePart'>): Promise<void> {
    const { staged } = this.#parts;
    if (copy.parts === 1) await this.#keepCopy(null);
    await staged.add(copy.parts, changes);
    // The cut is behind the last part. If it does not come, that part is asked for again.
    if (copy.next !== null) await this.#keepCopy(copy);
  }

  async #apply({ parts, changes, mark }: Effect<'applyCut'>): Promise<void> {
    const { base, staged } = this.#parts;
    try {
      if (parts === null) await base.apply(changes, mark);
      else await staged.use(parts, (found) => base.replace(found, changes, mark));
    } catch (error) {
      const isMisfit = isStorageError(error) && ['SQL', 'INVALID_ARGUMENT'].includes(error.code);
      if (isMisfit) {
        await base.forgetPosition(mark);
        await this.#keepCopy(null);
      }
      throw error;
    }
    if (parts === null) return;
    await this.#keepCopy(null);
    await staged.clear();
  }

  async #keepCopy(mark: CopyMark | null): Promise<void> {
    if (mark === null && !this.#isCopyKept) return;
    await this.#parts.queue.keepCopy(mark);
    this.#isCopyKept = mark !== null;
  }

  // The protocol knows one connection: the last that was made and has not ended.
  #send(connection: number, message: MessageToServer): void {
    const socket = this.#socket;
    assert(socket?.connection === connection, 'a replica sent to a connection that has ended');
    socket.link.send(serialize(message));
  }

  #disconnect(connection: number, reason: string): void {
    if (this.#socket?.connection !== connection) return;
    this.#socket.link.close(reason);
    this.#socket = null;
  }

  #fail(error: unknown): void {
    if (this.#end !== null) return;
    this.#finish(error);
    this.#events.onEnded(error);
  }

  #finish(reason: unknown): void {
    if (this.#end !== null) return;
    this.#end = { reason };
    this.#socket?.link.close('the replica has ended');
    this.#socket = null;
    const { base, queue, forecast } = this.#parts;
    forecast.close();
    queue.close();
    base.close();
  }
}

function tooLarge(method: string, sizeBytes: number): Error {
  return storageError(
    'MESSAGE_TOO_LARGE',
    `${method}(): the arguments of a call that follows have at most ${ARGS_BYTES_MAX} bytes, these ${sizeBytes}. ` +
      'Pass them in several calls.',
  );
}
