// The entry `ctx-storage/follow`: tells an app the state of a followed object (`followed`), and the server's answer to a
// call (`settled`).
//
// This file does not know where the objects are; their stubs ask the right worker.

import { type AskFollowed, type FollowedStub, followedStub, noteOf } from '@ctx-storage/core/calls';
import {
  type FollowedStatus,
  type FollowRefusal,
  type FollowState,
  UNKNOWN_FOLLOW_STATE,
} from '@ctx-storage/core/contract';
import { isStorageError, storageError } from '@ctx-storage/core/errors';
import type { FollowAnswers, FollowAsk, WireAddress } from '@ctx-storage/core/wire';

/** After this many workers in a row were lost within `QUICK_LOSS_MS`, the connection itself counts as closed. */
const QUICK_LOSSES_MAX = 10;
/** A worker that is lost within this time after a question counts as lost at once. */
const QUICK_LOSS_MS = 1000;
/** The pause before the state is asked for again after an error. It doubles with each error, up to `PAUSE_MS_MAX`. */
const PAUSE_MS = 1000;
const PAUSE_MS_MAX = 30_000;

export type {
  FollowedStatus,
  FollowRefusal,
  FollowState,
} from '@ctx-storage/core/contract';

/**
 * Returns the server's answer to a call of an object that follows another one, or the call's own result if the call has
 * changed nothing. Waits for the server, even while the worker is reloaded.
 *
 * @throws the error of the method on the server; CALL_INTERRUPTED, CALL_ABANDONED; FOLLOW_STOPPED; OUTCOME_LOST if the
 * worker was replaced before the answer was read; INVALID_ARGUMENT for a promise that is not such a call
 */
export async function settled<T>(call: Promise<T>): Promise<Awaited<T>> {
  const note = noteOf(call);
  if (note === undefined || note.ask === undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      'settled: takes the promise of a call, of a stub whose object follows another one: settled(stub.method()).',
    );
  }
  try {
    const value = await call;
    if (note.n === undefined) return value;
  } catch (error) {
    if (note.n === undefined) throw error;
  }
  const outcome = await askThroughLosses(() =>
    note.ask!(note.address, { kind: 'settled', n: note.n! }),
  );
  if (outcome.kind === 'error') throw outcome.error;
  return outcome.value as Awaited<T>;
}

/**
 * Returns the state of the object that a stub calls. All stubs of the object share the state, which fires `change`, for
 * example for a badge that shows the connection.
 *
 * @throws INVALID_ARGUMENT for the stub of an object that follows nothing, and for any other value
 */
export function followed(stub: object): FollowedStatus {
  const found = followedStub(stub);
  if (found?.ask === undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      'followed: takes the stub of an object that follows another one, from the env of connect() or createObjects().',
    );
  }
  return statusOf(found, found.ask);
}

/** The statuses of each connection, by object, so that a component that asks at each render gets the same status. */
const statusesOf = new WeakMap<AskFollowed, Map<string, Status>>();

function statusOf({ address }: FollowedStub, ask: AskFollowed): Status {
  const statuses = statusesOf.get(ask) ?? new Map<string, Status>();
  statusesOf.set(ask, statuses);
  const key = `${address.className} ${address.id}`;
  const status = statuses.get(key) ?? new Status(address, ask);
  statuses.set(key, status);
  return status;
}

class Status extends EventTarget implements FollowedStatus {
  readonly #address: WireAddress;
  readonly #ask: AskFollowed;
  readonly #listeners = new Set<unknown>();
  #state: FollowState = UNKNOWN_FOLLOW_STATE;
  #isPolling = false;

  constructor(address: WireAddress, ask: AskFollowed) {
    super();
    this.#address = address;
    this.#ask = ask;
  }

  get state() {
    return this.#state.state;
  }

  get reason() {
    return this.#state.reason;
  }

  get progress() {
    return this.#state.progress;
  }

  get pending() {
    return this.#state.pending;
  }

  get lastSyncAtMs() {
    return this.#state.lastSyncAtMs;
  }

  get refused() {
    return this.#state.refused;
  }

  async read(): Promise<FollowState> {
    this.#show(await this.#askObject({ kind: 'state', after: 0 }));
    return this.#state;
  }

  refusals(): Promise<readonly FollowRefusal[]> {
    return this.#askObject({ kind: 'refusals' });
  }

  async dismiss({ n }: Pick<FollowRefusal, 'n'>): Promise<void> {
    await this.#askObject({ kind: 'dismiss', n });
  }

  async retry({ n }: Pick<FollowRefusal, 'n'>): Promise<void> {
    await this.#askObject({ kind: 'retry', n });
  }

  forget(): Promise<readonly FollowRefusal[]> {
    return this.#askObject({ kind: 'forget' });
  }

  override addEventListener(...args: Parameters<EventTarget['addEventListener']>): void {
    super.addEventListener(...args);
    const [type, listener] = args;
    if (type !== 'change' || listener === null) return;
    this.#listeners.add(listener);
    if (!this.#isPolling) void this.#poll();
  }

  override removeEventListener(...args: Parameters<EventTarget['removeEventListener']>): void {
    super.removeEventListener(...args);
    if (args[0] === 'change') this.#listeners.delete(args[1]);
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    let after = 0;
    let pauseMs = PAUSE_MS;
    try {
      while (this.#listeners.size > 0) {
        try {
          const { version, ...state } = await askThroughLosses(() =>
            this.#askObject({ kind: 'state', after }),
          );
          after = version;
          pauseMs = PAUSE_MS;
          this.#show(state);
        } catch (error) {
          // The error is not shown here: the app's next call of the object fails with it.
          this.#show({ ...this.#state, state: 'offline', progress: null });
          if (isClosed(error)) return;
          after = 0;
          await pause(pauseMs);
          pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
        }
      }
    } finally {
      this.#isPolling = false;
    }
  }

  #show({ state, reason, progress, pending, lastSyncAtMs, refused }: FollowState): void {
    const next: FollowState = { state, reason, progress, pending, lastSyncAtMs, refused };
    const names = Object.keys(next) as (keyof FollowState)[];
    if (names.every((name) => next[name] === this.#state[name])) return;
    this.#state = next;
    this.dispatchEvent(new Event('change'));
  }

  #askObject<A extends FollowAsk>(ask: A): Promise<FollowAnswers[A['kind']]> {
    return this.#ask(this.#address, ask);
  }
}

/** Waits without keeping a process of Node alive. */
function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer: unknown = setTimeout(resolve, delayMs);
    (timer as { unref?(): void }).unref?.();
  });
}

/** Asks again, through the next worker, each time that a worker is lost; gives up when the connection itself is closed. */
async function askThroughLosses<T>(ask: () => Promise<T>): Promise<T> {
  for (let quickLosses = 0; ; ) {
    const askedMs = Date.now();
    try {
      return await ask();
    } catch (error) {
      quickLosses = Date.now() - askedMs < QUICK_LOSS_MS ? quickLosses + 1 : 1;
      if (!isClosed(error) || quickLosses === QUICK_LOSSES_MAX) throw error;
    }
  }
}

function isClosed(error: unknown): boolean {
  return isStorageError(error) && error.code === 'CONNECTION_CLOSED';
}
