// An object here that follows one on a server. It opens its replica (the copy, its queue and its forecast) when it is used,
// closes it when nobody uses it, and answers the app's questions about it.
//
// Invariants:
//   an object has at most one replica at a time. A replica that has ended by an error is opened again from its files, by
//   the next use, or after a pause if calls wait in it
//   an object whose calls wait for the server is in the list of waiting objects. Its replica is closed only when its files
//   are needed, and is opened again later
//   a replica is not closed while a call, a question or a listener uses it
//   the app never sees one number for two calls, even if the first copy was forgotten
//
// This file does not know how the app reaches it.

import {
  type FollowRefusal,
  type FollowState,
  UNKNOWN_FOLLOW_STATE,
} from '@ctx-storage/core/contract';
import { assert, isStorageError, storageError } from '@ctx-storage/core/errors';
import { addressKey, type ObjectAddress } from '@ctx-storage/core/object';
import type { FollowAnswers, FollowAsk, FollowOutcome } from '@ctx-storage/core/wire';
import type { HostEnvironment, ObjectHost } from '@ctx-storage/worker/objects';
import {
  FollowedError,
  type FollowedObject,
  type FollowedResult,
  queuedAs,
} from '@ctx-storage/worker/objects';
import { FOLLOW_SUBPROTOCOL } from '../protocol/connection.ts';
import type { RefusedCall, SettledOutcome } from '../protocol/follower.ts';
import type { CheckedFollowOptions } from './follow-options.ts';
import { type Identity, identityChanged, isNumberOf } from './identity.ts';
import { FollowLink } from './link.ts';
import { ReplicaQueue } from './queue.ts';
import { type FollowedCall, Replica, type ReplicaEnvironment, removeReplica } from './replica.ts';
import type { WaitingObject, WaitingObjects } from './waiting-objects.ts';

/** At most this many outcomes are kept in memory, for pages that ask late. */
const OUTCOMES_MAX = 1000;
/** The pause before a replica that has ended by an error is opened again. */
const REOPEN_MS = 1000;
/** A replica without waiting calls is closed when nobody has used it for this long (our choice). */
const REST_MS = 60_000;
const NOTHING = () => {};
/** The source of a new client's name, and of the marks of its calls. */
const RANDOM = {
  newClient: () => crypto.randomUUID(),
  randomUint32: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
};

/** The calls of a replica that are not finished: those that wait for the server, and the refused ones. */
type Calls = Pick<Replica, 'pending' | 'refusals'>;
const NO_CALLS: Calls = { pending: [], refusals: [] };

export interface FollowedEnvironment
  extends Pick<HostEnvironment, 'now' | 'elapsed' | 'afterRealTime' | 'randomUint32'>,
    Pick<ReplicaEnvironment, 'inTurn'> {
  readonly waitingObjects: WaitingObjects;
  /** Opens the object's replica again later, because calls wait in it and it was closed. */
  resumeLater(object: WaitingObject): void;
  /** Returns a number for a version of a state. Each returned number is new. */
  nextStateVersion(): number;
  /** Called when the copy at the address was opened or created. */
  opened(address: ObjectAddress): void;
}

/** The identity to which a copy belongs. Used only if each identity has its own copy. */
export interface CopyOwner {
  readonly identity: Identity;
  /** Called before each connection. @throws if another identity uses the object now */
  check(): Promise<void>;
}

interface Opening {
  readonly kind: 'opening';
  readonly replica: Promise<Replica>;
}

interface Open {
  readonly kind: 'open';
  readonly replica: Replica;
  readonly link: FollowLink;
  usedAtMs: number;
  cancelRestCheck: () => void;
}

/**
 * The replica of an object. The next replica opens when `closing` has settled: until then the last replica uses the
 * files.
 */
type Copy = { readonly kind: 'closed'; readonly closing: Promise<void> } | Opening | Open;

export class FollowingObject implements FollowedObject {
  readonly #host: ObjectHost;
  readonly #address: ObjectAddress;
  readonly #environment: FollowedEnvironment;
  readonly #options: CheckedFollowOptions;
  readonly #owner: CopyOwner | undefined;
  #copy: Copy = { kind: 'closed', closing: Promise.resolve() };
  /** The calls of the replica that was closed last. */
  #lastCalls: Calls = NO_CALLS;
  /** Resolves when the object is in the list of waiting objects; undefined if it is not listed. */
  #listing: Promise<void> | undefined;
  #state: FollowState = UNKNOWN_FOLLOW_STATE;
  /** This number changes with each change of `#state`. */
  #stateVersion: number;
  /** The promises that settle at the next change of `#state`. */
  readonly #changeWaiters: {
    readonly resolve: () => void;
    readonly reject: (reason: unknown) => void;
  }[] = [];
  /** How many calls, questions and listeners need the replica now. */
  #useCount = 0;
  /** The app's number of a call is its number in the queue plus this (see `ReplicaQueue.numberOffset`). */
  #numberOffset: number;
  /** The app's numbers of calls that were forgotten before the server answered. */
  readonly #forgottenCalls = new Set<number>();
  /** The outcomes of the calls that were answered last, by the app's numbers. */
  readonly #outcomes = new Map<number, SettledOutcome>();
  /** How many listeners wait for a change of the state. */
  #listenerCount = 0;
  /** The error with which each use fails once the object was closed. */
  #closed: Error | undefined;

  /** `address` names the owner's copy, if there is an owner. */
  constructor(
    host: ObjectHost,
    address: ObjectAddress,
    environment: FollowedEnvironment,
    options: CheckedFollowOptions,
    owner?: CopyOwner,
  ) {
    this.#host = host;
    this.#address = address;
    this.#environment = environment;
    this.#options = options;
    this.#owner = owner;
    this.#stateVersion = environment.nextStateVersion();
    this.#numberOffset = owner?.identity.numberOffset ?? 0;
  }

  async call(method: string, args: readonly unknown[]): Promise<FollowedResult> {
    const call = await this.#use((replica) => this.#withAppNumber(replica.call(method, args)));
    return this.#resultOf(call);
  }

  /** Replaces the number of a call in the queue by the one that the app sees. */
  async #withAppNumber<Made extends FollowedCall | null>(made: Promise<Made>): Promise<Made> {
    const offset = this.#numberOffset;
    const call = await made;
    return call === null || call.n === null ? call : { ...call, n: call.n + offset };
  }

  async #resultOf({ n, answer }: FollowedCall): Promise<FollowedResult> {
    if (n === null) return { value: valueOrThrow(answer!), n };
    await this.#list().catch((error) => {
      throw new FollowedError(error, n); // The call is in the queue though it threw.
    });
    if (answer === null) return { value: valueOrThrow(await this.#answerOf(n)), n };
    if (answer.kind === 'error') throw new FollowedError(answer.error, n);
    return { value: answer.value, n };
  }

  forecast(): Promise<ObjectAddress> {
    return this.#use((replica) => replica.forecast());
  }

  async ask(ask: FollowAsk): Promise<FollowAnswers[FollowAsk['kind']]> {
    switch (ask.kind) {
      case 'settled':
        return this.#answerOf(ask.n);
      case 'state':
        return this.#stateAfter(ask.after);
      case 'refusals':
        return (await this.#open()).refusals.map(refusalWithOffset(this.#numberOffset));
      case 'dismiss':
        await this.#use((replica) => replica.dismiss(ask.n - this.#numberOffset));
        return null;
      case 'retry':
        return this.#retry(ask.n);
      case 'forget':
        return this.#forget();
    }
  }

  /** Sends the calls that an earlier worker has left. Resolves when none wait any more, or when the copy has stopped. */
  async resume(): Promise<void> {
    if (this.#copy.kind === 'closed') {
      const looking = this.#copy.closing.then(() => this.#hasWaitingCalls());
      this.#copy = { kind: 'closed', closing: looking.then(NOTHING, NOTHING) };
      if (!(await looking)) return;
    }
    await this.#open();
    while (this.#state.pending > 0 && this.#state.state !== 'stopped') await this.#nextChange();
  }

  /** Connects at once, because the network has come back. */
  connectNow(): void {
    this.#link?.connectNow();
  }

  /** Pings the server at once, because the network may be gone. */
  askNow(): void {
    this.#link?.askNow();
  }

  get isOpen(): boolean {
    return this.#copy.kind === 'open';
  }

  /** When the replica was used last; null if it is not open, or is in use. */
  get restingSinceMs(): number | null {
    if (this.#copy.kind !== 'open' || this.#useCount > 0) return null;
    return this.#copy.replica.isUnused ? this.#copy.usedAtMs : null;
  }

  /**
   * Closes a replica that is open and not in use, because other replicas need its files. If calls wait in the replica,
   * it opens later.
   */
  async makeRoom(): Promise<void> {
    assert(this.#copy.kind === 'open', 'a copy without files was asked for room');
    assert(this.restingSinceMs !== null, 'a copy in use was asked for room');
    const { replica } = this.#copy;
    await this.#closeUnused(replica);
    if (replica.pending.length > 0) this.#environment.resumeLater(this.#object);
  }

  /** Closes the replica. Uses that wait, and later ones, reject with the reason. Nothing that is stored is lost. */
  async close(reason = hostClosed()): Promise<void> {
    this.#closed ??= reason;
    if (this.#copy.kind === 'opening') await this.#copy.replica.catch(NOTHING);
    if (this.#copy.kind === 'open') await this.#closeUnused(this.#copy.replica);
    if (this.#copy.kind === 'closed') await this.#copy.closing;
    for (const { reject } of this.#changeWaiters.splice(0)) reject(this.#closed);
  }

  /** Opens the replica if necessary, and keeps it open until `use` has ended. */
  async #use<T>(use: (replica: Replica) => T | Promise<T>): Promise<T> {
    this.#useCount += 1;
    try {
      let replica = await this.#open();
      while (!this.#isOpenNow(replica)) replica = await this.#open();
      return await use(replica);
    } finally {
      this.#useCount -= 1;
    }
  }

  /** False if the replica was closed between its opening and this turn. */
  #isOpenNow(replica: Replica): boolean {
    return this.#copy.kind === 'open' && this.#copy.replica === replica;
  }

  #open(): Promise<Replica> {
    if (this.#closed !== undefined) throw this.#closed;
    const copy = this.#copy;
    switch (copy.kind) {
      case 'open':
        copy.usedAtMs = this.#environment.elapsed();
        return Promise.resolve(copy.replica);
      case 'opening':
        return copy.replica;
      case 'closed': {
        const opening: Opening = {
          kind: 'opening',
          replica: copy.closing.then(() => this.#openReplica(opening)),
        };
        this.#copy = opening;
        return opening.replica;
      }
    }
  }

  async #openReplica(opening: Opening): Promise<Replica> {
    const { now, afterRealTime, inTurn, elapsed, opened } = this.#environment;
    const { name } = this.#object;
    const owner = this.#owner;
    let open: Open | undefined;
    let replica: Replica | undefined;
    const isPresent = () => this.#copy === opening || this.#copy === open;
    const showState = () => {
      if (open !== undefined && isPresent()) this.#show(open.replica.state);
    };
    try {
      const numberOffset = this.#numberOffset;
      replica = await Replica.open(
        this.#host,
        this.#address,
        this.#options.version,
        { now, afterRealTime, inTurn, ...RANDOM, numberOffset, identity: owner?.identity.text },
        {
          onChange: showState,
          onSettled: (n, outcome) => this.#rememberOutcome(n + this.#numberOffset, outcome),
          onRefused: showState,
          onEnded: (reason) => this.#replicaEnded(isPresent(), reason),
        },
      );
      assert(this.#copy === opening, 'a copy was replaced while it was opened');
      opened(this.#address);
      assert(replica.numberOffset >= this.#numberOffset, 'numbers of calls are given again');
      this.#numberOffset = replica.numberOffset;
      const link = new FollowLink(replica, {
        open: async () => {
          await owner?.check();
          const url = await this.#options.url(name);
          return this.#options.connect(String(url), FOLLOW_SUBPROTOCOL);
        },
        afterRealTime,
        random: () => this.#environment.randomUint32() / 2 ** 32,
        isWatched: () => this.#listenerCount > 0,
        changed: showState,
      });
      open = { kind: 'open', replica, link, usedAtMs: elapsed(), cancelRestCheck: NOTHING };
      this.#copy = open;
      this.#show(replica.state);
      if (replica.pending.length > 0) {
        this.#list().catch((error) => console.error('Waiting calls could not be noted:', error));
      }
      this.#scheduleRestCheck(open);
      return replica;
    } catch (error) {
      await replica?.close();
      if (this.#copy === opening) this.#copy = { kind: 'closed', closing: Promise.resolve() };
      for (const { reject } of this.#changeWaiters.splice(0)) reject(error);
      throw error;
    }
  }

  /**
   * Reacts to a replica that has ended by an error. Resets and deletions are intended; every other error is logged. If
   * calls wait in the replica, it is opened again after a pause.
   */
  #replicaEnded(isPresent: boolean, reason: unknown): void {
    const isIntended =
      isStorageError(reason) && ['OBJECT_RESET', 'BRANCH_ENDED'].includes(reason.code);
    if (!isIntended) console.error(`The copy of ${this.#address.id.name} has failed:`, reason);
    if (!isPresent) return;
    const hasCalls = this.#state.pending > 0;
    this.#stopUsing();
    this.#copy = { kind: 'closed', closing: Promise.resolve() };
    this.#show({ ...this.#state, state: 'offline', progress: null });
    if (!hasCalls) return;
    this.#environment.afterRealTime(REOPEN_MS, () => this.#environment.resumeLater(this.#object));
  }

  /** Stops the connection and the timer of a replica that is about to be closed, and remembers its calls. */
  #stopUsing(): void {
    if (this.#copy.kind !== 'open') return;
    this.#copy.cancelRestCheck();
    this.#copy.link.stop();
    this.#lastCalls = this.#copy.replica;
  }

  /** Checks after a minute whether the replica was used since; if not, and no calls wait, closes it. */
  #scheduleRestCheck(open: Open): void {
    open.cancelRestCheck = this.#environment.afterRealTime(REST_MS, () => {
      const sinceMs = this.restingSinceMs;
      const isLong = sinceMs !== null && this.#environment.elapsed() - sinceMs >= REST_MS;
      if (isLong && open.replica.pending.length === 0) void this.#closeUnused(open.replica);
      else this.#scheduleRestCheck(open);
    });
  }

  async #closeUnused(replica: Replica): Promise<void> {
    const closing = this.#closeReplica(replica);
    this.#show({ ...this.#state, state: 'offline', reason: null, progress: null });
    try {
      await closing;
    } catch (error) {
      console.error(`The copy of ${this.#object.name} could not be closed:`, error);
    }
  }

  /** Closes the replica, then calls `remove`. The next use opens another replica once both are done. */
  #closeReplica(replica: Replica, remove?: () => Promise<void>): Promise<void> {
    this.#stopUsing();
    const close = async () => {
      await replica.close();
      const isListed = this.#listing !== undefined;
      if (isListed && (replica.pending.length === 0 || remove !== undefined)) {
        this.#listing = undefined;
        await this.#environment.waitingObjects.delete(this.#object);
      }
      await remove?.();
    };
    const closing = close();
    this.#copy = { kind: 'closed', closing: closing.catch(NOTHING) }; // The caller reports errors.
    return closing;
  }

  /** Adds the object to the list of waiting objects. */
  #list(): Promise<void> {
    this.#listing ??= this.#environment.waitingObjects.add(this.#object).catch((error) => {
      this.#listing = undefined;
      throw error;
    });
    return this.#listing;
  }

  /** Returns true if an earlier worker has left calls in the queue. If not, removes the object from the list. */
  async #hasWaitingCalls(): Promise<boolean> {
    const hasCalls = await ReplicaQueue.hasCalls(this.#host, addressKey(this.#address));
    if (!hasCalls) await this.#environment.waitingObjects.delete(this.#object);
    return hasCalls;
  }

  /** Describes the object as the list of waiting objects does. @throws INVALID_ARGUMENT if the object has no name */
  get #object(): WaitingObject {
    const { className, id, copy } = this.#address;
    if (className === null || id.name === undefined) throw unnamedObjectError(this.#address);
    return { className, name: id.name, ...(copy !== undefined && { digest: copy }) };
  }

  get #link(): FollowLink | undefined {
    return this.#copy.kind === 'open' ? this.#copy.link : undefined;
  }

  /**
   * Shows a state of the replica to the app. A copy whose connection is probably lost is offline. While it is offline, the
   * reason comes from the connection, which knows why the server has refused it.
   */
  #show(shown: FollowState): void {
    const link = this.#link;
    const isUpToDate = shown.state === 'current' || shown.state === 'outdated';
    const isOffline = shown.state === 'offline' || (isUpToDate && link?.isDoubted === true);
    const state: FollowState = isOffline
      ? { ...shown, state: 'offline', reason: link?.refusal ?? shown.reason }
      : shown;
    const names = Object.keys(state) as (keyof FollowState)[];
    if (names.every((name) => state[name] === this.#state[name])) return;
    if (state.pending > 0) link?.keepProcessAlive();
    if (state.state === 'stopped') link?.stop();
    this.#state = state;
    this.#stateVersion = this.#environment.nextStateVersion();
    this.#wakeWaiters();
  }

  #wakeWaiters(): void {
    for (const { resolve } of this.#changeWaiters.splice(0)) resolve();
  }

  async #stateAfter(after: number) {
    await this.#use(async () => {
      this.#listenerCount += 1;
      try {
        if (this.#stateVersion === after) this.#link?.watchClosely();
        while (this.#stateVersion === after) await this.#nextChange();
      } finally {
        this.#listenerCount -= 1;
      }
    });
    return { ...this.#state, version: this.#stateVersion };
  }

  /** Resolves at the next change of the state. @throws CONNECTION_CLOSED, and errors of opening the replica */
  #nextChange(): Promise<void> {
    if (this.#closed !== undefined) throw this.#closed;
    return new Promise((resolve, reject) => this.#changeWaiters.push({ resolve, reject }));
  }

  get #calls(): Calls {
    return this.#copy.kind === 'open' ? this.#copy.replica : this.#lastCalls;
  }

  #rememberOutcome(n: number, outcome: SettledOutcome): void {
    this.#outcomes.set(n, outcome);
    const [oldest] = this.#outcomes.keys();
    if (this.#outcomes.size > OUTCOMES_MAX) this.#outcomes.delete(oldest!);
  }

  /**
   * Returns the server's answer to a call, once there is an answer. Waiting keeps no replica open: a replica whose
   * files are needed is closed, and opened again later.
   *
   * @throws CONNECTION_CLOSED, FOLLOW_STOPPED
   */
  async #answerOf(n: number): Promise<FollowOutcome> {
    const owner = this.#owner;
    if (owner !== undefined && !isNumberOf(owner.identity, n)) throw identityChanged();
    if (!this.#outcomes.has(n) && !this.#forgottenCalls.has(n)) await this.#open();
    while (this.#calls.pending.some((call) => call.n + this.#numberOffset === n)) {
      if (this.#state.state === 'stopped') throw copyStoppedError(this.#state.reason);
      await this.#nextChange();
    }
    if (this.#forgottenCalls.has(n)) throw copyForgottenError();
    const refused = this.#calls.refusals.find(({ call }) => call.n + this.#numberOffset === n);
    const lost = { kind: 'failed', code: 'OUTCOME_LOST' } as const;
    return outcomeOf(this.#outcomes.get(n) ?? refused?.outcome ?? lost);
  }

  async #retry(n: number): Promise<null> {
    const made = await this.#use((replica) =>
      this.#withAppNumber(replica.retry(n - this.#numberOffset)),
    );
    if (made === null) {
      throw storageError(
        'INVALID_ARGUMENT',
        `retry: there is no refused call ${n}; it was dismissed, or made again.`,
      );
    }
    await this.#resultOf(made).catch((error) => {
      if (queuedAs(error) === undefined) throw error; // The call failed here, and stays refused.
    });
    return null;
  }

  async #forget(): Promise<readonly FollowRefusal[]> {
    let replica = await this.#open();
    while (!this.#isOpenNow(replica)) replica = await this.#open();
    let unanswered: FollowRefusal[] = [];
    await this.#closeReplica(replica, async () => {
      await removeReplica(this.#host, this.#address);
      const pending = replica.pending.map(({ n, method, args }) => ({
        n: n + this.#numberOffset,
        method,
        args: args as unknown[],
        reason: null,
      }));
      unanswered = [...replica.refusals.map(refusalWithOffset(this.#numberOffset)), ...pending];
      for (const { n } of pending) this.#forgottenCalls.add(n);
      this.#numberOffset += replica.issued;
      this.#lastCalls = NO_CALLS;
    });
    this.#show(UNKNOWN_FOLLOW_STATE);
    this.#wakeWaiters();
    return unanswered;
  }
}

/**
 * Returns a function that makes the app's view of a refused call, whose number for the app is its number in the queue
 * plus `offset`.
 */
function refusalWithOffset(offset: number): (refused: RefusedCall) => FollowRefusal {
  return ({ call: { n, method, args }, outcome }) => {
    const reason = outcomeOf(outcome);
    return {
      n: n + offset,
      method,
      args: args as unknown[],
      reason: reason.kind === 'error' ? reason.error : null,
    };
  };
}

/** Turns a failure of the protocol into an error. */
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

function valueOrThrow(outcome: FollowOutcome): unknown {
  if (outcome.kind === 'error') throw outcome.error;
  return outcome.value;
}

function copyStoppedError(reason: FollowState['reason']): Error {
  return storageError(
    'FOLLOW_STOPPED',
    `The copy has stopped (${reason}), so the server gets no call until the page is loaded again. The call is kept.`,
  );
}

function copyForgottenError(): Error {
  return storageError(
    'FOLLOW_STOPPED',
    'The copy was forgotten before the server had answered the call, so it is not known whether the server has run it; forget() has returned it.',
  );
}

export function hostClosed(): Error {
  return storageError('CONNECTION_CLOSED', 'The host of the objects was closed.');
}

function unnamedObjectError({ className, id }: ObjectAddress): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `follow: object ${id} of ${className} has no name, by which the server's object is found; use getByName or idFromName.`,
  );
}
