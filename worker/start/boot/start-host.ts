// Starts a host of objects on the given platform, and registers it with the realm and the library that object code uses.

import { isTaskExact } from '../../../src/shared/calls/io/current-context.ts';
import type { IoHost } from '../../../src/shared/calls/io/io-context.ts';
import { undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import type { PartyIo } from '../../../src/shared/calls/stubs/party.ts';
import type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
import type { ObjectMedium } from '../../engine/file/medium.ts';
import type { Space } from '../../engine/file/space-watch.ts';
import type { FileSizes } from '../../engine/log/object-files.ts';
import { completeLimits, type Limits } from '../../engine/sql/query-limits.ts';
import { Databases } from '../../engine/storage/databases.ts';
import type { Sqlite } from '../../engine/vfs/sqlite-module.ts';
import { type Entries, type EntryParts, Namespaces } from '../../objects/calls/namespaces.ts';
import type { ObjectCatalog } from '../../objects/catalog/catalog.ts';
import { Clock, type SystemTime, systemTime } from '../../objects/clock/clock.ts';
import { ClockControl } from '../../objects/host/clock-control.ts';
import { ObjectHost, type StartFollowing } from '../../objects/host/object-host.ts';
import { ObjectManager } from '../../objects/host/object-manager.ts';
import type { HostEnvironment } from '../../objects/instance/environment.ts';
import type { ClassRegistry } from '../../objects/instance/object-class.ts';
import { MessageTurns, TURNS_PER_MESSAGE, type Turns } from '../../objects/io/turns.ts';
import type { KeptEnvironment, KeptResults } from '../../objects/live/kept-results.ts';
import type { Realm } from '../../realm/globals/realm.ts';
import type { HostEnv } from '../../realm/library/provided-env.ts';
import { registerRunningHost } from '../../realm/library/running-hosts.ts';

/** The delay after which files of a crashed host's branches are removed, so that a page's first calls do not wait for it. */
const SWEEP_DELAY_MS = 1000;

/** The platform of a host. */
export interface Platform {
  readonly sqlite: Sqlite;
  readonly medium: ObjectMedium;
  readonly catalog: ObjectCatalog;
  /** The realm that replaces globals of this thread for object code. */
  readonly realm: Realm;
  /** Schedules turns of the event loop. @default messages that the thread posts to itself */
  readonly turns?: Turns;
  /** The clock and timers. @default the runtime's own */
  readonly time?: SystemTime;
  /** True if `fetch` accepts a stream as a body. @default false, as browsers refuse it */
  readonly sendsStreams?: boolean;
  /** The time after which an instance without events is evicted, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** The sizes of the objects' files. @default the usual sizes */
  readonly fileSizes?: FileSizes;
  /** The limits of the objects' history. @default 30 days, within historyBytes */
  readonly history?: HistoryLimits;
  /** The limits of queries and imports. @default those of query-limits */
  readonly limits?: Limits;
  /** Tells whether the flag of a call was revoked. @default never, so that calls are cancelled only between turns */
  readonly isRevoked?: (flag: string) => boolean;
  /** Estimates the free space for files. @default no estimate, so that `storagelow` is never fired */
  readonly estimate?: () => Promise<Space>;
  /** Makes the store of live results for a page's next visit. @default none are stored */
  readonly makeKept?: (failed: KeptEnvironment['failed']) => KeptResults;
  /** True if all code of the thread belongs to this host's objects, and sees their clock. */
  readonly isDedicated: boolean;
  /** The I/O of code outside of objects. @default the I/O of a program, which has no gates */
  readonly outside?: PartyIo;
}

/** Makes the entry points from the parts of the host that they use. */
export type MakeEntryPoints = (
  parts: EntryParts,
  environment: HostEnvironment,
  io: IoHost,
) => Entries;

/** A running host and the parts that its callers use. */
export interface RunningHost {
  readonly host: ObjectHost;
  readonly namespaces: Namespaces;
  readonly manager: ObjectManager;
  /** The turns of the thread. */
  readonly turns: MessageTurns;
  /**
   * Ends every object after its last write is durable, and unregisters the host from realm and library. Events that still
   * run get `fact` as the reason.
   */
  close(fact?: string): Promise<void>;
}

/** The app's code and options besides its classes. */
export interface HostedApp {
  /** The members of `env` from the app's options. @default none */
  readonly env?: object;
  /** The compatibility flags, as in workerd. @default none */
  readonly compatibilityFlags?: readonly string[];
  /** Makes the entry points. Absent if the app has none. */
  readonly entryPoints?: MakeEntryPoints;
  /** Makes objects follow objects on a server. */
  readonly follow?: StartFollowing;
  /** Makes the complete `env` from the members that this host has created. @default a new object with these members */
  readonly share?: (made: Record<string, unknown>) => HostEnv;
}

/** Starts a host. The host opens no object until one is used or its alarm is due. */
export async function startHost(
  platform: Platform,
  classes: ClassRegistry,
  { env = {}, compatibilityFlags = [], entryPoints, follow, share }: HostedApp = {},
): Promise<RunningHost> {
  // Only these parts are referenced later: the platform itself refers to the first instance of SQLite, with all of its
  // memory.
  const { time = systemTime, catalog, realm, isDedicated } = platform;
  const messages = new MessageTurns(isTaskExact ? 1 : TURNS_PER_MESSAGE);
  const clock = new Clock(time);
  const environment = {
    ...environmentOf(platform, platform.turns ?? messages, time, clock),
    compatibilityFlags,
  };
  const host = new ObjectHost(environment, classes, (instance) => namespaces.bindings(instance));
  if (follow !== undefined) host.followers = follow(host, environment);
  const control = new ClockControl(clock, host.alarms, environment);
  const manager = new ObjectManager(host, control, environment);
  const afterRealTime = (delayMs: number, task: () => void) => time.after(delayMs, task, false);
  const makeEntries =
    entryPoints && ((parts: EntryParts) => entryPoints(parts, environment, host.io));
  const namespaces = new Namespaces(host, env, manager, afterRealTime, makeEntries);
  const leave = [
    () => messages.close(),
    () => clock.close(),
    realm.register({ host: host.io, isDedicated }),
    registerRunningHost(host.io, {
      caller: namespaces.ambient,
      get env() {
        return namespaces.env;
      },
      exports: namespaces.exports,
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
  leave.push(time.after(SWEEP_DELAY_MS, () => void host.branches.sweep(), false));
  try {
    if (share !== undefined) {
      const shared = share(namespaces.env);
      namespaces.env = shared.env;
      leave.push(shared.leave);
    }
    await host.start();
    await namespaces.start();
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
    now: clock.now,
    elapsed: clock.elapsed,
    randomUint32: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
    nextTurn: (task) => turns.nextTurn(task),
    beforeNextTurn: (task) => (turns.beforeNextTurn ?? turns.nextTurn).call(turns, task),
    at: (timeMs, task) => clock.at(timeMs, task),
    after: (delayMs, task, keepsAlive) => clock.after(delayMs, task, keepsAlive),
    isTimeControlled: () => clock.isControlled,
    sendsStreams: platform.sendsStreams ?? false,
    afterRealTime: (delayMs, task, keepsAlive = false) => time.after(delayMs, task, keepsAlive),
    medium: platform.medium,
    catalog: platform.catalog,
    ...(platform.makeKept && { makeKept: platform.makeKept }),
    ...(platform.isRevoked && { isRevoked: platform.isRevoked }),
    ...(platform.fileSizes !== undefined && { fileSizes: platform.fileSizes }),
    ...(platform.history !== undefined && { history: platform.history }),
    ...(platform.estimate !== undefined && { estimate: platform.estimate }),
    ...(platform.outside && { outside: platform.outside }),
    ...(platform.idleMs !== undefined && { idleMs: platform.idleMs }),
    limits,
    openDatabase: (files, events, limits) => databases.open(files, events, limits),
  };
}
