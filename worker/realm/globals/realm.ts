// Replaces globals of a thread while at least one host of objects runs in it.
//
// All hosts of a thread share each replacement. On each call, the replacement finds the object and the host from the
// running task.
//
// Invariant: the globals are the platform's while no host is registered and nobody holds the realm. Code that belongs
// to no object gets the platform's behaviour. This file does not know which globals are replaced.

import { currentContext } from '../../../src/shared/calls/io/current-context.ts';
import type { CurrentContext, IoHost } from '../../../src/shared/calls/io/io-context.ts';
import { undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { installDate } from './timers.ts';

/** A host whose objects run in this thread. */
export interface RealmHost {
  readonly host: IoHost;
  /** True if all code of the thread belongs to this host, and sees its clock. */
  readonly isDedicated: boolean;
}

/** Tells a replacement, on each call, which code is running. */
export interface RealmCode {
  /** Returns the context of the running task; undefined outside of objects. */
  readonly current: CurrentContext;
  /** Returns the host of the running code, or else the dedicated host. */
  readonly ownHost: () => IoHost | undefined;
}

/** Replaces one or more globals. Call the result to restore them. */
export type Replace = (scope: typeof globalThis, code: RealmCode) => () => void;

/** The replacements that are in effect while the realm has users. */
interface Installed {
  add(replace: Replace): void;
  undo(): void;
}

export class Realm {
  readonly #scope: typeof globalThis;
  readonly #replacements: Set<Replace>;
  readonly #users = new Set<Partial<RealmHost>>();
  #installed: Installed | undefined;

  constructor(scope: typeof globalThis, replaced: readonly Replace[]) {
    this.#scope = scope;
    this.#replacements = new Set(replaced);
  }

  /**
   * Adds a replacement, for globals that packages provide and the core does not know. A second call with the same
   * replacement does nothing.
   */
  extend(replace: Replace): void {
    if (this.#replacements.has(replace)) return;
    this.#replacements.add(replace);
    this.#installed?.add(replace);
  }

  /** Registers a host that starts. Call the result when the host ends. */
  register(entry: RealmHost): () => void {
    return this.#addUser(entry);
  }

  /** Replaces the globals before a host starts, for modules that use them during evaluation. Call the result to stop. */
  hold(): () => void {
    return this.#addUser({});
  }

  #addUser(user: Partial<RealmHost>): () => void {
    this.#installed ??= this.#install();
    this.#users.add(user);
    return () => {
      if (!this.#users.delete(user) || this.#users.size > 0) return;
      this.#installed?.undo();
      this.#installed = undefined;
    };
  }

  #install(): Installed {
    let isInstalled = true;
    // Code may keep a replaced function. After the last host has ended, the function behaves like the original.
    const current = () => (isInstalled ? currentContext() : undefined);
    const ownHost = () => current()?.host ?? (isInstalled ? this.#dedicatedHost() : undefined);
    const undo: (() => void)[] = [];
    const add = (replace: Replace) => {
      undo.push(replace(this.#scope, { current, ownHost }));
    };
    for (const replace of this.#replacements) add(replace);
    return {
      add,
      undo() {
        isInstalled = false;
        undoAll(undo);
      },
    };
  }

  #dedicatedHost(): IoHost | undefined {
    for (const { host, isDedicated } of this.#users) if (isDedicated) return host;
    return undefined;
  }
}

/** Makes `Date` show the time of a host whose clock is controlled. */
export const replaceDate: Replace = (scope, { ownHost }) =>
  installDate(scope, () => {
    const host = ownHost();
    return host?.isTimeControlled ? host.now() : undefined;
  });

/** The realm of a worker without object code. It replaces `Date` only, which SQLite reads. */
export const storageRealm = new Realm(globalThis, [replaceDate]);
