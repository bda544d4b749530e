// The global scope that object code runs in, and the hosts that share it.
//
// Object code calls globals (timers, Date, fetch, Response, WebSocket, scheduler), so these are
// replaced, and what workerd has beside the platform is added: once for all hosts, while one of them
// runs. Whose task is running decides on each call which object and which host it concerns.
//
// Invariant: nothing is replaced before the first host enters or after the last one has left; code
// that belongs to no object gets what the platform has.

import { installMessages } from '../../src/http/kept-messages.ts';
import { currentContext } from '../../src/io/current-context.ts';
import type { IoHost } from '../../src/io/io-context.ts';
import { undoAll } from '../../src/io/replace-global.ts';
import { installSocketClasses, installSocketResponse } from '../../src/sockets/install.ts';
import { installAddedMethods } from './added-methods.ts';
import { installByteStreams } from './byte-streams.ts';
import { installCaches } from './caches.ts';
import { installDate } from './clock-date.ts';
import { installCloudflare } from './cloudflare.ts';
import { installFetch } from './gated-fetch.ts';
import { installNavigator } from './navigator.ts';
import { installSchedulerWait } from './scheduler-wait.ts';
import { installTimers } from './timers.ts';

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
    // What somebody has kept of a replacement does nothing of its own after the last host.
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

/** The scope of this thread. */
export const realm = new Realm(globalThis);
