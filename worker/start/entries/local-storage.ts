// Makes storage handles for objects in this process. It uses the page's client, whose sessions are called directly instead
// of by messages.
//
// Invariant: callers are outside of every object. Values cross as their stored bytes, so each caller gets a copy.
// No assertion keeps this: no code can see who else refers to a value.

import type { Abandoned } from '../../../src/page/leader/environment.ts';
import { Flags } from '../../../src/page/leader/flags.ts';
import { Persistence } from '../../../src/page/leader/status.ts';
import { forkObject } from '../../../src/page/storage/remote-branches.ts';
import { RemoteStorage } from '../../../src/page/storage/remote-storage.ts';
import type { SessionConnection, SessionFinder } from '../../../src/page/storage/session.ts';
import { Session } from '../../../src/page/storage/session.ts';
import { mustBeStub } from '../../../src/shared/calls/stubs/known-stubs.ts';
import type { ObjectCaller } from '../../../src/shared/calls/stubs/stub.ts';
import type { DurableObjectStub } from '../../../src/shared/contract/object.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { Work } from '../../../src/shared/wire/page-end.ts';
import { LiveCalls } from '../../objects/calls/live-calls.ts';
import type { SystemTime } from '../../objects/clock/clock.ts';
import type { ObjectHost } from '../../objects/host/object-host.ts';
import { PageSessions } from '../../objects/sessions/page-sessions.ts';

export interface LocalStorage {
  /**
   * Opens the storage of a stub's object.
   *
   * @throws INVALID_ARGUMENT if the value is not the stub of an object; errors of opening the object
   */
  open(stub: DurableObjectStub): Promise<StorageHandle>;
  /** Forks an object. The calls of the new stub are made by `caller` (see `forkObject`). */
  fork(caller: ObjectCaller, args: readonly unknown[]): Promise<object>;
  /** Closes every handle with this reason. */
  close(reason: Error): void;
}

/** Makes the handles of one host. */
export function localStorageOf(host: ObjectHost, time: SystemTime): LocalStorage {
  const after = (delayMs: number, task: () => void) => time.after(delayMs, task, false);
  const finder = new LocalFinder(host, after, () => time.now());
  const collected = new FinalizationRegistry<Abandoned>((left) => left.abandon());
  const environment = {
    after,
    // The timer keeps the process alive, because a call is pending.
    nextTask: () => new Promise<void>((resolve) => void time.after(0, resolve, true)),
    now: () => time.now(),
    onPageHide: () => () => {},
    whenCollected: (owner: object, left: Abandoned) => collected.register(owner, left),
  };
  return {
    async open(stub) {
      const address = mustBeStub('storage', stub);
      const name = address.name ?? address.id;
      const session = new Session(name, finder, () => time.now(), address);
      await session.open();
      return new RemoteStorage(session, environment);
    },
    fork: (caller, args) => forkObject(caller, finder, () => time.now(), args),
    close: (reason) => finder.close(reason),
  };
}

type After = (delayMs: number, task: () => void) => () => void;

class LocalFinder implements SessionFinder {
  readonly flags: Flags;
  readonly work = new Work();
  readonly client: string;
  readonly standing: SessionFinder['standing'];
  readonly #connection: SessionConnection;
  readonly #watchers = new Set<(reason: Error) => void>();
  #end: Error | undefined;

  constructor(host: ObjectHost, after: After, now: () => number) {
    // `randomUUID` is missing where the context is not secure, such as in a document without an origin.
    const bytes = crypto.getRandomValues(new Uint8Array(6));
    this.client = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    const sessions = new PageSessions(host, after);
    const live = new LiveCalls(host).connect();
    const { send } = host.outside;
    const finder = this;
    let flagCount = 0;
    // No code tests flags in this process. `cancel` cancels a waiting call.
    this.flags = new Flags({ make: () => `local:${++flagCount}`, revoke() {}, now });
    this.standing = {
      standing: { state: 'leading', reason: null, medium: null },
      isOutdated: false,
      persistence: new Persistence({}),
      onStanding: () => () => {},
      onNotice: () => () => {},
    };
    this.#connection = {
      get failure() {
        return finder.#end ?? null;
      },
      isYielding: false,
      whenLost: (lost) => {
        this.#watchers.add(lost);
        return () => this.#watchers.delete(lost);
      },
      worker: {
        open: (target, client) => send(() => sessions.open(target, client)),
        execute: (id, calls) => send(() => sessions.execute(id, calls)),
        cancel: (flags) => send(() => sessions.cancel(flags)),
        close: (id) => send(() => sessions.close(id)),
        openLive: (start) => send(() => live.openLive(start)),
        nextLive: (number) => send(() => live.nextLive(number)),
        closeLive: (number) => send(() => live.closeLive(number)),
      },
    };
  }

  get end(): Error | undefined {
    return this.#end;
  }

  async connection(): Promise<SessionConnection> {
    if (this.#end) throw this.#end;
    return this.#connection;
  }

  close(reason: Error): void {
    this.#end ??= reason;
    for (const lost of this.#watchers) lost(this.#end);
    this.#watchers.clear();
  }
}
