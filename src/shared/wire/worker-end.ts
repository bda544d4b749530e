// Implements the worker's end of a connection: it gives one page access to the worker's services and to its own sessions,
// and holds the things that the page has passed by reference.
//
// Invariant: when the page goes, its sessions are closed, including sessions that are still being
// opened, and its references are released. Every reply is an outcome, and every message is checked
// before it goes any further (remote-functions.ts). A reply with stored data waits until the files are known to exist.
// No assertion keeps this: pages end at any moment, and their messages are a peer's.
//
// Nothing is read that the page may have given up:
//
// A page gives up a worker that is silent for 45 s (leader/heartbeat.ts), and says at once how each call has ended.
// The worker's thread may be blocked then: it can neither be asked nor told, and reads the calls much later.
//
//   page     sets calls apart by pings, which the worker answers as it reads them. A call behind a ping that was not
//            answered has not been read: it is WORKER_BUSY, not done. Any other call may have begun, and is
//            CONNECTION_CLOSED. The page ends the connection by `closed`, given up.
//   worker   reads messages only while it has a permit. Each ping is one: it says when it was sent, and for how long it
//            permits, which is 15 s less than the page will wait. Without a permit, the worker asks for a ping.
//
// The page alone decides. The worker reads a message 15 s or more before the page gives up: its answers to pings
// have arrived long before, if a message takes less than that at a page whose timers run. A message that it has not
// read by then, it never reads. A flag (contract/call-flag.ts) would not do: the worker may look at it in the
// moment before the page revokes it, and begin.
//
// The clocks of two threads begin at different times, and go equally fast. The page reads its clock after the worker has
// asked, so the worker knows from its own clock since when, at least, that reading is past; and so of each later one.
//
// A call that was read and waits for its object counts as begun. `closed`, given up, ends it unless it runs.
//
// This file does not access files: the code that watches them is passed in.

import { storageError } from '../contract/errors.ts';
import type { WireAddress } from './address.ts';
import type { Admission, ChannelEndpoint, Pace } from './channel-endpoint.ts';
import type { ConnectionMessage, Notices } from './control.ts';
import { connectionClosed, type Outcome, toWire } from './errors-on-wire.ts';
import type { Call } from './operations.ts';
import {
  type LiveConnection,
  type LiveService,
  type ObjectsConnection,
  type ObjectsService,
  PAGE_FUNCTIONS,
  type SessionId,
  type StorageService,
  WORKER_FUNCTIONS,
  type WorkerPeer,
} from './protocol.ts';
import { PendingCalls, remoteFunctions, type Served, serveFunctions } from './remote-functions.ts';

/** Checks that the files behind the services still exist. */
export interface FilesWatch {
  /**
   * Does the work, and returns its result once the files were seen. The result is returned directly, without a promise,
   * if it is available and the files were seen recently.
   *
   * @throws the reason, as a rejection, when the files are gone
   */
  during<T>(work: () => T | Promise<T>): T | Promise<T>;
}

/** The services of a worker that leads: storage, and objects if it hosts classes. */
export interface WorkerService {
  readonly storage: StorageService;
  readonly objects?: ObjectsService;
  /** Serves live reads of objects. */
  readonly live?: LiveService;
  /** Answers of the services wait until it has seen the files. @default they do not wait */
  readonly watch?: FilesWatch;
  /** The notices that are sent to every page. */
  readonly notices?: Notices;
  /** Decides when messages of a page that arrived together are delivered. @default they are delivered at once */
  readonly pace?: Pace;
  /** Resolves to the reason when nothing more can be served. */
  readonly lost?: Promise<Error>;
  /** False while an event runs, or a page holds a transaction open. @default always true */
  readonly isQuiet?: boolean;
  /** Stops starting work by itself, such as alarms. */
  rest?(): void;
  /**
   * Ends every object after its last write is durable. Objects that still run are reset; `fact` is the
   * reason.
   */
  end?(fact: string): Promise<void>;
}

/** Requests that are answered only when an event occurs, perhaps never. Their answers contain no stored data. */
const WAITING: ReadonlySet<string> = new Set(['watch', 'wait']);

export class WorkerEnd implements StorageService {
  readonly #storage: StorageService;
  readonly #watch: FilesWatch;
  readonly #objects: ObjectsConnection;
  readonly #live: LiveConnection;
  /** The pending requests for things that the page has passed by reference. */
  readonly #pending = new PendingCalls();
  readonly #endpoint: ChannelEndpoint;
  readonly #sessions = new Set<SessionId>();
  readonly #end = new AbortController();
  /** The number of the page's unanswered calls, except the calls that wait for an event. */
  #running = 0;
  readonly #answered = () => {
    this.#running -= 1;
  };
  #hasPaused = false;

  /** `elapsed` returns milliseconds that never decrease. */
  constructor(
    service: WorkerService,
    endpoint: ChannelEndpoint,
    elapsed = () => performance.now(),
  ) {
    this.#storage = service.storage;
    this.#watch = service.watch ?? UNWATCHED;
    this.#endpoint = endpoint;
    const page = remoteFunctions(PAGE_FUNCTIONS, endpoint, this.#pending);
    this.#objects = service.objects?.connect(page) ?? NO_OBJECTS;
    this.#live = service.live?.connect() ?? NO_LIVE_READS;
    serveFunctions(WORKER_FUNCTIONS, this.#functions(), endpoint);
    endpoint.admitBy(this.#admission(elapsed));
    endpoint.addEventListener('message', (event) => {
      const message = (event as MessageEvent<ConnectionMessage | null>).data;
      if (message?.type === 'closed') this.end();
      if (message?.type === 'ping') this.#postNow({ type: 'pong' });
      if (message?.type === 'paused') this.#hasPaused = true;
    });
    // A message that cannot be read does not show which call it was, so the connection ends.
    endpoint.addEventListener('messageerror', () => this.end());
    this.#post({ type: 'accepted' });
    const unsubscribe = service.notices?.subscribe((notice) =>
      this.#post({ type: 'notice', notice }),
    );
    if (unsubscribe !== undefined) this.ended.addEventListener('abort', unsubscribe);
  }

  /** Aborts when the connection has ended. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** Tells the page that the worker steps down, so that it sends no new work. */
  yield(): void {
    this.#post({ type: 'yields' });
  }

  /** True once the page has confirmed that it sends no new work. All its earlier calls have arrived. */
  get hasPaused(): boolean {
    return this.#hasPaused || this.ended.aborted;
  }

  /** True when every call of the page is answered. */
  get isQuiet(): boolean {
    return this.#running === 0 || this.ended.aborted;
  }

  async open(target: string | WireAddress, client?: string): Promise<Outcome<SessionId>> {
    const outcome = await this.#storage.open(target, client);
    if ('error' in outcome) return outcome;
    if (this.ended.aborted) await this.#storage.close(outcome.ok);
    else this.#sessions.add(outcome.ok);
    return outcome;
  }

  /** Runs calls of a session. @throws CONNECTION_CLOSED for a session that is closed, or belongs to another page */
  execute(session: SessionId, calls: readonly Call[]): Outcome[] | Promise<Outcome[]> {
    if (this.#sessions.has(session)) return this.#storage.execute(session, calls);
    return Promise.reject(
      storageError('CONNECTION_CLOSED', 'This handle was closed; open the object again.'),
    );
  }

  async close(session: SessionId): Promise<void> {
    if (this.#sessions.delete(session)) await this.#storage.close(session);
  }

  /** Closes every session and the connection, and tells the page why; idempotent. */
  end(error?: Error, isGivenUp = false): void {
    if (this.ended.aborted) return;
    this.#end.abort();
    this.#post({ type: 'closed', ...(error !== undefined && { error: toWire(error) }) });
    this.#endpoint.close();
    for (const session of this.#sessions) void this.#storage.close(session, isGivenUp);
    this.#sessions.clear();
    const reason = connectionClosed('the page is gone');
    this.#pending.fail(reason);
    this.#objects.end(reason, isGivenUp);
    this.#live.end();
  }

  #admission(elapsed: () => number): Admission {
    const permit = new Permit(elapsed, () => this.#postNow({ type: 'asks' }));
    return {
      admits: () => permit.admits(),
      arrived: (data) => {
        const message = data as ConnectionMessage | null;
        if (message?.type === 'ping') permit.renew(message);
        else if (message?.type !== 'closed') return;
        else if (message.isGivenUp) this.end(undefined, true);
        else permit.open();
        this.#endpoint.resume();
      },
    };
  }

  #functions(): Served<WorkerPeer> {
    const objects = this.#objects;
    const live = this.#live;
    return {
      ...objects,
      ...live,
      open: (target, client) => this.#run(() => this.open(target, client)),
      execute: (session, calls) => this.#run(() => this.execute(session, calls)),
      cancel: async (flags) => this.#storage.cancel?.(flags),
      close: (session) => this.close(session),
      // The answer contains no stored data, so it does not wait for the files.
      classes: () => this.#countUntilAnswered(objects.classes()),
      call: (address, request) =>
        WAITING.has(request.op)
          ? objects.call(address, request)
          : this.#run(() => objects.call(address, request)),
      manage: (request) => this.#run(() => objects.manage(request)),
      ask: (reference, request) => {
        if (WAITING.has(request.op)) return objects.ask(reference, request);
        if (request.op === 'pull')
          return this.#whileFilesAreChecked(objects.ask(reference, request));
        return this.#run(() => objects.ask(reference, request));
      },
      openLive: (start) => this.#run(() => live.openLive(start)),
      nextLive: (number) => this.#whileFilesAreChecked(live.nextLive(number)),
    };
  }

  /** Checks the files when the answer is available, because that may be hours later. */
  async #whileFilesAreChecked<T>(answer: Promise<T>): Promise<T> {
    const outcome = await answer;
    return this.#watch.during(() => outcome);
  }

  /** Does the work, and counts it as running until it settles. */
  #run<T>(work: () => T | Promise<T>): T | Promise<T> {
    return this.#countUntilAnswered(this.#watch.during(work));
  }

  #countUntilAnswered<T>(answer: T | Promise<T>): T | Promise<T> {
    if (answer instanceof Promise) {
      this.#running += 1;
      answer.then(this.#answered, this.#answered);
    }
    return answer;
  }

  #post(message: ConnectionMessage): void {
    this.#endpoint.postMessage(message);
  }

  // The message is sent at once, because the next message that is read may block this thread.
  #postNow(message: ConnectionMessage): void {
    this.#post(message);
    this.#endpoint.flush();
  }
}

/** The duration of the first permit. A page waits longer than that for a new connection. */
const FIRST_MS = 30_000;

class Permit {
  readonly #elapsed: () => number;
  readonly #ask: () => void;
  /** The time until which the permit is valid. */
  #endMs: number;
  /** The least number of milliseconds by which this clock is ahead of the page's; undefined if unknown. */
  #aheadMs: number | undefined;
  /** The time of the request for a ping that is not answered yet. */
  #askedMs: number | undefined;

  /** `elapsed` returns milliseconds that never decrease. `ask` requests a ping. */
  constructor(elapsed: () => number, ask: () => void) {
    this.#elapsed = elapsed;
    this.#ask = ask;
    this.#endMs = elapsed() + FIRST_MS;
  }

  /**
   * Returns true if a message may be read now. If not, requests a ping. The first call also requests a ping, to compare
   * the clocks.
   */
  admits(): boolean {
    const nowMs = this.#elapsed();
    const isValid = nowMs <= this.#endMs;
    if (this.#askedMs === undefined && !(isValid && this.#aheadMs !== undefined)) {
      this.#askedMs = nowMs;
      this.#ask();
    }
    return isValid;
  }

  /** Extends the permit when a ping arrives. */
  renew({ atMs, forMs, isAnswer }: ConnectionMessage & { type: 'ping' }): void {
    if (isAnswer && this.#askedMs !== undefined) {
      this.#aheadMs = this.#askedMs - atMs;
      this.#askedMs = undefined;
    }
    if (this.#aheadMs === undefined) return;
    this.#endMs = Math.max(this.#endMs, atMs + this.#aheadMs + forMs);
  }

  /** Makes the permit unlimited, because a page that has left gives up no calls. */
  open(): void {
    this.#endMs = Number.POSITIVE_INFINITY;
  }
}

/** The watch for files that no other program can delete. */
const UNWATCHED: FilesWatch = { during: (work) => work() };

/** The service of a worker that hosts no classes. */
const NO_OBJECTS: ObjectsConnection = {
  classes: async () => ({ ok: { classes: [], bindings: [] } }),
  call: async () => ({ error: toWire(noClasses()) }),
  manage: async () => ({ error: toWire(noClasses()) }),
  ask: async () => ({ error: toWire(noClasses()) }),
  release: async () => {},
  end: () => {},
};

/** The service of a worker without live reads. */
const NO_LIVE_READS: LiveConnection = {
  openLive: async () => ({ error: toWire(noLiveReads()) }),
  nextLive: async () => ({ error: toWire(noLiveReads()), isEnded: true }),
  closeLive: async () => {},
  end: () => {},
};

function noLiveReads(): Error {
  return storageError('WORKER_FAILED', 'The worker serves no live reads; read again when needed.');
}

function noClasses(): Error {
  return storageError(
    'UNKNOWN_CLASS',
    'The worker hosts no classes; start one whose script calls serve() of ctx-storage/worker.',
  );
}
