// A host of objects in whatever runtime this is: what it stands on is passed in, and its hooks are
// put into the global scope that object code uses.

import { installMessages } from '../src/objects/kept-messages.ts';
import { installSocketResponse } from '../src/sockets/install.ts';
import { connectSockets } from '../src/sockets/socket-owner.ts';
import type { ObjectMedium } from './file/medium.ts';
import { connectLibrary } from './library-connection.ts';
import type { ObjectCatalog } from './runtime/catalog.ts';
import { Clock, type SystemTime } from './runtime/clock.ts';
import { ClockControl } from './runtime/clock-control.ts';
import { installDate } from './runtime/clock-date.ts';
import { type HostEnvironment, MessageTurns, type Turns } from './runtime/environment.ts';
import { installFetch } from './runtime/gated-fetch.ts';
import { Namespaces } from './runtime/namespaces.ts';
import type { ClassRegistry } from './runtime/object-class.ts';
import { ObjectHost } from './runtime/object-host.ts';
import { ObjectManager } from './runtime/object-manager.ts';
import { installSchedulerWait } from './runtime/scheduler-wait.ts';
import type { TaskContext } from './runtime/task-context.ts';
import { installTimers } from './runtime/timers.ts';
import { openLogDatabase } from './storage/log-database.ts';
import { LogVfs } from './vfs/log-vfs.ts';
import type { Sqlite } from './vfs/sqlite-module.ts';

/** What a host stands on. */
export interface Platform {
  readonly sqlite: Sqlite;
  readonly medium: ObjectMedium;
  readonly catalog: ObjectCatalog;
  /** Turns of the event loop. @default messages to oneself */
  readonly turns?: Turns;
  /** @default that of the scope */
  readonly time?: SystemTime;
  /** Tells whose task is running. @default by turns of the event loop */
  readonly context?: TaskContext;
  /** The network takes a body that is a stream. @default false, as browsers' does not */
  readonly sendsStreams?: boolean;
  /** How long an instance without events stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** True when all code of the scope belongs to the objects, and sees their clock. */
  readonly isDedicated: boolean;
}

/** A running host, and what is used of it. */
export interface RunningHost {
  readonly host: ObjectHost;
  readonly namespaces: Namespaces;
  readonly manager: ObjectManager;
  /** Ends every object after its last write is on the medium, and lets go of the scope. */
  close(): Promise<void>;
}

/** Opens nothing until an object is used or its alarm is due. */
export async function startHost(
  platform: Platform,
  classes: ClassRegistry,
  env: object,
): Promise<RunningHost> {
  const { sqlite, medium, catalog, turns = new MessageTurns(), time = scopeTime() } = platform;
  const vfs = vfsOf(sqlite);
  const clock = new Clock(time);
  const environment: HostEnvironment = {
    now: () => clock.now(),
    randomUint32: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
    nextTurn: (task) => turns.nextTurn(task),
    beforeNextTurn: (task) => (turns.beforeNextTurn ?? turns.nextTurn).call(turns, task),
    after: (delayMs, task) => clock.after(delayMs, task),
    guard: (delayMs, task) => time.after(delayMs, task, false),
    medium,
    catalog,
    ...(platform.context !== undefined && { context: platform.context }),
    ...(platform.idleMs !== undefined && { idleMs: platform.idleMs }),
    openDatabase: (store, events) => openLogDatabase(sqlite, vfs, store, events),
  };
  const host = new ObjectHost(environment, classes, (_host, instance) =>
    namespaces.surroundings(instance),
  );
  const control = new ClockControl(clock, host.alarms, environment);
  const manager = new ObjectManager(host, control, environment);
  const namespaces = new Namespaces(host, env, manager);
  const uninstall = [
    installTimers(globalThis, host, clock),
    installSchedulerWait(globalThis, host),
    installFetch(globalThis, host, platform.sendsStreams ?? false),
    installMessages(globalThis),
    installSocketResponse(globalThis),
    installDate(globalThis, clock, () => platform.isDedicated || host.current !== undefined),
  ];
  connectSockets(() => {
    const instance = host.current;
    if (instance === undefined || instance.address.className === null) return undefined;
    return instance.sockets;
  });
  connectLibrary({
    caller: namespaces.ambient,
    env: namespaces.ambientEnv,
    exports: namespaces.ambientExports,
    waitUntil: (work) => host.current?.keepAlive(work),
  });
  await host.start();
  return {
    host,
    namespaces,
    manager,
    async close() {
      await host.close();
      for (const undo of uninstall.reverse()) undo();
      catalog.close();
    },
  };
}

// Taken before they are replaced: the host's own time is not an object's.
function scopeTime(): SystemTime {
  const { setTimeout, clearTimeout, Date: SystemDate } = globalThis;
  return {
    now: () => SystemDate.now(),
    after(delayMs, task) {
      const timer = setTimeout(task, delayMs);
      return () => clearTimeout(timer);
    },
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
