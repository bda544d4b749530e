// A host of objects in whatever runtime this is: what it stands on is passed in, and its hooks are
// put into the global scope that object code uses.

import type { ObjectMedium } from './file/medium.ts';
import { connectLibrary } from './library.ts';
import { type HostEnvironment, messageTurns } from './runtime/environment.ts';
import { installFetch } from './runtime/gated-fetch.ts';
import { Namespaces } from './runtime/namespaces.ts';
import type { ClassRegistry } from './runtime/object-class.ts';
import { ObjectHost } from './runtime/object-host.ts';
import { installTimers } from './runtime/timers.ts';
import { openLogDatabase } from './storage/log-database.ts';
import { LogVfs } from './vfs/log-vfs.ts';
import type { Sqlite } from './vfs/sqlite-module.ts';

/** What a host stands on. */
export interface Platform {
  readonly sqlite: Sqlite;
  readonly medium: ObjectMedium;
  /** Turns of the event loop. @default messages to oneself */
  readonly nextTurn?: HostEnvironment['nextTurn'];
  /** Timers. @default those of the scope */
  readonly after?: HostEnvironment['after'];
}

/** A running host, and the namespaces of its classes. */
export interface RunningHost {
  readonly host: ObjectHost;
  readonly namespaces: Namespaces;
}

/** Opens nothing until an object is used. One host a global scope. */
export function startHost(
  { sqlite, medium, nextTurn = messageTurns(), after = scopeTimers() }: Platform,
  classes: ClassRegistry,
  env: object,
): RunningHost {
  const vfs = vfsOf(sqlite);
  const environment: HostEnvironment = {
    now: () => Date.now(),
    randomUint32: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
    nextTurn,
    after,
    directory: (key) => medium.directory(key),
    removeDirectory: (key) => medium.remove(key),
    openDatabase: (store, events) => openLogDatabase(sqlite, vfs, store, events),
  };
  const host = new ObjectHost(environment, classes, (_host, instance) =>
    namespaces.surroundings(instance),
  );
  const namespaces = new Namespaces(host, env);
  installTimers(globalThis, host);
  installFetch(globalThis, host);
  connectLibrary({
    env: namespaces.ambientEnv,
    exports: namespaces.ambientExports,
    waitUntil: (work) => host.current?.keepAlive(work),
  });
  return { host, namespaces };
}

// Taken before they are replaced: the host's own time is not an object's.
function scopeTimers(): HostEnvironment['after'] {
  const { setTimeout, clearTimeout } = globalThis;
  return (delayMs, task) => {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  };
}

/** A module of SQLite knows one file system of ours. */
function vfsOf(sqlite: Sqlite): LogVfs {
  const known = fileSystems.get(sqlite);
  if (known !== undefined) return known;
  const vfs = new LogVfs(sqlite.sqlite3);
  fileSystems.set(sqlite, vfs);
  return vfs;
}

const fileSystems = new WeakMap<Sqlite, LogVfs>();
