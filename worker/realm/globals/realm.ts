// The global scope of a thread, and the hosts that share it.
//
// Object code calls globals, so some are replaced: once for all hosts, while any of them runs. On each call, the
// running task decides which object and which host it concerns.
//
// Invariant: nothing is replaced while no host is registered and nobody holds the realm; code that belongs to no
// object gets the platform's own behaviour. Does not know which globals are replaced.

import { currentContext } from '../../../src/shared/calls/io/current-context.ts';
import type { CurrentContext, IoHost } from '../../../src/shared/calls/io/io-context.ts';
import { undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { installDate } from './timers.ts';

/** A host whose objects run in the scope. */
export interface RealmHost {
  readonly host: IoHost;
  /** True when all code of the scope belongs to its objects, and sees their clock. */
  readonly isDedicated: boolean;
}

/** Code that runs in the scope, as the replacements ask for it on each call. */
export interface RealmCode {
  /** The context of the running task; undefined outside of objects. */
  readonly current: CurrentContext;
  /** The host whose code runs, or which all code of the scope belongs to. */
  readonly ownHost: () => IoHost | undefined;
}

/** Replaces a part of the scope; the result undoes it. */
export type Replace = (scope: typeof globalThis, code: RealmCode) => () => void;

/** The replaced parts of a scope that has users. */
interface Installed {
  add(replace: Replace): void;
  undo(): void;
}

export class Realm {
  readonly #scope: typeof globalThis;
  readonly #replaced: Set<Replace>;
  readonly #users = new Set<Partial<RealmHost>>();
  #installed: Installed | undefined;

  constructor(scope: typeof globalThis, replaced: readonly Replace[]) {
    this.#scope = scope;
    this.#replaced = new Set(replaced);
  }

  /**
   * Replaces one more part of the scope: the core does not know the globals that packages provide. A part that is replaced
   * already stays as it is.
   */
  extend(replace: Replace): void {
    if (this.#replaced.has(replace)) return;
    this.#replaced.add(replace);
    this.#installed?.add(replace);
  }

  /** Registers a host that starts; the result removes it. */
  register(entry: RealmHost): () => void {
    return this.#add(entry);
  }

  /** Replaces the globals before a host starts, for code that uses them while it is evaluated; the result ends that. */
  hold(): () => void {
    return this.#add({});
  }

  #add(user: Partial<RealmHost>): () => void {
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
    // A replacement that code has kept behaves like the original after the last host.
    const current = () => (isInstalled ? currentContext() : undefined);
    const ownHost = () => current()?.host ?? (isInstalled ? this.#dedicated() : undefined);
    const undo: (() => void)[] = [];
    const add = (replace: Replace) => {
      undo.push(replace(this.#scope, { current, ownHost }));
    };
    for (const replace of this.#replaced) add(replace);
    return {
      add,
      undo() {
        isInstalled = false;
        undoAll(undo);
      },
    };
  }

  #dedicated(): IoHost | undefined {
    for (const { host, isDedicated } of this.#users) if (isDedicated) return host;
    return undefined;
  }
}

/** The host's time, if it is not the system's. */
export const replaceDate: Replace = (scope, { ownHost }) =>
  installDate(scope, () => {
    const host = ownHost();
    return host?.isTimeControlled ? host.now() : undefined;
  });

/** For a worker that runs no object code: SQLite reads the time. */
export const storageRealm = new Realm(globalThis, [replaceDate]);
