// A host of objects in whatever runtime this is: what it stands on is passed in, and it enters the
// global scope that object code uses.

import { undoAll } from '../../src/io/replace-global.ts';
import { Namespaces } from '../calls/namespaces.ts';
import type { ObjectCatalog } from '../catalog/catalog.ts';
import { Clock } from '../clock/clock.ts';
import { systemTime } from '../clock/system-time.ts';
import type { SystemTime } from '../clock/system-timers.ts';
import type { ObjectMedium } from '../file/medium.ts';
import { realm } from '../globals/realm.ts';
import { ClockControl } from '../host/clock-control.ts';
import { ObjectHost } from '../host/object-host.ts';
import { ObjectManager } from '../host/object-manager.ts';
import type { HostEnvironment } from '../instance/environment.ts';
import type { ClassRegistry } from '../instance/object-class.ts';
import { MessageTurns, type Turns } from '../io/turns.ts';
import { registerRunningHost } from '../library/running-hosts.ts';
import { completeLimits, type Limits } from '../sql/query-limits.ts';
import { openLogDatabase } from '../storage/log-database.ts';
import type { Sqlite } from '../vfs/sqlite-module.ts';

/** What a host stands on. */
export interface Platform {
  readonly sqlite: Sqlite;
  readonly medium: ObjectMedium;
  readonly catalog: ObjectCatalog;
  /** Turns of the event loop. @default messages to oneself */
  readonly turns?: Turns;
  /** @default the platform's */
  readonly time?: SystemTime;
  /** The network takes a body that is a stream. @default false, as browsers' does not */
  readonly sendsStreams?: boolean;
  /** How long an instance without events stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** Bounds of queries and imports. @default those of query-limits */
  readonly limits?: Limits;
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
  const { sqlite, medium, catalog, time = systemTime } = platform;
  const messages = new MessageTurns();
  const { turns = messages } = platform;
  const limits = platform.limits ?? completeLimits();
  const clock = new Clock(time);
  const environment: HostEnvironment = {
    now: () => clock.now(),
    randomUint32: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
    nextTurn: (task) => turns.nextTurn(task),
    beforeNextTurn: (task) => (turns.beforeNextTurn ?? turns.nextTurn).call(turns, task),
    after: (delayMs, task, keepsAlive) => clock.after(delayMs, task, keepsAlive),
    isTimeControlled: () => clock.isControlled,
    sendsStreams: platform.sendsStreams ?? false,
    afterRealTime: (delayMs, task) => time.after(delayMs, task, false),
    medium,
    catalog,
    ...(platform.idleMs !== undefined && { idleMs: platform.idleMs }),
    limits,
    openDatabase: (store, events) => openLogDatabase(sqlite, sqlite.vfs, store, events, limits),
  };
  const host = new ObjectHost(environment, classes, (context) => namespaces.bindings(context));
  const control = new ClockControl(clock, host.alarms, environment);
  const manager = new ObjectManager(host, control, environment);
  const namespaces = new Namespaces(host, env, manager);
  const leave = [
    () => messages.close(),
    () => clock.close(),
    realm.register({ host: host.io, isDedicated: platform.isDedicated }),
    registerRunningHost(host.io, {
      caller: namespaces.ambient,
      env: namespaces.ambientEnv,
      exports: namespaces.ambientExports,
      waitUntil: (work) => host.currentContext?.keepAlive(work),
    }),
  ];
  const close = () =>
    host.close().finally(() => {
      undoAll(leave);
      catalog.close();
    });
  try {
    await host.start();
  } catch (error) {
    await close();
    throw error;
  }
  return { host, namespaces, manager, close };
}
