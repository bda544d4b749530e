// Starts a host of objects on any platform, which is passed in, and registers it with the global scope
// and the library that object code uses.

import { isTaskExact } from '../../src/io/current-context.ts';
import { undoAll } from '../../src/io/replace-global.ts';
import { Namespaces } from '../calls/namespaces.ts';
import type { ObjectCatalog } from '../catalog/catalog.ts';
import { Clock } from '../clock/clock.ts';
import { systemTime } from '../clock/system-time.ts';
import type { SystemTime } from '../clock/system-timers.ts';
import type { ObjectMedium } from '../file/medium.ts';
import type { Space } from '../file/space-watch.ts';
import { realm } from '../globals/realm.ts';
import { ClockControl } from '../host/clock-control.ts';
import { ObjectHost } from '../host/object-host.ts';
import { ObjectManager } from '../host/object-manager.ts';
import type { HostEnvironment } from '../instance/environment.ts';
import type { ClassRegistry } from '../instance/object-class.ts';
import { MessageTurns, TURNS_PER_MESSAGE, type Turns } from '../io/turns.ts';
import { registerRunningHost } from '../library/running-hosts.ts';
import { completeLimits, type Limits } from '../sql/query-limits.ts';
import { Databases } from '../storage/databases.ts';
import type { Sqlite } from '../vfs/sqlite-module.ts';

/** What a host runs on. */
export interface Platform {
  readonly sqlite: Sqlite;
  readonly medium: ObjectMedium;
  readonly catalog: ObjectCatalog;
  /** Turns of the event loop. @default messages that the thread posts to itself */
  readonly turns?: Turns;
  /** @default the runtime's own */
  readonly time?: SystemTime;
  /** True when the network accepts a stream as a body. @default false: browsers do not */
  readonly sendsStreams?: boolean;
  /** How long an instance without events stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** Limits of queries and imports. @default those of query-limits */
  readonly limits?: Limits;
  /** True when the flag of a call was revoked. @default never: calls are cancelled between turns only */
  readonly isRevoked?: (flag: string) => boolean;
  /** How much space there is for files. @default nobody is told that it is short */
  readonly estimate?: () => Promise<Space>;
  /** True when all code of the scope belongs to the objects, and sees their clock. */
  readonly isDedicated: boolean;
}

/** A running host and the parts that its callers use. */
export interface RunningHost {
  readonly host: ObjectHost;
  readonly namespaces: Namespaces;
  readonly manager: ObjectManager;
  /** Turns of the thread. */
  readonly turns: MessageTurns;
  /**
   * Ends every object after its last write is durable, and removes the host from scope and library.
   * `fact` says why, to what still runs.
   */
  close(fact?: string): Promise<void>;
}

/** Opens nothing until an object is used or its alarm is due. */
export async function startHost(
  platform: Platform,
  classes: ClassRegistry,
  env: object,
): Promise<RunningHost> {
  // Not the platform itself: it would keep the first instance of SQLite, and all of its memory.
  const { time = systemTime, catalog, isDedicated } = platform;
  const messages = new MessageTurns(isTaskExact ? 1 : TURNS_PER_MESSAGE);
  const clock = new Clock(time);
  const environment = environmentOf(platform, platform.turns ?? messages, time, clock);
  const host = new ObjectHost(environment, classes, (instance) => namespaces.bindings(instance));
  const control = new ClockControl(clock, host.alarms, environment);
  const manager = new ObjectManager(host, control, environment);
  const afterRealTime = (delayMs: number, task: () => void) => time.after(delayMs, task, false);
  const namespaces = new Namespaces(host, env, manager, afterRealTime);
  const leave = [
    () => messages.close(),
    () => clock.close(),
    realm.register({ host: host.io, isDedicated }),
    registerRunningHost(host.io, {
      caller: namespaces.ambient,
      env: namespaces.ambientEnv,
      exports: namespaces.ambientExports,
      waitUntil: (work) => host.currentContext?.keepAlive(work),
    }),
  ];
  const close = (fact?: string) => {
    namespaces.close();
    return host.close(fact).finally(() => {
      undoAll(leave);
      catalog.close();
    });
  };
  try {
    await host.start();
  } catch (error) {
    await close();
    throw error;
  }
  return { host, namespaces, manager, turns: messages, close };
}

function environmentOf(
  platform: Platform,
  turns: Turns,
  time: SystemTime,
  clock: Clock,
): HostEnvironment {
  const { limits = completeLimits() } = platform;
  const databases = new Databases(platform.sqlite, limits);
  return {
    now: () => clock.now(),
    randomUint32: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
    nextTurn: (task) => turns.nextTurn(task),
    beforeNextTurn: (task) => (turns.beforeNextTurn ?? turns.nextTurn).call(turns, task),
    after: (delayMs, task, keepsAlive) => clock.after(delayMs, task, keepsAlive),
    isTimeControlled: () => clock.isControlled,
    sendsStreams: platform.sendsStreams ?? false,
    afterRealTime: (delayMs, task) => time.after(delayMs, task, false),
    medium: platform.medium,
    catalog: platform.catalog,
    ...(platform.isRevoked && { isRevoked: platform.isRevoked }),
    ...(platform.estimate !== undefined && { estimate: platform.estimate }),
    ...(platform.idleMs !== undefined && { idleMs: platform.idleMs }),
    limits,
    openDatabase: (files, events) => databases.open(files, events),
  };
}
