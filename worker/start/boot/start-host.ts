// Starts a host of objects on any platform, which is passed in, and registers it with the global scope and the library
// that object code uses.

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
import type { KeptResults } from '../../objects/live/kept-results.ts';
import type { Realm } from '../../realm/globals/realm.ts';
import type { HostEnv } from '../../realm/library/provided-env.ts';
import { registerRunningHost } from '../../realm/library/running-hosts.ts';

/** When the files of branches of a crashed host are removed: not while a page waits for its first answers. */
const SWEEP_DELAY_MS = 1000;

/** The platform of a host. */
export interface Platform {
  readonly sqlite: Sqlite;
  readonly medium: ObjectMedium;
  readonly catalog: ObjectCatalog;
  /** The globals of this thread, as the code of the objects sees them. */
  readonly realm: Realm;
  /** Turns of the event loop. @default messages that the thread posts to itself */
  readonly turns?: Turns;
  /** @default the runtime's own */
  readonly time?: SystemTime;
  /** True when the network accepts a stream as a body. @default false: browsers do not */
  readonly sendsStreams?: boolean;
  /** How long an instance without events stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** Sizes of the objects' files. @default the usual ones */
  readonly fileSizes?: FileSizes;
  /** How much history objects keep. @default 30 days, within historyBytes */
  readonly history?: HistoryLimits;
  /** Limits of queries and imports. @default those of query-limits */
  readonly limits?: Limits;
  /** True when the flag of a call was revoked. @default never: calls are cancelled between turns only */
  readonly isRevoked?: (flag: string) => boolean;
  /** How much space there is for files. @default nobody is told that it is short */
  readonly estimate?: () => Promise<Space>;
  /** Keeps results of live reads for the next visit of a page. @default nothing is kept */
  readonly kept?: KeptResults;
  /** True when all code of the scope belongs to the objects, and sees their clock. */
  readonly isDedicated: boolean;
  /** How calls of code beside the objects enter and leave. @default as of a program */
  readonly outside?: PartyIo;
}

/** Makes entry points with what they use of their host. */
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
  /** Turns of the thread. */
  readonly turns: MessageTurns;
  /**
   * Ends every object after its last write is durable, and removes the host from scope and library.
   * `fact` is the reason for events that still run.
   */
  close(fact?: string): Promise<void>;
}

/** The code of a host beside its classes. */
export interface HostedApp {
  /** The app's own members of `env`. @default none */
  readonly env?: object;
  /** Flags of the real runtime. @default none */
  readonly compatibilityFlags?: readonly string[];
  /** Entry points beside the classes. */
  readonly entryPoints?: MakeEntryPoints;
  /** Objects that follow others. */
  readonly follow?: StartFollowing;
  /** The whole `env`, from its members as this host makes them. @default an object of its own */
  readonly share?: (made: Record<string, unknown>) => HostEnv;
}

/** Opens nothing until an object is used or its alarm is due. */
export async function startHost(
  platform: Platform,
  classes: ClassRegistry,
  { env = {}, compatibilityFlags = [], entryPoints, follow, share }: HostedApp = {},
): Promise<RunningHost> {
  // Not the platform itself: it would keep the first instance of SQLite, and all of its memory.
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
    ...(platform.kept && { kept: platform.kept }),
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
