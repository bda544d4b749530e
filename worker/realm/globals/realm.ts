// The global scope that object code runs in, and the hosts that share it.
//
// Object code calls globals (timers, Date, fetch, Response, WebSocket, scheduler), so these are
// replaced, and workerd's further globals are added: once for all hosts, while any of them runs. On
// each call, the running task decides which object and which host it concerns.
//
// Invariant: nothing is replaced before the first host registers or after the last one is removed; code
// that belongs to no object gets the platform's own behaviour.

import { installMessages } from '../../../src/shared/calls/http/kept-messages.ts';
import { currentContext } from '../../../src/shared/calls/io/current-context.ts';
import type { IoHost } from '../../../src/shared/calls/io/io-context.ts';
import { undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import {
  installSocketClasses,
  installSocketResponse,
} from '../../../src/shared/calls/sockets/install.ts';
import { installByteStreams } from './byte-streams.ts';
import { installCaches } from './caches.ts';
import { installAddedMethods, installCloudflare, installNavigator } from './cloudflare.ts';
import { installFetch } from './gated-fetch.ts';
import { installDate, installSchedulerWait, installTimers } from './timers.ts';

/** A host whose objects run in the scope. */
export interface RealmHost {
  readonly host: IoHost;
  /** True when all code of the scope belongs to its objects, and sees their clock. */
  readonly isDedicated: boolean;
}

export class Realm {
  readonly #scope: typeof globalThis;
  readonly #hosts = new Set<RealmHost>();
  #uninstall = () => {};

  constructor(scope: typeof globalThis) {
    this.#scope = scope;
  }

  /** Registers a host that starts; the result removes it. */
  register(entry: RealmHost): () => void {
    if (this.#hosts.size === 0) this.#uninstall = this.#install();
    this.#hosts.add(entry);
    return () => {
      if (this.#hosts.delete(entry) && this.#hosts.size === 0) this.#uninstall();
    };
  }

  #install(): () => void {
    const scope = this.#scope;
    let isInstalled = true;
    // A replacement that code has kept behaves like the original after the last host.
    const current = () => (isInstalled ? currentContext() : undefined);
    const ownHost = () => current()?.host ?? (isInstalled ? this.#dedicated() : undefined);
    const controlledNow = () => {
      const host = ownHost();
      return host?.isTimeControlled ? host.now() : undefined;
    };
    const isObjectCode = () => ownHost() !== undefined;
    const undo = [
      installTimers(scope, current),
      installSchedulerWait(scope, current),
      installFetch(scope, current),
      installMessages(scope),
      installAddedMethods(scope),
      installByteStreams(scope),
      installNavigator(scope, isObjectCode),
      installCaches(scope, current, ownHost),
      installCloudflare(scope, current, isObjectCode),
      installSocketClasses(scope),
      installSocketResponse(scope),
      installDate(scope, controlledNow),
    ];
    return () => {
      isInstalled = false;
      undoAll(undo);
    };
  }

  #dedicated(): IoHost | undefined {
    for (const { host, isDedicated } of this.#hosts) if (isDedicated) return host;
    return undefined;
  }
}

/** The realm of this thread: globals are one per thread, and so is this. */
export const realm = new Realm(globalThis);
