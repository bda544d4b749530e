// An object here that follows one on a server: its replica, opened when it is used and closed when it rests, the connection
// of the replica, and what the app asks of both.
//
// Invariants:
//   of one object there is at most one replica at a time. One that has ended by an error is opened again, from its files,
//   by the next use, or after a pause if calls wait in it
//   an object with calls that the server has not answered is in the list of waiting objects. Its replica is closed only when
//   its files are needed, and is resumed later
//   a replica is not closed while a call, a question or a listener uses it
//   to the app, a call of a replica has another number than those of replicas that were forgotten
//
// Does not know how the app reaches it.

import {
  type FollowRefusal,
  type FollowState,
  UNKNOWN_FOLLOW_STATE,
} from '@ctx-storage/core/contract';
import { isStorageError, storageError } from '@ctx-storage/core/errors';
import { addressKey, type ObjectAddress } from '@ctx-storage/core/object';
import type { FollowAnswers, FollowAsk, FollowOutcome } from '@ctx-storage/core/wire';
import { assert } from '@ctx-storage/worker/engine';
import type { HostEnvironment, ObjectHost } from '@ctx-storage/worker/objects';
import {
  FollowedError,
  type FollowedObject,
  type FollowedResult,
  queuedAs,
} from '@ctx-storage/worker/objects';
import { FOLLOW_SUBPROTOCOL } from '../protocol/connection.ts';
import type { RefusedCall, SettledOutcome } from '../protocol/follower.ts';
import { FollowLink, type LinkSocket } from './link.ts';
import { ReplicaQueue } from './queue.ts';
import { type FollowedCall, Replica, type ReplicaEnvironment, removeReplica } from './replica.ts';
import type { WaitingObject, WaitingObjects } from './waiting-objects.ts';

/** Outcomes that are kept for a page that asks late. */
const SETTLED_MAX = 1000;
/** Before a replica that has ended by an error is opened again. */
const REOPEN_MS = 1000;
/** A replica that was not used for so long, and has nothing to do, is closed (our choice). */
const REST_MS = 60_000;
const NOTHING = () => {};

type Calls = Pick<Replica, 'pending' | 'refusals'>;
const NO_CALLS: Calls = { pending: [], refusals: [] };

/** How the objects of a class follow theirs. */
export interface FollowOptions {
  /**
   * The address of the object on the server: `wss:` or `ws:`, which its worker passes to the object's `fetch`. Asked before
   * each connection, so it may contain a token. An error is tried again later.
   */
  readonly url: (name: string) => string | URL | Promise<string | URL>;
  /** That of the class, as in `followable`: while the server has another one, nothing is forecast. @default 1 */
  readonly version?: number;
  /** Opens the WebSocket. @default the global class; Node 20 has none: `(url, protocol) => new WebSocket(url, protocol)` of `ws` */
  readonly connect?: (url: string, protocol: string) => LinkSocket;
}

export interface FollowedEnvironment
  extends Pick<HostEnvironment, 'now' | 'elapsed' | 'afterRealTime' | 'randomUint32'>,
    Pick<ReplicaEnvironment, 'inTurn'> {
  readonly waitingObjects: WaitingObjects;
  /** Calls of the object wait, and its replica was closed: somebody resumes it. */
  left(object: WaitingObject): void;
}

export class FollowingObject implements FollowedObject {
  readonly #host: ObjectHost;
  readonly #address: ObjectAddress;
  readonly #environment: FollowedEnvironment;
  readonly #options: Required<FollowOptions>;
  #replica: Promise<Replica> | undefined;
  /** Settles when an earlier replica is closed, and removed if it was to be forgotten. */
  #closed: Promise<void> = Promise.resolve();
  /** It is in the list of waiting objects, once this resolves. */
  #listed: Promise<void> | undefined;
  /** Undefined: it is not open, or not yet. */
  #opened: { readonly replica: Replica; readonly link: FollowLink } | undefined;
  /** Of the replica that was closed last. */
  #left: Calls = NO_CALLS;
  #usedAtMs = 0;
  #cancelLook = NOTHING;
  #state: FollowState = UNKNOWN_FOLLOW_STATE;
  #version = 1;
  readonly #waiting: {
    readonly resolve: () => void;
    readonly reject: (reason: unknown) => void;
  }[] = [];
  /** How many calls, questions and listeners need the replica now. */
  #uses = 0;
  /** As `ReplicaQueue.earlier`, of the replica that is open or will be. The numbers below are those that the app knows. */
  #earlier = 0;
  /** Calls that were forgotten before the server had answered them. */
  readonly #forgotten = new Set<number>();
  /** Of the last calls that were answered, by number. */
  readonly #settled = new Map<number, SettledOutcome>();
  #isClosed = false;

  constructor(
    host: ObjectHost,
    address: ObjectAddress,
    environment: FollowedEnvironment,
    options: Required<FollowOptions>,
  ) {
    this.#host = host;
    this.#address = address;
    this.#environment = environment;
    this.#options = options;
  }

  async call(method: string, args: readonly unknown[]): Promise<FollowedResult> {
    return this.#made(await this.#use((replica) => this.#known(replica.call(method, args))));
  }

  /** With the number that the app knows. */
  async #known<Made extends FollowedCall | null>(made: Promise<Made>): Promise<Made> {
    const earlier = this.#earlier;
    const call = await made;
    return call === null || call.n === null ? call : { ...call, n: call.n + earlier };
  }

  async #made({ n, answer }: FollowedCall): Promise<FollowedResult> {
    if (n === null) return { value: resultIn(answer!), n };
    await this.#list().catch((error) => {
      throw new FollowedError(error, n); // it is in the queue nevertheless
    });
    if (answer === null) return { value: resultIn(await this.#settledAs(n)), n };
    if (answer.kind === 'error') throw new FollowedError(answer.error, n);
    return { value: answer.value, n };
  }

  forecast(): Promise<ObjectAddress> {
    return this.#use((replica) => replica.forecast());
  }

  async ask(ask: FollowAsk): Promise<FollowAnswers[FollowAsk['kind']]> {
    switch (ask.kind) {
      case 'settled':
        return this.#settledAs(ask.n);
      case 'state':
        return this.#stateAfter(ask.after);
      case 'refusals':
        return (await this.#open()).refusals.map(refusalAfter(this.#earlier));
      case 'dismiss':
        await this.#use((replica) => replica.dismiss(ask.n - this.#earlier));
        return null;
      case 'retry':
        return this.#retry(ask.n);
      case 'forget':
        return this.#forget();
    }
  }

  /** Sends the calls that an earlier worker has left. Resolves when there are none any more, or when it has stopped. */
  async resume(): Promise<void> {
    if (this.#replica === undefined) {
      const looked = this.#closed.then(() => this.#hasCalls());
      this.#closed = looked.then(NOTHING, NOTHING);
      if (!(await looked)) return;
    }
    await this.#open();
    while (this.#state.pending > 0 && this.#state.state !== 'stopped') await this.#nextChange();
  }

  /** The network has come back. */
  online(): void {
    this.#opened?.link.online();
  }

  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** When it was used last; null: it is not open, or in use. */
  get restingSinceMs(): number | null {
    const isUnused = this.#opened?.replica.isUnused === true && this.#uses === 0;
    return isUnused ? this.#usedAtMs : null;
  }

  /** Closes the replica, which is open and not in use, because its files are needed. Calls may wait in it. */
  async makeRoom(): Promise<void> {
    assert(this.#opened !== undefined, 'a copy without files was asked for room');
    const { replica } = this.#opened;
    await this.#rest(replica);
    if (replica.pending.length > 0) this.#environment.left(this.#object);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const replica = await this.#replica?.catch(() => undefined);
    if (replica !== undefined) await this.#rest(replica);
    await this.#closed;
    for (const { reject } of this.#waiting.splice(0)) reject(closed());
  }

  /** The replica is not closed meanwhile. */
  async #use<T>(use: (replica: Replica) => T | Promise<T>): Promise<T> {
    this.#uses += 1;
    try {
      let replica = await this.#open();
      while (!this.#isPresent(replica)) replica = await this.#open();
      return await use(replica);
    } finally {
      this.#uses -= 1;
    }
  }

  /** False: somebody has let it go while it was waited for. */
  #isPresent(replica: Replica): boolean {
    return replica === this.#opened?.replica;
  }

  #open(): Promise<Replica> {
    if (this.#isClosed) throw closed();
    this.#usedAtMs = this.#environment.elapsed();
    this.#replica ??= this.#closed.then(() => this.#openNow());
    return this.#replica;
  }

  async #openNow(): Promise<Replica> {
    const { now, afterRealTime, inTurn } = this.#environment;
    const { name } = this.#object;
    const opening = Replica.open(
      this.#host,
      this.#address,
      this.#options.version,
      { now, afterRealTime, inTurn, newClient: () => crypto.randomUUID(), earlier: this.#earlier },
      {
        onChange: () => this.#changed(),
        onSettled: (n, outcome) => this.#keep(n + this.#earlier, outcome),
        onRefused: () => this.#changed(),
        onEnded: (reason) => this.#ended(reason),
      },
    );
    try {
      const replica = await opening;
      this.#earlier = replica.earlier;
      const link = new FollowLink(replica, {
        open: async () => {
          const url = await this.#options.url(name);
          return this.#options.connect(String(url), FOLLOW_SUBPROTOCOL);
        },
        afterRealTime,
        random: () => this.#environment.randomUint32() / 2 ** 32,
        refused: () => this.#changed(),
      });
      this.#opened = { replica, link };
      this.#show(replica.state);
      if (replica.pending.length > 0) {
        this.#list().catch((error) => console.error('Waiting calls could not be noted:', error));
      }
      this.#lookLater(replica);
      return replica;
    } catch (error) {
      this.#replica = undefined;
      for (const { reject } of this.#waiting.splice(0)) reject(error);
      throw error;
    }
  }

  /** Its state in memory may differ from the disk. A reset or deletion was somebody's wish; all else is told. */
  #ended(reason: unknown): void {
    const isWanted =
      isStorageError(reason) && ['OBJECT_RESET', 'BRANCH_ENDED'].includes(reason.code);
    if (!isWanted) console.error(`The copy of ${this.#address.id.name} has failed:`, reason);
    const hasCalls = this.#state.pending > 0;
    this.#gone();
    this.#show({ ...this.#state, state: 'offline', progress: null });
    if (!hasCalls) return;
    this.#environment.afterRealTime(REOPEN_MS, () => this.#environment.left(this.#object));
  }

  /** There is no replica from now on. */
  #gone(): void {
    this.#cancelLook();
    this.#opened?.link.stop();
    this.#left = this.#calls;
    this.#opened = undefined;
    this.#replica = undefined;
  }

  /** Closes the replica if it was not used since the last look. */
  #lookLater(replica: Replica): void {
    this.#cancelLook = this.#environment.afterRealTime(REST_MS, () => {
      const sinceMs = this.restingSinceMs;
      const isLong = sinceMs !== null && this.#environment.elapsed() - sinceMs >= REST_MS;
      if (isLong && replica.pending.length === 0) void this.#rest(replica);
      else this.#lookLater(replica);
    });
  }

  async #rest(replica: Replica): Promise<void> {
    const closing = this.#letGo(replica);
    this.#show({ ...this.#state, state: 'offline', reason: null, progress: null });
    try {
      await closing;
    } catch (error) {
      console.error(`The copy of ${this.#object.name} could not be closed:`, error);
    }
  }

  /** Closes the replica. The next use opens another one when that is done, and the files are removed if they are to be. */
  #letGo(replica: Replica, remove?: () => Promise<void>): Promise<void> {
    this.#gone();
    const close = async () => {
      await replica.close();
      const isListed = this.#listed !== undefined;
      if (isListed && (replica.pending.length === 0 || remove !== undefined)) {
        this.#listed = undefined;
        await this.#environment.waitingObjects.delete(this.#object);
      }
      await remove?.();
    };
    const closing = close();
    this.#closed = closing.catch(NOTHING); // whoever lets go reports it
    return closing;
  }

  #list(): Promise<void> {
    this.#listed ??= this.#environment.waitingObjects.add(this.#object).catch((error) => {
      this.#listed = undefined;
      throw error;
    });
    return this.#listed;
  }

  /** Whether an earlier worker has left calls. If not, it leaves the list. */
  async #hasCalls(): Promise<boolean> {
    const hasCalls = await ReplicaQueue.hasCalls(this.#host, addressKey(this.#address));
    if (!hasCalls) await this.#environment.waitingObjects.delete(this.#object);
    return hasCalls;
  }

  /** @throws INVALID_ARGUMENT: the object has no name */
  get #object(): WaitingObject {
    const { className, id } = this.#address;
    if (className === null || id.name === undefined) throw unnamed(this.#address);
    return { className, name: id.name };
  }

  #changed(): void {
    this.#replica?.then((replica) => this.#show(replica.state), NOTHING);
  }

  /** `state`: of the replica, which does not know why a server has refused its connection. */
  #show(shown: FollowState): void {
    const link = this.#opened?.link;
    const isOffline = shown.state === 'offline';
    const state = isOffline ? { ...shown, reason: link?.refusal ?? shown.reason } : shown;
    const names = Object.keys(state) as (keyof FollowState)[];
    if (names.every((name) => state[name] === this.#state[name])) return;
    if (state.pending > 0) link?.needed();
    if (state.state === 'stopped') link?.stop();
    this.#state = state;
    this.#version += 1;
    this.#wake();
  }

  #wake(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  async #stateAfter(after: number) {
    await this.#use(async () => {
      while (this.#version === after) await this.#nextChange();
    });
    return { ...this.#state, version: this.#version };
  }

  /** Resolves at the next change of the state. @throws CONNECTION_CLOSED, and why the replica could not be opened */
  #nextChange(): Promise<void> {
    if (this.#isClosed) throw closed();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  get #calls(): Calls {
    return this.#opened?.replica ?? this.#left;
  }

  #keep(n: number, outcome: SettledOutcome): void {
    this.#settled.set(n, outcome);
    const [oldest] = this.#settled.keys();
    if (this.#settled.size > SETTLED_MAX) this.#settled.delete(oldest!);
  }

  /**
   * Waits until the call has left the queue. It keeps no replica open: somebody resumes one.
   *
   * @throws CONNECTION_CLOSED, FOLLOW_STOPPED
   */
  async #settledAs(n: number): Promise<FollowOutcome> {
    if (!this.#settled.has(n) && !this.#forgotten.has(n)) await this.#open();
    while (this.#calls.pending.some((call) => call.n + this.#earlier === n)) {
      if (this.#state.state === 'stopped') throw stopped(this.#state.reason);
      await this.#nextChange();
    }
    if (this.#forgotten.has(n)) throw forgotten();
    const refused = this.#calls.refusals.find(({ call }) => call.n + this.#earlier === n);
    const lost = { kind: 'failed', code: 'OUTCOME_LOST' } as const;
    return outcomeOf(this.#settled.get(n) ?? refused?.outcome ?? lost);
  }

  async #retry(n: number): Promise<null> {
    const made = await this.#use((replica) => this.#known(replica.retry(n - this.#earlier)));
    if (made === null) {
      throw storageError(
        'INVALID_ARGUMENT',
        `retry: there is no refused call ${n}; it was dismissed, or made again.`,
      );
    }
    await this.#made(made).catch((error) => {
      if (queuedAs(error) === undefined) throw error; // it failed here and is kept as refused
    });
    return null;
  }

  async #forget(): Promise<readonly FollowRefusal[]> {
    let replica = await this.#open();
    while (!this.#isPresent(replica)) replica = await this.#open();
    let left: FollowRefusal[] = [];
    await this.#letGo(replica, async () => {
      await removeReplica(this.#host, this.#address);
      const pending = replica.pending.map(({ n, method, args }) => ({
        n: n + this.#earlier,
        method,
        args: args as unknown[],
        reason: null,
      }));
      left = [...replica.refusals.map(refusalAfter(this.#earlier)), ...pending];
      for (const { n } of pending) this.#forgotten.add(n);
      this.#earlier += replica.issued;
      this.#left = NO_CALLS;
    });
    this.#show(UNKNOWN_FOLLOW_STATE);
    this.#wake();
    return left;
  }
}

/** Of a replica with so many numbers before. */
function refusalAfter(earlier: number): (refused: RefusedCall) => FollowRefusal {
  return ({ call: { n, method, args }, outcome }) => {
    const reason = outcomeOf(outcome);
    return {
      n: n + earlier,
      method,
      args: args as unknown[],
      reason: reason.kind === 'error' ? reason.error : null,
    };
  };
}

/** The failures of the protocol, as errors. */
function outcomeOf(outcome: SettledOutcome): FollowOutcome {
  if (outcome.kind !== 'failed') return outcome;
  return { kind: 'error', error: storageError(outcome.code, FAILURES[outcome.code]) };
}

const FAILURES = {
  CALL_INTERRUPTED:
    'The server was restarted while the call waited for something: what it wrote before is kept, the rest was not done.',
  CALL_ABANDONED:
    'Each attempt of the call ended the object on the server; nothing of it was done.',
  OUTCOME_LOST:
    'The server has run the call, and its result is not known here any more; read the object.',
} as const;

function resultIn(outcome: FollowOutcome): unknown {
  if (outcome.kind === 'error') throw outcome.error;
  return outcome.value;
}

function stopped(reason: FollowState['reason']): Error {
  return storageError(
    'FOLLOW_STOPPED',
    `The copy has stopped (${reason}), so the server gets no call until the page is loaded again. The call is kept.`,
  );
}

function forgotten(): Error {
  return storageError(
    'FOLLOW_STOPPED',
    'The copy was forgotten before the server had answered the call, so it is not known whether the server has run it; forget() has returned it.',
  );
}

function closed(): Error {
  return storageError('CONNECTION_CLOSED', 'The host of the objects was closed.');
}

function unnamed({ className, id }: ObjectAddress): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `follow: object ${id} of ${className} has no name, by which the server's object is found; use getByName or idFromName.`,
  );
}
